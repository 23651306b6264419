// SPDX-License-Identifier: Apache-2.0
// f_slots: proof that a memory of send queue slots returns what a word was at its read, though a bit of each of its
// words may be wrong (cde_slots).
//
// Purpose: follows any one word of the memory. Injections of one wrong bit come at any time, for this memory or others;
//          each write may store one, so words are read, corrected and written back in every order with writes. At the
//          word's address the memory is to hold its code word but for one bit at most. Reads at the edge of a write of
//          their word have no value.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"

module f_slots #(
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

    cde_slots #(.W(W), .AW(AW), .ECC(1)) dut (
        .clk(clk), .mem_i(mem), .mem_o(mem_o), .we(we), .waddr(waddr), .wdata(wdata), .raddr(raddr), .rdata(rdata)
    );

    (* anyconst *) wire [AW-1:0] at;    // any one word
    reg [W-1:0]  word = 0;              // written last
    reg [W-1:0]  was_1 = 0, was_2 = 0, was_3 = 0;   // what the word was at reads on their way
    reg          read_1 = 1'b0, read_2 = 1'b0, read_3 = 1'b0;   // of the word, with a value
    reg          old_1 = 1'b0, old_2 = 1'b0, old_3 = 1'b0;      // written meanwhile
    wire         writes = we && waddr == at;
    always @(posedge clk) begin
        if (writes) word <= wdata;
        {was_3, was_2, was_1} <= {was_2, was_1, word};
        {read_3, read_2, read_1} <= {read_2, read_1, up && raddr == at && !writes};
        {old_3, old_2, old_1} <= {old_2 || writes, old_1 || writes, 1'b0};
        if (read_3) read_is_fresh: assert (rdata == was_3);
    end

    // ---------------------------------------------------------------- for the induction: what the memory holds
    (* hierconn *) wire [(CW << AW) - 1:0] \dut.codes ;
    (* hierconn *) wire [CW-1:0] \dut.q_1 ;
    (* hierconn *) wire [W-1:0] \dut.q_2 ;
    (* hierconn *) wire [`CDE_ECC_SYNDROMES(W)-1:0] \dut.syndrome_2 ;
    (* hierconn *) wire \dut.hit_1 , \dut.hit_2 , \dut.written_3 , \dut.wrong_3 , \dut.hopeless_3 , \dut.heal ,
        \dut.put ;
    (* hierconn *) wire [AW-1:0] \dut.raddr_1 , \dut.raddr_2 , \dut.node.clear_addr , \dut.heal_addr , \dut.put_addr ;
    wire [CW-1:0] plain, plain_1, plain_2;
    cde_ecc_enc #(.W(W), .CW(CW)) enc_i (.en(1'b1), .data(word), .code(plain));
    cde_ecc_enc #(.W(W), .CW(CW)) enc_1_i (.en(1'b1), .data(was_1), .code(plain_1));
    cde_ecc_enc #(.W(W), .CW(CW)) enc_2_i (.en(1'b1), .data(was_2), .code(plain_2));
    wire [CW-1:0] held = plain ^ \dut.codes [at * CW +: CW];
    wire [CW-1:0] seen_1 = plain_1 ^ \dut.q_1 ;
    reg  [CW-1:0] q_2;
    wire [CW-1:0] seen_2 = plain_2 ^ q_2;
    wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts_2;
    wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome_2;
    cde_ecc_parts #(.W(W), .CW(CW)) parities_i (.code(q_2), .parts(parts_2));
    cde_ecc_syndrome #(.W(W)) sum_i (.parts(parts_2), .syndrome(syndrome_2));
    reg           wrong = 1'b0;

    always @(posedge clk) begin
        q_2 <= \dut.q_1 ;
        if (read_2) looked_at: assert (\dut.q_2 == q_2[W-1:0] && \dut.syndrome_2 == syndrome_2);
        if (up && \dut.heal && \dut.heal_addr == at) corrected: assert (rdata == word);
        if (\dut.put && \dut.put_addr == raddr) by_the_user: assert (we || init);
        wrong <= read_2 && !\dut.hit_2 && seen_2 != 0;
        if (read_3) never_lost: assert (!\dut.hopeless_3 );
        if (read_3) reported: assert (\dut.wrong_3 == wrong);
        age_is_legal: assert (age <= (1 << AW) || age == 1 << (AW + 1));
        if (init) walk: assert (\dut.node.clear_addr + 1'b1 == age[AW:0]);
        if (!up) nothing_yet: assert (word == 0 && !read_1 && !read_2 && !read_3);
        if (age > at + 1'b1) one_bit: assert ((held & (held - 1'b1)) == 0);
        if (read_1) one_bit_read_1: assert (\dut.raddr_1 == at && !\dut.hit_1 && (seen_1 & (seen_1 - 1'b1)) == 0);
        if (read_2) one_bit_read_2: assert (\dut.raddr_2 == at && (seen_2 & (seen_2 - 1'b1)) == 0 &&
            \dut.hit_2 == old_2);
        if (read_1 && !old_1) unchanged_1: assert (was_1 == word);
        if (read_2 && !old_2) unchanged_2: assert (was_2 == word);
        if (read_3) comes: assert (\dut.heal_addr == at && rdata == was_3 && (old_3 || was_3 == word));
        if (read_3 && old_3) not_written_back: assert (!\dut.heal );
    end

endmodule

`default_nettype wire
