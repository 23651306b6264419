// SPDX-License-Identifier: Apache-2.0
// cde_ram_2w: memory with two write ports and two synchronous read ports that never returns stale data, and corrects a wrong bit.
//
// Purpose: state that two pipelines read, modify and write in the same cycle. Each write port owns a bank; a bit per word
//          says which bank holds its newest value, so both banks map to ordinary block RAM. All words are 0 after the clearing walk. With
//          ECC, each lane (cde_ecc.vh) corrects one wrong bit and detects two; both are reported.
// Ports:   maintenance bus in and out (cde_mem.vh); two write ports; when both write one word in one cycle, port 1 wins. Two read ports.
// Latency: rdataN belongs to the raddrN of the cycle before and includes the writes of that clock edge.
`default_nettype none
`include "cde_mem.vh"

module cde_ram_2w #(
    parameter W = 8,    // bits of a word
    parameter AW = 4,   // address bits
    parameter ECC = 1   // 0: no code
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

    input  wire [AW-1:0]         raddr0,
    output wire [W-1:0]          rdata0,
    input  wire [AW-1:0]         raddr1,
    output wire [W-1:0]          rdata1
);

    localparam CW = ECC != 0 ? W + `CDE_ECC_WORD(W) : W;

    reg [CW-1:0] bank0 [0:(1 << AW) - 1];
    reg [CW-1:0] bank1 [0:(1 << AW) - 1];
    reg [(1 << AW) - 1:0] newest;   // 1: bank1 holds the word

    // Read port 0
    reg [CW-1:0] r0_bank0_q;
    reg [CW-1:0] r0_bank1_q;
    reg [AW-1:0] r0_addr_q;
    reg          r0_hit0_q;
    reg          r0_hit1_q;
    reg          r0_seen_q;     // the word was reported in the cycle before
    // Read port 1
    reg [CW-1:0] r1_bank0_q;
    reg [CW-1:0] r1_bank1_q;
    reg [AW-1:0] r1_addr_q;
    reg          r1_hit0_q;
    reg          r1_hit1_q;
    reg          r1_seen_q;
    // Words written at the edge of the read
    reg [W-1:0] fwd0_q;
    reg [W-1:0] fwd1_q;

    wire          clear, flip, bad0, bad1, lost0, lost1;
    wire [AW-1:0] clear_addr;
    wire [9:0]    at0, at1;
    wire [CW-1:0] code0, code1, mask;
    wire [W-1:0]  fixed0, fixed1;

    cde_mem_node #(.AW(AW)) node (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0), .at1(at1),
        .written(we0 || we1), .bad((bad0 && !r0_seen_q) || (bad1 && !r1_seen_q)), .lost((lost0 && !r0_seen_q) || (lost1 && !r1_seen_q))
    );

    // Unless a word was written at the edge of its read, its bit is still the same in the next cycle's beginning.
    wire in1_0 = newest[r0_addr_q];
    wire in1_1 = newest[r1_addr_q];

    cde_ecc_dec #(.W(W), .CW(CW)) dec0 (
        .en(!r0_hit0_q && !r0_hit1_q), .code(in1_0 ? r0_bank1_q : r0_bank0_q), .fixed(fixed0), .bad(bad0), .lost(lost0)
    );
    cde_ecc_dec #(.W(W), .CW(CW)) dec1 (
        .en(!r1_hit0_q && !r1_hit1_q), .code(in1_1 ? r1_bank1_q : r1_bank0_q), .fixed(fixed1), .bad(bad1), .lost(lost1)
    );

    assign rdata0 = r0_hit1_q ? fwd1_q : r0_hit0_q ? fwd0_q : fixed0;
    assign rdata1 = r1_hit1_q ? fwd1_q : r1_hit0_q ? fwd0_q : fixed1;

    // A corrected word is written back into its bank, with new check bits, when nothing else is written there. No write gets lost by that:
    // one at the edge of the read was forwarded, and then the word read does not count; one in the cycle of the write-back takes its place
    // in the same bank, and in the other bank it becomes the newest, which a write-back never changes.
    wire heal0 = bad0 && !lost0;
    wire heal1 = bad1 && !lost1;
    wire put0 = clear || we0 || (heal0 && !in1_0) || (heal1 && !in1_1);
    wire put1 = clear || we1 || (heal0 && in1_0) || (heal1 && in1_1);
    reg [AW-1:0] put_addr0, put_addr1;
    reg [W-1:0]  put_data0, put_data1;

    always @* begin
        {put_addr0, put_data0} = {waddr0, wdata0};
        {put_addr1, put_data1} = {waddr1, wdata1};
        if (!we0) {put_addr0, put_data0} = heal0 && !in1_0 ? {r0_addr_q, fixed0} : {r1_addr_q, fixed1};
        if (!we1) {put_addr1, put_data1} = heal0 && in1_0 ? {r0_addr_q, fixed0} : {r1_addr_q, fixed1};
        if (clear) begin
            {put_addr0, put_data0} = {clear_addr, {W{1'b0}}};
            {put_addr1, put_data1} = {clear_addr, {W{1'b0}}};
        end
    end

    cde_ecc_enc #(.W(W), .CW(CW)) enc0 (
        .en(put0), .data(put_data0), .code(code0)
    );
    cde_ecc_enc #(.W(W), .CW(CW)) enc1 (
        .en(put1), .data(put_data1), .code(code1)
    );
    cde_flip #(.CW(CW)) flips (.clk(clk), .at0(at0), .at1(at1), .mask(mask));

    always @(posedge clk) begin
        r0_bank0_q <= bank0[raddr0];
        r0_bank1_q <= bank1[raddr0];
        r0_addr_q <= raddr0;
        r0_hit0_q <= clear || (we0 && (waddr0 == raddr0));
        r0_hit1_q <= clear || (we1 && (waddr1 == raddr0));
        r0_seen_q <= bad0 && raddr0 == r0_addr_q;
        r1_bank0_q <= bank0[raddr1];
        r1_bank1_q <= bank1[raddr1];
        r1_addr_q <= raddr1;
        r1_hit0_q <= clear || (we0 && (waddr0 == raddr1));
        r1_hit1_q <= clear || (we1 && (waddr1 == raddr1));
        r1_seen_q <= bad1 && raddr1 == r1_addr_q;
        fwd0_q <= clear ? {W{1'b0}} : wdata0;
        fwd1_q <= clear ? {W{1'b0}} : wdata1;
        if (put0) bank0[put_addr0] <= ECC != 0 && flip && we0 && !we1 ? code0 ^ mask : code0;
        if (put1) bank1[put_addr1] <= ECC != 0 && flip && we1 ? code1 ^ mask : code1;
        if (we0) newest[waddr0] <= 1'b0;
        if (we1) newest[waddr1] <= 1'b1;
        if (clear) newest[clear_addr] <= 1'b0;
    end

`ifdef FORMAL
    // All words, for invariants of proofs (without code); a read is never stale.
    wire [(W << AW) - 1:0] words;
    reg                    f_read = 1'b0;   // words were read, not cleared
    genvar                 i;
    generate
        for (i = 0; i < (1 << AW); i = i + 1) begin : f_words
            assign words[i * W +: W] = newest[i] ? bank1[i][W-1:0] : bank0[i][W-1:0];
        end
    endgenerate
    always @(posedge clk) begin
        f_read <= !clear && ECC == 0;
        if (f_read) begin
            read0_is_fresh: assert (rdata0 == words[r0_addr_q * W +: W]);
            read1_is_fresh: assert (rdata1 == words[r1_addr_q * W +: W]);
        end
    end
`endif

endmodule

`default_nettype wire
