// SPDX-License-Identifier: Apache-2.0
// slots_model: what a memory of send queue slots promises, in as few registers as it takes; stands in for cde_slots in
// proofs of what uses it.
//
// Purpose: all words in one register; a read remembers its address alone for three cycles, so what it gives is what the
//          word has been since. Of a word that is written at the edge of its read or until it comes out, nothing is
//          promised. The walk clears all words at once. Without code (ECC is not used). That the memory keeps this
//          promise is proven of it: proof slots.
// Ports:   those of the memory; the maintenance bus passes by.
// Latency: that of the memory.
`default_nettype none
`include "cde_mem.vh"

module cde_slots #(
    parameter W = 8,
    parameter AW = 4,
    parameter ECC = 0,
    parameter TELL = 4
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
    reg [AW-1:0]          raddr_1, raddr_2, raddr_3;
    reg                   none_1, none_2, none_3;
    (* anyseq *) wire [W-1:0] none;

    assign mem_o = mem_i;
    assign rdata = none_3 ? none : words[raddr_3 * W +: W];

    always @(posedge clk) begin
        {raddr_3, raddr_2, raddr_1} <= {raddr_2, raddr_1, raddr};
        none_1 <= we && waddr == raddr;
        none_2 <= none_1 || (we && waddr == raddr_1);
        none_3 <= none_2 || (we && waddr == raddr_2);
        if (we) words[waddr * W +: W] <= wdata;
        if (mem_i[`CDE_MEM_CLEAR]) words <= 0;
    end

endmodule

`default_nettype wire
