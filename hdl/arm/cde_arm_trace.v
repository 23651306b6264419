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
                encode[`CDE_STATE_LIFE_LSB +: 2] = s[X_READY] ? `CDE_LIFE_READY : `CDE_LIFE_DESTROYING;
                encode[`CDE_STATE_STATUS_LSB +: 2] = s[X_ERR +: 2];
                encode[`CDE_STATE_ARMED_LSB] = s[X_W + Y_ARMED];
                encode[`CDE_STATE_ARM_TYPE_LSB +: 2] = s[X_W + Y_TYPE +: 2];
                encode[`CDE_STATE_IN_CALLBACK_LSB] = s[X_W + Y_BUSY];
                encode[`CDE_STATE_DUE_LSB] = s[X_W + Y_DUE];
                encode[`CDE_STATE_RELEASED_LSB] = s[X_W + Y_MATURE];
                encode[`CDE_STATE_EVENT_PENDING_LSB] = s[X_W + Y_EQE];
                encode[`CDE_STATE_PROD_LSB +: IDX_W] = s[X_PROD +: IDX_W];
                encode[`CDE_STATE_CONS_LSB +: IDX_W] = s[X_CONS +: IDX_W];
                encode[`CDE_STATE_MARK_LSB +: IDX_W] = s[X_W + Y_W + Z_MARK +: IDX_W];
                encode[`CDE_STATE_SOL_LSB +: IDX_W] =
                    s[X_W + Y_SOL] ? s[X_SOLP +: IDX_W] : s[X_W + Y_W + Z_MARK +: IDX_W];
                encode[`CDE_STATE_MOD_COUNT_LSB +: IDX_W] = s[X_W + Y_W + Z_MCNT +: IDX_W];
            end
        end
    endfunction

    reg [31:0]    p_operand;
    reg [31:0]    d_operand;

    always @* begin
        p_operand = 32'd0;
        if (p_op == `CDE_TRC_PUBLISH) begin
            p_operand[`CDE_TRC_PUBLISH_COUNT_LSB +: 2] = p_count;
            p_operand[`CDE_TRC_PUBLISH_SOLICITED_LSB +: 2] = p_solicited;
            p_operand[`CDE_TRC_PUBLISH_UNSIGNALLED_LSB +: 2] = p_quiet;
        end
        if (p_op == `CDE_TRC_CQ_ERROR) begin
            p_operand[`CDE_TRC_CQ_ERROR_STATUS_LSB +: 2] = p_status;
            p_operand[`CDE_TRC_CQ_ERROR_COUNT_LSB +: 2] = p_count;
        end
        if (p_op == `CDE_TRC_EVENT_FAILED) p_operand[`CDE_TRC_EVENT_FAILED_GIVE_UP_LSB] = p_give_up;
        d_operand = 32'd0;
        if (d_op == `CDE_TRC_DOORBELL) begin
            d_operand[`CDE_TRC_DOORBELL_INDEX_LSB +: IDX_W] = d_index;
            d_operand[`CDE_TRC_DOORBELL_ARM_LSB] = d_arm;
            d_operand[`CDE_TRC_DOORBELL_ARM_TYPE_LSB +: 2] = d_type;
        end
        if (d_op == `CDE_TRC_CREATE) begin
            d_operand[`CDE_TRC_CREATE_TYPED_LSB] = d_typed;
            d_operand[`CDE_TRC_CREATE_REARM_LSB] = d_rearm;
        end
        if (d_op == `CDE_TRC_DESTROY) d_operand[`CDE_TRC_DESTROY_FREED_LSB] = d_freed;
    end

    function [255:0] record;
        input [7:0]      op;
        input [CQ_W-1:0] cq;
        input            call;
        input [31:0]     operand;
        input [S_W-1:0]  old_state;
        input [S_W-1:0]  new_state;
        begin
            record = 256'd0;
            record[`CDE_TRACE_OP_LSB +: 8] = op;
            record[`CDE_TRACE_CQ_LSB +: CQ_W] = cq;
            record[`CDE_TRACE_EVENT_LSB] = call;
            if (call) record[`CDE_TRACE_EVENT_STATUS_LSB +: 2] = new_state[X_ERR +: 2];
            record[`CDE_TRACE_OPERAND_LSB +: 32] = operand;
            record[`CDE_TRACE_OLD_LSB +: 96] = encode(old_state);
            record[`CDE_TRACE_NEW_LSB +: 96] = encode(new_state);
        end
    endfunction

    // Low from power-up, before any clock edge.
    initial trace_valid = 2'b00;
    always @(posedge clk) begin
        trace_valid <= rst ? 2'b00 : {d_traced, p_traced};
        trace_data <= {record(d_op, d_cq, d_call, d_operand, d_old, d_new),
                       record(p_op, p_cq, p_call, p_operand, p_old, p_new)};
        res_valid <= d_control && !rst;
        res_state <= encode(d_new);
    end

endmodule

`default_nettype wire
