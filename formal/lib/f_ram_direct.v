// SPDX-License-Identifier: Apache-2.0
// f_ram_direct: proof that a memory without forwarding returns what was written last, though a bit of each of its words
// may be wrong (cde_ram_direct).
//
// Purpose: follows any one word of the memory. Injections of one wrong bit come at any time, for this memory or others;
//          each write may store one, so words are read, corrected and written back in every order with writes. At the
//          word's address the memory is to hold its code word but for one bit at most. Reads at the edge of a write of
//          their word have no value.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_ram_direct #(
    parameter W = 4,
    parameter AW = 2,
    parameter CW = W + `CDE_ECC_WORD(W)
) (
    input wire          clk,
    input wire          inject,
    input wire [7:0]    target,
    input wire [9:0]    place,
    input wire          we,
    input wire [AW-1:0] waddr,
    input wire [W-1:0]  wdata,
    input wire [AW-1:0] raddr
);

    // Reset, then the walk that clears the words
    reg [AW+1:0] age = 0;
    wire         rst = age == 0;
    wire         up = age[AW+1];
    wire         init = !rst && !up;
    always @(posedge clk) if (!up) age <= age == (1 << AW) ? 1 << (AW + 1) : age + 1'b1;

    reg [`CDE_MEM_W-1:0]  mem;
    wire [`CDE_MEM_W-1:0] mem_o;
    wire [W-1:0]          rdata;
    always @* begin
        mem = {`CDE_MEM_W{1'b0}};
        mem[`CDE_MEM_START] = rst;
        mem[`CDE_MEM_CLEAR] = init;
        mem[`CDE_MEM_BIT +: 10] = place;
        mem[`CDE_MEM_BIT2 +: 10] = place;
        mem[`CDE_MEM_INJECT] = inject && up;
        mem[`CDE_MEM_TARGET +: 8] = target;
        if (!up) assume (!we);
    end

    cde_ram_direct #(.W(W), .AW(AW), .ECC(1)) dut (
        .clk(clk), .mem_i(mem), .mem_o(mem_o), .we(we), .waddr(waddr), .wdata(wdata), .raddr(raddr), .rdata(rdata)
    );

    (* anyconst *) wire [AW-1:0] at;    // any one word
    reg [W-1:0]  word = 0;              // written last
    reg [AW-1:0] asked;
    reg          read = 1'b0;
    always @(posedge clk) begin
        if (we && waddr == at) word <= wdata;
        asked <= raddr;
        read <= up;
    end

    // ---------------------------------------------------------------- for the induction: what the memory holds
    (* hierconn *) wire [(CW << AW) - 1:0] \dut.codes ;
    (* hierconn *) wire [CW-1:0] \dut.q_1 ;
    (* hierconn *) wire \dut.hit_1 , \dut.wrong_2 , \dut.hopeless_2 ;
    reg told = 1'b0, wrong = 1'b0;      // the report of the word, a cycle later
    (* hierconn *) wire [AW-1:0] \dut.raddr_1 , \dut.node.clear_addr , \dut.heal_addr ;
    (* hierconn *) wire \dut.heal , \dut.put ;
    (* hierconn *) wire [AW-1:0] \dut.put_addr ;
    (* hierconn *) wire [W-1:0] \dut.heal_data ;
    wire [CW-1:0] plain;
    cde_ecc_enc #(.W(W), .CW(CW)) enc_i (.en(1'b1), .data(word), .code(plain));
    wire [CW-1:0] held = plain ^ \dut.codes [at * CW +: CW];
    wire [CW-1:0] seen = plain ^ \dut.q_1 ;

    always @(posedge clk) begin
        if (read && asked == at) begin
            if (!\dut.hit_1 ) read_is_fresh: assert (rdata == word);
        end
        if (up && \dut.heal && \dut.heal_addr == at) corrected: assert (\dut.heal_data == word);
        if (\dut.put && \dut.put_addr == raddr) by_the_user: assert (we || init);
        told <= read && asked == at;
        wrong <= !\dut.hit_1 && seen != 0;
        if (told) never_lost: assert (!\dut.hopeless_2 );
        if (told) reported: assert (\dut.wrong_2 == wrong);
        age_is_legal: assert (age <= (1 << AW) || age == 1 << (AW + 1));
        if (init) walk: assert (\dut.node.clear_addr + 1'b1 == age[AW:0]);
        if (!up) nothing_yet: assert (word == 0 && !read);
        if (age > at + 1'b1) one_bit: assert ((held & (held - 1'b1)) == 0);
        if (read) begin
            asks: assert (asked == \dut.raddr_1 && up);
            if (asked == at && !\dut.hit_1 ) one_bit_read: assert ((seen & (seen - 1'b1)) == 0);
        end
    end

endmodule

`default_nettype wire
