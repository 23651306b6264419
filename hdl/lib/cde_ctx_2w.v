// SPDX-License-Identifier: Apache-2.0
// cde_ctx_2w: memory of contexts for two pipelines that read, decide and write, each with a write and a read in each
// cycle, at any addresses.
//
// Purpose: cde_ctx (ISO-05) with two write ports and two read ports; both reads include the writes of both. Each write
//          port owns a bank; two bits per word, one written with each bank, say by their sum which bank holds its
//          newest value, so banks map to ordinary block RAM and the bits to distributed RAM.
// Ports:   maintenance bus in and out (cde_mem.vh); two write ports (we and waddr from registers); when both write one
//          word in one cycle, port 1 wins. With late1, which may come late, port 1 writes alt1 instead of wdata1. Two
//          read ports. With STEPS a write goes to the word that its port read that many cycles before, as in cde_ctx.
// Latency: rdataN belongs to the raddrN of three cycles before and includes the writes up to the cycle before.
`default_nettype none
`include "cde_mem.vh"

module cde_ctx_2w #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1,  // 0: no code
    parameter STEPS = 0, // cycles from a read of a pipeline to the write of its word, 3 or more; 0: writes go anywhere
    parameter [31:0] MASK = 32'd0   // bits of the registers of addresses that stand inverted
) (
    input  wire                  clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,

    input  wire                  we0,
    input  wire [AW-1:0]         waddr0,
    input  wire [W-1:0]          wdata0,
    input  wire                  we1,
    input  wire [AW-1:0]         waddr1,
    input  wire [W-1:0]          wdata1,
    input  wire                  late1,
    input  wire [W-1:0]          alt1,

    input  wire [AW-1:0]         raddr0,
    output wire [W-1:0]          rdata0,
    input  wire [AW-1:0]         raddr1,
    output wire [W-1:0]          rdata1
);

    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;
    localparam S_W = `CDE_ECC_SYNDROMES(W);

    wire [CW-1:0] r0_bank0_1, r0_bank1_1, r1_bank0_1, r1_bank1_1;
    reg [W-1:0]   r0_bank0_2, r0_bank1_2, r1_bank0_2, r1_bank1_2;
    wire [4*S_W-1:0] r0_parts0_1, r0_parts1_1, r1_parts0_1, r1_parts1_1;
    reg  [4*S_W-1:0] r0_parts0_2, r0_parts1_2, r1_parts0_2, r1_parts1_2;
    wire [S_W-1:0] r0_syn0_2, r0_syn1_2, r1_syn0_2, r1_syn1_2;
    // What stands inverted is not one register with the same address in the pipeline, which is far from this memory.
    reg [AW-1:0]  r0_masked_1, r1_masked_1;
    wire [AW-1:0] r0_addr_1 = r0_masked_1 ^ MASK[AW-1:0], r1_addr_1 = r1_masked_1 ^ MASK[AW-1:0];
    reg           r0_newest_2, r0_side, r1_newest_2, r1_side;
    // Read a cycle after the banks: what was stored in between is among the writes that replace what was read.
    // Bank 1 holds the newest word where the bits of both sides differ.
`ifdef FORMAL
    wire [(1 << AW) - 1:0] bits0, bits1, newest = bits0 ^ bits1;
