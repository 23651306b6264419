// SPDX-License-Identifier: Apache-2.0
// f_ram: proof that a memory is what its model says, though a bit of each of its words may be wrong (DUT, MODEL; with
// PORTS_2 those of two ports).
//
// Purpose: memories that forward; of cde_slots see f_slots.v. Follows any one word. Injections of one wrong
//          bit come at any time, for this memory or others, and each write may store one, so words are read, corrected
//          and written back in every order with writes. Each read that begins after the walk gives what the model
//          gives; no wrong word is reported as lost. With ECC = 0 there are no wrong bits. STEPS, if defined, is
//          that of a pipeline's memory; BEHIND is of one that answers a cycle late.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`ifdef STEPS
`define PIPELINE , .STEPS(`STEPS)
`elsif BEHIND
`define PIPELINE , .LATE(1)
`else
`define PIPELINE
`endif

module f_ram #(
    parameter W = 2,
    parameter AW = 2,
    parameter ECC = 1,
    parameter READ = 1,     // latency of a read
    parameter CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W
) (
    input wire          clk,
    input wire          inject,
    input wire [7:0]    target,
    input wire [9:0]    place,
    input wire [1:0]    we,
    input wire [AW-1:0] waddr0,
    input wire [AW-1:0] waddr1,
    input wire [W-1:0]  wdata0,
    input wire [W-1:0]  wdata1,
    input wire          late1,
    input wire [W-1:0]  alt1,
    input wire [AW-1:0] raddr0,
    input wire [AW-1:0] raddr1
);

    // Reset, then the walk that clears the words
    localparam [AW+1:0] WALK = 1 << AW;
    localparam TOLD = READ == 2 ? 3 : READ > 1 ? READ : 2;   // reports come from registers
    reg [AW+1:0] age = 0;
    wire         rst = age == 0;
    wire         up = age > WALK;
    wire         init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;

    reg [`CDE_MEM_W-1:0]  mem;
    wire [`CDE_MEM_W-1:0] unused_mem, unused_mem_2;
    wire [W-1:0]          read0, read1, is0, is1;
    always @* begin
        mem = {`CDE_MEM_W{1'b0}};
        mem[`CDE_MEM_START] = rst;
        mem[`CDE_MEM_CLEAR] = init;
        mem[`CDE_MEM_BIT +: 10] = place;
        mem[`CDE_MEM_BIT2 +: 10] = place;
        mem[`CDE_MEM_INJECT] = inject && up;
        mem[`CDE_MEM_TARGET +: 8] = target;
        if (!up) assume (we == 2'b00);
    end
`ifdef STEPS
    reg [AW*`STEPS-1:0] past0, past1;       // what was read
    always @(posedge clk) {past1, past0} <= {past1[AW*(`STEPS-1)-1:0], raddr1, past0[AW*(`STEPS-1)-1:0], raddr0};
    always @* assume (waddr0 == past0[AW*(`STEPS-1) +: AW] && waddr1 == past1[AW*(`STEPS-1) +: AW]);
`endif

    (* anyconst *) wire [AW-1:0] at;    // any one word
    (* hierconn *) wire [(W << AW) - 1:0] \model.words ;
    wire [W-1:0]  word = \model.words [at * W +: W];
    (* hierconn *) wire [(CW << AW) - 1:0] \dut.codes ;
    (* hierconn *) wire [AW-1:0] \dut.node.clear_addr ;
`ifdef PORTS_2
    `DUT #(.W(W), .AW(AW), .ECC(ECC) `PIPELINE ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .we0(we[0]), .waddr0(waddr0), .wdata0(wdata0), .we1(we[1]),
        .waddr1(waddr1), .wdata1(wdata1), .late1(late1), .alt1(alt1),
        .raddr0(raddr0), .rdata0(read0), .raddr1(raddr1), .rdata1(read1)
    );
    `MODEL #(.W(W), .AW(AW) `PIPELINE ) model (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_2), .we0(we[0]), .waddr0(waddr0), .wdata0(wdata0), .we1(we[1]),
        .waddr1(waddr1), .wdata1(wdata1), .late1(late1), .alt1(alt1),
        .raddr0(raddr0), .rdata0(is0), .raddr1(raddr1), .rdata1(is1)
    );
    (* hierconn *) wire \dut.v0_1 , \dut.v1_1 ;
    (* hierconn *) wire [AW-1:0] \dut.at0_1 , \dut.at1_1 ;
    (* hierconn *) wire \dut.bad0 , \dut.lost0 , \dut.lost1 ;
    wire wrong = \dut.bad0 ;
    wire [1:0] hopeless = {\dut.lost1 , \dut.lost0 };
    (* hierconn *) wire [W-1:0] \dut.data0_1 , \dut.data1_1 , \dut.back_data ;
    (* hierconn *) wire \dut.heal0 , \dut.heal1 , \dut.user0_1 , \dut.user1_1 , \dut.same_1 ;
    (* hierconn *) wire \dut.r0_side , \dut.r1_side , \dut.walk_1 ;
    (* hierconn *) wire \dut.back , \dut.back_side ;
    (* hierconn *) wire [AW-1:0] \dut.heal_addr0 , \dut.heal_addr1 , \dut.back_addr ;
    (* hierconn *) wire [WALK-1:0] \dut.newest ;
    wire step0 = \dut.v0_1 && \dut.at0_1 == at;
    wire step1 = \dut.v1_1 && \dut.at1_1 == at;
    wire under_way = step0 || step1;
    wire back0 = step0 && !\dut.user0_1 && !\dut.walk_1 ;
    wire back1 = step1 && !\dut.user1_1 && !\dut.walk_1 ;
    wire in_1 = \dut.newest [at];
    // What is on its way is the word; of both ports that of port 1. A word written back goes to the bank that holds it,
    // and no write of the word comes at the same time.
    wire right = (step1 ? \dut.data1_1 == word : \dut.data0_1 == word)
        && (!back0 || (!in_1 && !step1)) && (!back1 || (in_1 && !step0))
        && (\dut.same_1 == (\dut.user0_1 && \dut.user1_1 && \dut.at0_1 == \dut.at1_1 ));
    wire idle = !(step0 && \dut.user0_1 ) && !(step1 && \dut.user1_1 );
    wire heals_right =
        (!\dut.heal0 || \dut.heal_addr0 != at || (read0 == word && \dut.r0_side == in_1 && idle)) &&
        (!\dut.heal1 || \dut.heal_addr1 != at || (read1 == word && \dut.r1_side == in_1 && idle)) &&
        (!\dut.back || \dut.back_addr != at || (\dut.back_data == word && \dut.back_side == in_1 && idle));
