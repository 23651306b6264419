// SPDX-License-Identifier: Apache-2.0
// cde_rsv: stream ports for credits.
//
// Purpose: lets work outside the engine reserve CQ entries. Answers come in the order of the requests.
// Ports:   s_axis_rsv, m_axis_rsv; requests and verdicts of cde_credit.
// Latency: request accepted in cycle t, answer valid in t+7. One request per cycle.
`default_nettype none
`include "cde_defs.vh"

module cde_rsv #(
    parameter CQ_W = 6
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,

    input  wire [31:0]       s_axis_rsv_tdata,
    input  wire              s_axis_rsv_tvalid,
    output wire              s_axis_rsv_tready,
    output wire [7:0]        m_axis_rsv_tdata,
    output wire              m_axis_rsv_tvalid,
    input  wire              m_axis_rsv_tready,

    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    output wire [1:0]        rq_count,
    input  wire              gr_room,
    output wire              gr_take
);

    wire        in_valid;
    wire        in_push_ready;
    wire [31:0] in_data;
    wire [1:0]  unused_in_level;
    wire [3:0]  out_level;

    // Five requests can be under way.
    assign rq_valid = in_valid && out_level <= 4'd2 && !rq_hold;
    assign rq_cq = in_data[`CDE_RSV_CQ_LSB +: CQ_W];
    assign rq_count = in_data[`CDE_RSV_CREDITS_LSB +: 2];
    assign s_axis_rsv_tready = in_push_ready && !init;

    cde_fifo #(.W(32), .DEPTH_LOG2(1)) in_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_axis_rsv_tvalid && !init), .push_ready(in_push_ready), .push_data(s_axis_rsv_tdata),
        .pop_valid(in_valid), .pop_ready(rq_valid), .pop_data(in_data), .level(unused_in_level)
    );

    wire legal = (in_data[`CDE_RSV_CQ_LSB +: 16] >> CQ_W) == 16'd0 && (in_data & `CDE_RSV_RESERVED) == 32'd0 &&
                 (rq_count == 2'd1 || rq_count == 2'd2);
    reg  b_valid, s_valid, r_valid, c_valid, d_valid;
    reg  b_legal, s_legal, r_legal, c_legal, d_granted;
    wire unused_out_push_ready;
    wire granted;

    always @(posedge clk) begin
        {b_valid, s_valid, r_valid, c_valid, d_valid} <= rst ? 5'd0 : {rq_valid, b_valid, s_valid, r_valid, c_valid};
        {b_legal, s_legal, r_legal, c_legal} <= {legal, b_legal, s_legal, r_legal};
        d_granted <= gr_room && c_legal;
    end

    assign gr_take = c_legal;

    cde_fifo #(.W(1), .DEPTH_LOG2(3)) out_fifo (
        .clk(clk), .rst(rst),
        .push_valid(d_valid), .push_ready(unused_out_push_ready), .push_data(d_granted),
        .pop_valid(m_axis_rsv_tvalid), .pop_ready(m_axis_rsv_tready), .pop_data(granted), .level(out_level)
    );

    assign m_axis_rsv_tdata = {7'd0, granted};

endmodule

`default_nettype wire