`endif
    wire          r0_side0_1, r1_side0_1, r0_side1_1, r1_side1_1;
    wire [AW > 2 ? 3 : 0:0] row0, row1;               // of each side, where the other one writes
    wire          r0_newest_1 = r0_side0_1 ^ r0_side1_1;
    wire          r1_newest_1 = r1_side0_1 ^ r1_side1_1;

    wire          clear, flip, bad0, bad1, lost0, lost1, heal0, heal1;
    wire [AW-1:0] clear_addr, heal_addr0, heal_addr1;
    wire [9:0]    at0, at1;
    wire [CW-1:0] mask, put_code0, put_code1;
    wire          v0_1, v0_2, v1_1, v1_2, user0_1, user1_1;
    wire [AW-1:0] at0_1, at0_2, at1_1, at1_2;
    wire [W-1:0]  data0_1, data0_2, data0_3, data1_1, data1_2, data1_3;
    wire [AW-1:0] put_addr0, put_addr1, ahead0, ahead1;
    reg           same_1;                       // both ports write one word
    reg           walk_1;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0),
        .at1(at1),
        .written(user0_1 || user1_1), .bad(bad0 || bad1), .lost(lost0 || lost1)
    );

    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    cde_ecc_parts #(.W(W), .CW(CW)) parities00 (.code(r0_bank0_1), .parts(r0_parts0_1));
    cde_ecc_parts #(.W(W), .CW(CW)) parities01 (.code(r0_bank1_1), .parts(r0_parts1_1));
    cde_ecc_parts #(.W(W), .CW(CW)) parities10 (.code(r1_bank0_1), .parts(r1_parts0_1));
    cde_ecc_parts #(.W(W), .CW(CW)) parities11 (.code(r1_bank1_1), .parts(r1_parts1_1));
    cde_ecc_syndrome #(.W(W)) sum00 (.parts(r0_parts0_2), .syndrome(r0_syn0_2));
    cde_ecc_syndrome #(.W(W)) sum01 (.parts(r0_parts1_2), .syndrome(r0_syn1_2));
    cde_ecc_syndrome #(.W(W)) sum10 (.parts(r1_parts0_2), .syndrome(r1_syn0_2));
    cde_ecc_syndrome #(.W(W)) sum11 (.parts(r1_parts1_2), .syndrome(r1_syn1_2));

    // A word is corrected only when none of its writes is on the way, nor another one in the cycle of the correction.
    // In the cycle after it is written back into its bank, unless the other bank gets a newer one, so written back it
    // takes its place among the writes. Of two words one is written back, the other when it is read again.
    reg           back, back_side;
    reg [AW-1:0]  back_addr;
    reg [W-1:0]   back_data;
    wire          back0 = back && !back_side && !(we1 && put_addr1 == back_addr);
    wire          back1 = back && back_side && !(we0 && put_addr0 == back_addr);
    wire [AW-1:0] next_addr = heal0 ? heal_addr0 : heal_addr1;

    cde_ctx_write #(.W(W), .AW(AW), .CW(CW)) write0 (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we0), .waddr(put_addr0), .wdata(wdata0), .heal(back0),
        .heal_addr(back_addr), .heal_data(back_data), .flip(flip && user0_1 && !user1_1), .mask(mask), .v_1(v0_1),
        .user_1(user0_1), .at_1(at0_1),
        .data_1(data0_1), .v_2(v0_2), .at_2(at0_2), .data_2(data0_2), .data_3(data0_3), .put_code(put_code0)
    );
    cde_ctx_write #(.W(W), .AW(AW), .CW(CW)) write1 (
        .clk(clk), .clear(clear), .clear_addr(clear_addr), .we(we1), .waddr(put_addr1), .wdata(late1 ? alt1 : wdata1),
        .heal(back1), .heal_addr(back_addr), .heal_data(back_data), .flip(flip && user1_1), .mask(mask), .v_1(v1_1),
        .user_1(user1_1), .at_1(at1_1),
        .data_1(data1_1), .v_2(v1_2), .at_2(at1_2), .data_2(data1_2), .data_3(data1_3), .put_code(put_code1)
    );

    cde_ctx_read #(.W(W), .AW(AW), .CW(CW), .AHEAD(STEPS != 0)) read0 (
        .clk(clk), .clear(clear), .raddr_1(r0_addr_1), .q_2(r0_newest_2 ? r0_bank1_2 : r0_bank0_2),
        .syndrome_2(r0_newest_2 ? r0_syn1_2 : r0_syn0_2), .we0(we0),
        .waddr0(put_addr0), .ahead0(ahead0), .wdata0(wdata0),
        .v0_1(user0_1), .at0_1(at0_1), .data0_1(data0_1), .v0_2(v0_2), .at0_2(at0_2), .data0_2(data0_2),
        .data0_3(data0_3), .we1(we1), .waddr1(put_addr1), .ahead1(ahead1), .wdata1(wdata1),
        .late1(late1), .alt1(alt1), .v1_1(user1_1), .at1_1(at1_1), .data1_1(data1_1), .v1_2(v1_2), .at1_2(at1_2),
        .data1_2(data1_2), .data1_3(data1_3), .rdata(rdata0), .bad(bad0), .lost(lost0), .heal(heal0),
        .heal_addr(heal_addr0)
    );
    cde_ctx_read #(.W(W), .AW(AW), .CW(CW), .AHEAD(STEPS != 0)) read1 (
        .clk(clk), .clear(clear), .raddr_1(r1_addr_1), .q_2(r1_newest_2 ? r1_bank1_2 : r1_bank0_2),
        .syndrome_2(r1_newest_2 ? r1_syn1_2 : r1_syn0_2), .we0(we0),
        .waddr0(put_addr0), .ahead0(ahead0), .wdata0(wdata0),
        .v0_1(user0_1), .at0_1(at0_1), .data0_1(data0_1), .v0_2(v0_2), .at0_2(at0_2), .data0_2(data0_2),
        .data0_3(data0_3), .we1(we1), .waddr1(put_addr1), .ahead1(ahead1), .wdata1(wdata1),
        .late1(late1), .alt1(alt1), .v1_1(user1_1), .at1_1(at1_1), .data1_1(data1_1), .v1_2(v1_2), .at1_2(at1_2),
        .data1_2(data1_2), .data1_3(data1_3), .rdata(rdata1), .bad(bad1), .lost(lost1), .heal(heal1),
        .heal_addr(heal_addr1)
    );

`ifdef FORMAL
    wire [(CW << AW) - 1:0] codes0, codes1;