`else
    `DUT #(.W(W), .AW(AW), .ECC(ECC) `PIPELINE ) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .we(we[0]), .waddr(waddr0), .wdata(wdata0), .raddr(raddr0),
        .rdata(read0)
    );
    `MODEL #(.W(W), .AW(AW) `PIPELINE ) model (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem_2), .we(we[0]), .waddr(waddr0), .wdata(wdata0), .raddr(raddr0),
        .rdata(is0)
    );
    assign {read1, is1} = {2*W{1'b0}};
    (* hierconn *) wire \dut.v_1 ;
    (* hierconn *) wire [AW-1:0] \dut.at_1 ;
    (* hierconn *) wire \dut.bad , \dut.lost ;
    wire wrong = \dut.bad ;
    wire [1:0] hopeless = {1'b0, \dut.lost };
    (* hierconn *) wire [W-1:0] \dut.data_1 , \dut.heal_data ;
    (* hierconn *) wire \dut.heal ;
    (* hierconn *) wire [AW-1:0] \dut.heal_addr ;
`ifdef LATE
    // Encoded a cycle before it is stored
    (* hierconn *) wire \dut.v_2 ;
    (* hierconn *) wire [AW-1:0] \dut.at_2 ;
    (* hierconn *) wire [W-1:0] \dut.data_2 ;
    wire step_2 = \dut.v_2 && \dut.at_2 == at;
    wire right_2 = \dut.data_2 == word;
`else
    wire step_2 = 1'b0, right_2 = 1'b0;
`endif
    wire step_1 = \dut.v_1 && \dut.at_1 == at;
    wire under_way = step_1 || step_2;
    wire right = step_1 ? \dut.data_1 == word : right_2;
    wire heals_right = !\dut.heal || \dut.heal_addr != at || \dut.heal_data == word;
`endif

    // Reads of the word that began after the walk, by their age in cycles
    reg [2:0]    asks0 = 0, asks1 = 0;
    always @(posedge clk) begin
        asks0 <= {asks0[1:0], up && raddr0 == at};
        asks1 <= {asks1[1:0], up && raddr1 == at};
    end

    wire [CW-1:0] plain;
    cde_ecc_enc #(.W(W), .CW(CW)) enc_i (.en(1'b1), .data(word), .code(plain));
    wire [CW-1:0] held = plain ^ \dut.codes [at * CW +: CW];

    always @(posedge clk) begin
        if (asks0[READ-1]) read0_is_fresh: assert (read0 == is0);
        if (asks1[READ-1]) read1_is_fresh: assert (read1 == is1);
        never_lost: assert (!(asks0[TOLD-1] && hopeless[0]) && !(asks1[TOLD-1] && hopeless[1]));
        if (ECC == 0) no_report: assert (!wrong);
    end

    // ---------------------------------------------------------------- for the induction: what the memory holds
    always @(posedge clk) begin
        if (up && under_way) on_its_way: assert (right);
        if (up) corrected: assert (heals_right);
        if (up && !under_way) one_bit: assert ((held & (held - 1'b1)) == 0);
        if (up && ECC == 0 && !under_way) no_bit: assert (held == 0);
        if (init) walk: assert (\dut.node.clear_addr + 1'b1 == age[AW-1:0]);
    end
    always @* begin
        legal_age: assert (age <= WALK + 1);
        if (!up) nothing_yet: assert (asks0 == 0 && asks1 == 0);
    end

endmodule

`default_nettype wire
