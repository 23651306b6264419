// SPDX-License-Identifier: Apache-2.0
// f_cq_bound: proof that cde_cq_bound says what bound_model says.
//
// Purpose: any index, any bound, any step ahead, at the width of the engine.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_cq_bound #(
    parameter IDX_W = 16
) (
    input wire             clk,
    input wire [IDX_W-1:0] read,
    input wire [IDX_W-1:0] now,
    input wire [IDX_W-1:0] origin,
    input wire [IDX_W-1:0] bound,
    input wire             again,
    input wire             by2,
    input wire             by1
);

    wire reached, almost, is_reached, is_almost;
    reg  started = 1'b0;

    cde_cq_bound #(.IDX_W(IDX_W)) dut (
        .clk(clk), .read(read), .now(now), .origin(origin), .bound(bound), .again(again), .by2(by2), .by1(by1),
        .reached(reached), .almost(almost)
    );
    `CDE_CQ_BOUND #(.IDX_W(IDX_W)) model (
        .clk(clk), .read(read), .now(now), .origin(origin), .bound(bound), .again(again), .by2(by2), .by1(by1),
        .reached(is_reached), .almost(is_almost)
    );

    always @(posedge clk) begin
        started <= 1'b1;
        if (started) same_answer: assert (reached == is_reached && almost == is_almost);
    end

endmodule

`default_nettype wire