`endif
    // A read at the edge of a write of its word is replaced by that write.
    cde_lanes #(.W(W), .AW(AW), .CW(CW), .R(2)) bank0 (
        .clk(clk), .we(v0_1), .waddr(at0_1), .code(put_code0), .raddr({raddr1, raddr0}), .q({r1_bank0_1, r0_bank0_1})
`ifdef FORMAL
        , .codes(codes0)
`endif
    );
    cde_lanes #(.W(W), .AW(AW), .CW(CW), .R(2)) bank1 (
        .clk(clk), .we(v1_1), .waddr(at1_1), .code(put_code1), .raddr({raddr1, raddr0}), .q({r1_bank1_1, r0_bank1_1})
`ifdef FORMAL
        , .codes(codes1)
`endif
    );

    cde_ctx_way #(.AW(AW), .STEPS(STEPS)) way0 (
        .clk(clk), .raddr_1(r0_addr_1), .waddr(waddr0), .at(put_addr0), .ahead(ahead0)
    );
    cde_ctx_way #(.AW(AW), .STEPS(STEPS)) way1 (
        .clk(clk), .raddr_1(r1_addr_1), .waddr(waddr1), .at(put_addr1), .ahead(ahead1)
    );

    // Port 0 makes the bits equal, port 1 makes them differ, the clearing walk makes them 0.
    cde_bits #(.AW(AW), .R(2)) side0 (
        .clk(clk), .clear(walk_1), .clear_addr(at0_1), .we(user0_1 && !same_1), .waddr(at0_1), .wdata(1'b0),
        .wrow(row1), .oaddr(at1_1), .orow(row0), .raddr({r1_addr_1, r0_addr_1}), .rdata({r1_side0_1, r0_side0_1})
`ifdef FORMAL
        , .bits(bits0)
`endif
    );
    cde_bits #(.AW(AW), .R(2)) side1 (
        .clk(clk), .clear(walk_1), .clear_addr(at1_1), .we(user1_1), .waddr(at1_1), .wdata(1'b1), .wrow(row0),
        .oaddr(at0_1), .orow(row1), .raddr({r1_addr_1, r0_addr_1}), .rdata({r1_side1_1, r0_side1_1})
`ifdef FORMAL
        , .bits(bits1)
`endif
    );

    always @(posedge clk) begin
        {r0_bank0_2, r0_parts0_2} <= {r0_bank0_1[W-1:0], r0_parts0_1};
        {r0_bank1_2, r0_parts1_2} <= {r0_bank1_1[W-1:0], r0_parts1_1};
        {r1_bank0_2, r1_parts0_2} <= {r1_bank0_1[W-1:0], r1_parts0_1};
        {r1_bank1_2, r1_parts1_2} <= {r1_bank1_1[W-1:0], r1_parts1_1};
        {r0_masked_1, r1_masked_1} <= {raddr0 ^ MASK[AW-1:0], raddr1 ^ MASK[AW-1:0]};
        back <= (heal0 || heal1) && !(we0 && put_addr0 == next_addr) && !(we1 && put_addr1 == next_addr) && !clear;
        back_side <= heal0 ? r0_side : r1_side;
        back_addr <= next_addr;
        back_data <= heal0 ? rdata0 : rdata1;
        {r0_newest_2, r0_side} <= {r0_newest_1, r0_newest_2};
        {r1_newest_2, r1_side} <= {r1_newest_1, r1_newest_2};
        walk_1 <= clear;
        same_1 <= we0 && we1 && put_addr0 == put_addr1;
    end

`ifdef FORMAL
    // All words as they are stored, the newest of both banks, for proofs of this module.
    wire [(CW << AW) - 1:0] codes;
    genvar                  i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign codes[i * CW +: CW] = newest[i] ? codes1[i * CW +: CW] : codes0[i * CW +: CW];
        end
    endgenerate
`endif

endmodule

`default_nettype wire
