// SPDX-License-Identifier: Apache-2.0
// ram_model: what the memories promise, in as few registers as it takes; stands in for cde_ram in proofs of what
// uses it.
//
// Purpose: all words in one register; a read remembers its address alone, so what it gives is what the word has become
//          by the end of the read's clock edge, with LATE of the next one. The walk clears all words at once. Without
//          code (ECC is not used). That the memory keeps this promise is proven: proofs ram and ram_late, where the
//          module has another name (macro CDE_RAM).
// Ports:   those of the memories; the maintenance bus passes by.
// Latency: that of the memories.
`default_nettype none
`include "cde_mem.vh"
`ifndef CDE_RAM
`define CDE_RAM cde_ram
`endif

module `CDE_RAM #(
    parameter W = 8,
    parameter AW = 4,
    parameter ECC = 0,
    parameter SMALL = 6,
    parameter LATE = 0
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
    reg [AW-1:0]          f_raddr, f_raddr_2;
    reg                   f_fresh = 1'b0;   // words were read, not cleared

    assign mem_o = mem_i;
    assign rdata = words[(LATE != 0 ? f_raddr_2 : f_raddr) * W +: W];

    always @(posedge clk) begin
        {f_raddr_2, f_raddr} <= {f_raddr, raddr};
        f_fresh <= !mem_i[`CDE_MEM_CLEAR];
        if (we) words[waddr * W +: W] <= wdata;
        if (mem_i[`CDE_MEM_CLEAR]) words <= 0;
    end

endmodule

`default_nettype wire
