// SPDX-License-Identifier: Apache-2.0
// ctx_model: what the memories of contexts promise, in as few registers as it takes; stands in for cde_ctx and
// cde_ctx_2w in proofs of what uses them.
//
// Purpose: all words in one register; a read remembers its address alone for three cycles, so what it gives is what the
//          word has become by then. The walk clears all words at once. Without code (ECC is not used). That the
//          memories keep this promise is proven of them: proofs ctx and ctx_2w, where the modules have other names
//          (macros CDE_CTX, CDE_CTX_2W); that a pipeline with STEPS writes the word that it read, of the pipelines
//          (macro IN_STEP: arm_pipeline, room_for_entries; reads_3 of receive_once).
// Ports:   those of the memories; the maintenance bus passes by.
// Latency: that of the memories; STEPS is 0, 3, or of cde_ctx 4.
`default_nettype none
`include "cde_mem.vh"
`ifndef CDE_CTX
`define CDE_CTX cde_ctx
`endif
`ifndef CDE_CTX_2W
`define CDE_CTX_2W cde_ctx_2w
`endif

module `CDE_CTX #(
    parameter W = 8,
    parameter AW = 4,
    parameter ECC = 0,
    parameter STEPS = 0
) (
    input  wire                  clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire                  we,
    input  wire [AW-1:0]         waddr,
    input  wire [W-1:0]          wdata,
    input  wire [AW-1:0]         raddr,
    output wire [W-1:0]          rdata
);

    reg [(W << AW) - 1:0] words;
    reg [AW-1:0]          raddr_1, raddr_2, raddr_3, raddr_4;

    wire up = !mem_i[`CDE_MEM_START] && !mem_i[`CDE_MEM_CLEAR];
    assign mem_o = mem_i;
    assign rdata = words[raddr_3 * W +: W];

    always @(posedge clk) begin
        {raddr_4, raddr_3, raddr_2, raddr_1} <= {raddr_3, raddr_2, raddr_1, raddr};
        if (we) words[waddr * W +: W] <= wdata;
        if (mem_i[`CDE_MEM_CLEAR]) words <= 0;
`ifdef IN_STEP
        if (STEPS != 0 && up && we) in_step: assert (waddr == (STEPS == 3 ? raddr_3 : raddr_4));
`endif
    end

endmodule

module `CDE_CTX_2W #(
    parameter W = 8,
    parameter AW = 4,
    parameter ECC = 0,
    parameter STEPS = 0,
    parameter [31:0] MASK = 32'd0        // of registers that this has not
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

    reg [(W << AW) - 1:0] words;
    reg [AW-1:0]          r0_addr_1, r0_addr_2, r0_addr_3, r1_addr_1, r1_addr_2, r1_addr_3;

    wire up = !mem_i[`CDE_MEM_START] && !mem_i[`CDE_MEM_CLEAR];
    assign mem_o = mem_i;
    assign rdata0 = words[r0_addr_3 * W +: W];
    assign rdata1 = words[r1_addr_3 * W +: W];

    always @(posedge clk) begin
        {r0_addr_3, r0_addr_2, r0_addr_1} <= {r0_addr_2, r0_addr_1, raddr0};
        {r1_addr_3, r1_addr_2, r1_addr_1} <= {r1_addr_2, r1_addr_1, raddr1};
        if (we0) words[waddr0 * W +: W] <= wdata0;
        if (we1) words[waddr1 * W +: W] <= late1 ? alt1 : wdata1;
        if (mem_i[`CDE_MEM_CLEAR]) words <= 0;
`ifdef IN_STEP
        if (STEPS != 0 && up && we0) in_step0: assert (waddr0 == r0_addr_3);
        if (STEPS != 0 && up && we1) in_step1: assert (waddr1 == r1_addr_3);
`endif
    end

endmodule

`default_nettype wire
