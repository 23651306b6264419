// SPDX-License-Identifier: Apache-2.0
// bound_model: what cde_cq_bound says, as the index itself; stands in for it in proofs of what uses it. That the module
// says so is proven of it: proof cq_bound, where the model has another name (macro CDE_CQ_BOUND).
//
// Purpose: the index after the step ahead, compared with its bound.
// Ports:   those of the module.
// Latency: that of the module.
`default_nettype none
`ifndef CDE_CQ_BOUND
`define CDE_CQ_BOUND cde_cq_bound
`endif

module `CDE_CQ_BOUND #(
    parameter IDX_W = 16
) (
    input  wire             clk,
    input  wire [IDX_W-1:0] read,
    input  wire [IDX_W-1:0] now,
    input  wire [IDX_W-1:0] origin,
    input  wire [IDX_W-1:0] bound,
    input  wire             again,
    input  wire             by2,
    input  wire             by1,
    output wire             reached,
    output wire             almost
);

    reg [IDX_W-1:0] left;

    assign reached = left == 0;
    assign almost = left == 1;

    always @(posedge clk) left <= bound + origin - (!again ? read : by2 ? now + 2'd2 : by1 ? now + 2'd1 : now);

endmodule

`default_nettype wire
