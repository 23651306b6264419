// SPDX-License-Identifier: Apache-2.0
// cde_arm_trace: lanes 1 and 2 of the trace port, and the state that control reads.
//
// Purpose: puts the three parts of the arm state into the documented form (docs/interfaces.md, "Trace port").
// Ports:   both operations with state before and after; trace lanes; result for control.
// Latency: one cycle.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_trace #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter X_BITS = 68,
    parameter Y_BITS = 10,
    parameter Z_BITS = 65
) (
    input  wire         clk,
    input  wire         rst,

    input  wire                              p_traced,
    input  wire [7:0]                        p_op,
    input  wire [CQ_W-1:0]                   p_cq,
    input  wire                              p_call,
    input  wire [1:0]                        p_count,
    input  wire [1:0]                        p_solicited,
    input  wire [1:0]                        p_status,
    input  wire                              p_give_up,
    input  wire [1:0]                        p_quiet,
    input  wire [X_BITS+Y_BITS+Z_BITS-1:0]   p_old,
    input  wire [X_BITS+Y_BITS+Z_BITS-1:0]   p_new,

    input  wire                              d_traced,
    input  wire [7:0]                        d_op,
    input  wire [CQ_W-1:0]                   d_cq,
    input  wire                              d_call,
    input  wire [IDX_W-1:0]                  d_index,
    input  wire                              d_arm,
    input  wire [1:0]                        d_type,
    input  wire                              d_typed,
    input  wire                              d_rearm,
    input  wire                              d_freed,
    input  wire [X_BITS+Y_BITS+Z_BITS-1:0]   d_old,
    input  wire [X_BITS+Y_BITS+Z_BITS-1:0]   d_new,
    input  wire                              d_control,

    output reg          res_valid,
    output reg  [95:0]  res_state,
    output reg  [1:0]   trace_valid,
    output reg  [511:0] trace_data
);

`include "cde_arm_state.vh"

    localparam S_W = X_W + Y_W + Z_W;

    // Where a solicited entry counts, it lies after the mark.
    function [95:0] encode;
        input [S_W-1:0] s;
        begin
            encode = 96'd0;
            if (s[X_W + Y_EXISTS]) begin
                encode[1:0] = s[X_READY] ? `CDE_LIFE_READY : `CDE_LIFE_DESTROYING;
                encode[3:2] = s[X_ERR +: 2];
                encode[4] = s[X_W + Y_ARMED];
                encode[6:5] = s[X_W + Y_TYPE +: 2];
                encode[7] = s[X_W + Y_BUSY];
                encode[8] = s[X_W + Y_DUE];
                encode[9] = s[X_W + Y_MATURE];
                encode[10] = s[X_W + Y_EQE];
                encode[16 +: IDX_W] = s[X_PROD +: IDX_W];
                encode[32 +: IDX_W] = s[X_CONS +: IDX_W];
                encode[48 +: IDX_W] = s[X_W + Y_W + Z_MARK +: IDX_W];
                encode[64 +: IDX_W] = s[X_W + Y_SOL] ? s[X_SOLP +: IDX_W] : s[X_W + Y_W + Z_MARK +: IDX_W];
                encode[80 +: IDX_W] = s[X_W + Y_W + Z_MCNT +: IDX_W];
            end
        end
    endfunction

    reg [31:0]    p_operand;
    reg [31:0]    d_operand;

    always @* begin
        p_operand = 32'd0;
        if (p_op == `CDE_TRC_PUBLISH) p_operand[5:0] = {p_quiet, p_solicited, p_count};
        if (p_op == `CDE_TRC_CQ_ERROR) p_operand[3:0] = {p_count, p_status};
        if (p_op == `CDE_TRC_EVENT_FAILED) p_operand[0] = p_give_up;
        d_operand = 32'd0;
        if (d_op == `CDE_TRC_DOORBELL) begin
            d_operand[IDX_W-1:0] = d_index;
            d_operand[18:16] = {d_type, d_arm};
        end
        if (d_op == `CDE_TRC_CREATE) d_operand[1:0] = {d_rearm, d_typed};
        if (d_op == `CDE_TRC_DESTROY) d_operand[0] = d_freed;
    end

    wire [63:0] p_head = {p_operand, 5'd0, p_call ? p_new[X_ERR +: 2] : 2'd0, p_call, {(16-CQ_W){1'b0}}, p_cq, p_op};
    wire [63:0] d_head = {d_operand, 5'd0, d_call ? d_new[X_ERR +: 2] : 2'd0, d_call, {(16-CQ_W){1'b0}}, d_cq, d_op};

    // Low from power-up, before any clock edge.
    initial trace_valid = 2'b00;
    always @(posedge clk) begin
        trace_valid <= rst ? 2'b00 : {d_traced, p_traced};
        trace_data <= {encode(d_new), encode(d_old), d_head, encode(p_new), encode(p_old), p_head};
        res_valid <= d_control && !rst;
        res_state <= encode(d_new);
    end

endmodule

`default_nettype wire
