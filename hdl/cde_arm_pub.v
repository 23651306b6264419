// SPDX-License-Identifier: Apache-2.0
// cde_arm_pub: effect of a memory write response, or of an overflow, on one CQ's arm state.
//
// Purpose: publication of acknowledged entries (CQ-08, CQ-15, CQ-22), errors of the CQ (CQ-17, CQ-18), the fate of its EQE.
// Ports:   operation and operands, state in, settings, time; state out and the callback called by the step.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_pub #(
    parameter IDX_W = 16,
    parameter ST_BITS = 126,
    parameter CF_BITS = 56
) (
    input  wire [7:0]         op,          // CDE_TRC_PUBLISH, _CQ_ERROR, _EVENT_FAILED, _EVENT_DONE
    input  wire [1:0]         count,       // entries of the write that was answered
    input  wire [1:0]         solicited,   // class of the first, second entry
    input  wire [1:0]         status,      // CQ_ERROR: which
    input  wire               give_up,     // EVENT_FAILED: no further attempt
    input  wire [ST_BITS-1:0] state,
    input  wire [CF_BITS-1:0] settings,
    input  wire [17:0]        now,
    output wire               publishing,  // answers to entries have an effect
    output wire [ST_BITS-1:0] result,
    output wire               call
);

`include "cde_arm_state.vh"

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam [IDX_W-1:0] MCNT_MAX = {IDX_W{1'b1}};

    wire [IDX_W-1:0] prod = state[ST_PROD +: IDX_W];
    wire [IDX_W-1:0] mark = state[ST_MARK +: IDX_W];
    wire [IDX_W-1:0] mcnt = state[ST_MCNT +: IDX_W];
    wire             ready = state[ST_LIFE +: 2] == `CDE_LIFE_READY;
    wire             no_error = state[ST_ERR +: 2] == `CDE_CQST_OK;
    wire             armed = state[ST_ARMED];
    wire [1:0]       arm_type = state[ST_TYPE +: 2];

    // An entry that the host consumed before its acknowledgement lies below the mark and triggers nothing (CQ-22).
    wire [IDX_W-1:0] dead = mark - prod;               // positive: entries below the mark
    wire dead_none = dead[IDX_W-1] || dead == {IDX_W{1'b0}};
    wire live0 = count != 2'd0 && dead_none;
    wire live1 = count == 2'd2 && (dead_none || dead == ONE);
    wire [1:0] live = {1'b0, live0} + {1'b0, live1};
    wire [IDX_W-1:0] live_ext = {{(IDX_W-2){1'b0}}, live};
    wire trigger = armed && ((arm_type == `CDE_ARM_ANY && (live0 || live1)) ||
                             (arm_type == `CDE_ARM_SOLICITED && ((live0 && solicited[0]) || (live1 && solicited[1]))));
    wire [IDX_W:0] mcnt_sum = {1'b0, state[ST_DUE] ? mcnt : {IDX_W{1'b0}}} + {1'b0, live_ext};

    wire is_publish = op == `CDE_TRC_PUBLISH;
    wire is_error = op == `CDE_TRC_CQ_ERROR;
    wire is_event_failed = op == `CDE_TRC_EVENT_FAILED;
    wire is_overflow = is_error && status == `CDE_CQST_BUFFER_OVERFLOW;
    assign publishing = ready && !state[ST_FROZEN];
    wire publish = is_publish && publishing;
    // Every error of the CQ satisfies an arm of any type (CQ-08); the first one names the status. Answers to entries behind a
    // hole are no news any more.
    wire fail = is_overflow || (is_error && publishing) || is_event_failed;
    wire becomes_due = ((publish && trigger) || (fail && armed)) && !state[ST_DUE];

    reg [ST_W-1:0] next;

    always @* begin
        next = state;
        if (is_publish || is_error) begin
            next[ST_ACKP +: IDX_W] = state[ST_ACKP +: IDX_W] + {{(IDX_W-2){1'b0}}, count};
        end
        if (publish) begin
            next[ST_PROD +: IDX_W] = prod + {{(IDX_W-2){1'b0}}, count};
            if (live1 && solicited[1]) begin
                next[ST_SOLP +: IDX_W] = prod + ONE + ONE;
            end else if (live0 && solicited[0]) begin
                next[ST_SOLP +: IDX_W] = prod + ONE;
            end
            if (trigger || state[ST_DUE]) begin
                next[ST_MCNT +: IDX_W] = mcnt_sum[IDX_W] ? MCNT_MAX : mcnt_sum[IDX_W-1:0];
            end
        end
        if (fail && no_error) begin
            next[ST_ERR +: 2] = is_error ? status : `CDE_CQST_INTERNAL_ERROR;
        end
        // The ring has a hole behind a failed entry even if the CQ was in error before.
        if (fail && !is_overflow) begin
            next[ST_FROZEN] = 1'b1;
        end
        if (becomes_due) begin
            next[ST_DUE] = 1'b1;
            next[ST_TDUE +: TICK_W] = now;
        end
        if (op == `CDE_TRC_EVENT_DONE || (is_event_failed && give_up)) begin
            next[ST_EQE] = 1'b0;
        end
        if (is_event_failed && give_up) begin
            next[ST_BUSY] = 1'b0;
        end
    end

    cde_arm_call #(.IDX_W(IDX_W), .ST_BITS(ST_BITS), .CF_BITS(CF_BITS)) call_i (
        .state(next),
        .settings(settings),
        .now(now),
        .result(result),
        .call(call)
    );

endmodule

`default_nettype wire
