// SPDX-License-Identifier: Apache-2.0
// cde_arm_flags: stage F of the arm pipeline; arms, dues and callbacks of one or two CQs.
//
// Purpose: CQ-06 to CQ-14: merge, new-since-callback rule, one callback at a time, deferred callback; causes of refusal that depend on state.
//          Single bits only, so that two chained steps fit into one cycle. "Clear the arm and call" happens in one function.
// Ports:   both operations with the facts of stage C, the flags of their CQs; new flags, callbacks, cause.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_flags #(
    parameter Y_BITS = 10
) (
    input  wire [7:0]        p_op,
    input  wire [1:0]        p_live,
    input  wire [1:0]        p_solicited,
    input  wire [1:0]        p_quiet,       // UNSIGNALLED
    input  wire              p_publish,
    input  wire              p_fail,
    input  wire              p_give_up,
    input  wire              p_prompt,      // not moderated, or in error
    input  wire [Y_BITS-1:0] p_y,
    output wire [Y_BITS-1:0] p_y_next,
    output wire              p_call,
    output wire              p_becomes_due,

    input  wire              chained,
    input  wire [7:0]        d_op,
    input  wire              d_host,
    input  wire [7:0]        d_cause_in,    // found by decoding
    input  wire              d_owner,
    input  wire              d_ready,       // life is READY
    input  wire              d_legal,
    input  wire              d_arm,
    input  wire [1:0]        d_type,
    input  wire              d_present,
    input  wire              d_sol_remains,
    input  wire              d_answered,
    input  wire              d_typed,
    input  wire              d_rearm,
    input  wire              d_prompt,
    input  wire              d_ripe,        // MODERATION: count or interval was reached
    input  wire [Y_BITS-1:0] d_y_mem,
    output wire [Y_BITS-1:0] d_y,           // before, after publication of this cycle
    output wire [Y_BITS-1:0] d_y_next,
    output reg  [7:0]        d_cause,
    output wire              d_acts,
    output wire              d_call,
    output wire              d_becomes_due,
    output wire              d_freed
);

    localparam IDX_W = 4;       // the layout's index fields are not used here
`include "cde_arm_state.vh"

    // The one place where an arm is cleared and the callback is called (CQ-07).
    function [Y_W:0] settle;
        input [Y_W-1:0] y;
        input           release_now;
        begin
            settle = {1'b0, y};
            settle[Y_MATURE] = y[Y_DUE] && (y[Y_MATURE] || release_now);
            if (settle[Y_MATURE] && !y[Y_BUSY] && !y[Y_EQE]) begin
                settle = {(Y_W + 1){1'b0}};
                settle[Y_EXISTS] = y[Y_EXISTS];
                settle[Y_BUSY] = 1'b1;
                settle[Y_EQE] = 1'b1;
                settle[Y_W] = 1'b1;
            end
        end
    endfunction

    // ---------------------------------------------------------------- publication
    // An unsignalled entry satisfies no standing arm; for later arms it is present and new as any other.
    wire [1:0] p_loud = p_live & ~p_quiet;
    wire p_any = p_loud != 2'd0;
    wire p_sol = (p_loud & p_solicited) != 2'd0;
    wire p_trigger = (p_y[Y_TYPE +: 2] == `CDE_ARM_ANY && p_any) || (p_y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED && p_sol);
    wire p_satisfied = p_y[Y_ARMED] && (p_trigger || p_fail);
    wire p_over = p_op == `CDE_TRC_EVENT_DONE || (p_op == `CDE_TRC_EVENT_FAILED && p_give_up);
    reg [Y_W-1:0] p_mid;

    assign p_becomes_due = p_satisfied && !p_y[Y_DUE];

    always @* begin
        p_mid = p_y;
        p_mid[Y_SINCE] = p_y[Y_SINCE] || p_publish;
        p_mid[Y_SOL] = p_y[Y_SOL] || (p_live & p_solicited) != 2'd0;
        p_mid[Y_DUE] = p_y[Y_DUE] || p_satisfied;
        if (p_over) p_mid[Y_EQE] = 1'b0;
    end

    assign {p_call, p_y_next} = settle(p_mid, p_prompt);

    // ---------------------------------------------------------------- doorbell, control, moderation
    assign d_y = chained ? p_y_next : d_y_mem;

    wire is_doorbell = d_op == `CDE_TRC_DOORBELL;
    wire is_return = d_op == `CDE_TRC_CB_RETURN;
    wire is_create = d_op == `CDE_TRC_CREATE;
    wire is_destroy = d_op == `CDE_TRC_DESTROY;
    wire is_moderation = d_op == `CDE_TRC_MODERATION;

    always @* begin
        d_cause = d_cause_in;
        if (d_host && d_cause_in == 8'h00) begin
            if (!d_y[Y_EXISTS]) d_cause = `CDE_CAUSE_NO_CQ;
            else if (!d_owner) d_cause = `CDE_CAUSE_NOT_OWNER;
            else if (is_doorbell && !d_ready) d_cause = `CDE_CAUSE_CQ_DESTROYING;
            else if (is_doorbell && !d_legal) d_cause = `CDE_CAUSE_BAD_INDEX;
            else if (is_return && !d_y[Y_BUSY]) d_cause = `CDE_CAUSE_NO_CALLBACK;
        end
    end

    wire d_ok = d_cause == 8'h00;
    assign d_acts = d_ok && (is_doorbell || is_return || is_create || is_destroy || is_moderation);

    // CQ-12: maximum in ERRORS < SOLICITED < ANY; the public codes are not in that order. Not armed reads as ERRORS.
    wire any = d_y[Y_TYPE +: 2] == `CDE_ARM_ANY || d_type == `CDE_ARM_ANY;
    wire sol = d_y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED || d_type == `CDE_ARM_SOLICITED;
    wire [1:0] merged = any ? `CDE_ARM_ANY : sol ? `CDE_ARM_SOLICITED : `CDE_ARM_ERRORS;

    wire fresh = d_present && d_y[Y_SINCE];
    wire fresh_sol = d_sol_remains && d_y[Y_SOL];
    wire d_satisfied = (d_typed ? (any ? fresh : sol && fresh_sol) : fresh) || (d_rearm && d_present && !fresh);
    wire d_arms = is_doorbell && d_ok && d_arm;
    reg [Y_W-1:0] d_mid;

    assign d_becomes_due = d_arms && d_satisfied && !d_y[Y_DUE];
    assign d_freed = is_destroy && d_answered && !d_y[Y_BUSY] && !d_y[Y_EQE];

    always @* begin
        d_mid = d_y;
        if (is_doorbell && d_ok) d_mid[Y_SOL] = fresh_sol;
        if (d_arms) begin
            d_mid[Y_ARMED] = 1'b1;
            d_mid[Y_TYPE +: 2] = merged;
            d_mid[Y_DUE] = d_y[Y_DUE] || d_satisfied;
        end
        if (is_return && d_ok) d_mid[Y_BUSY] = 1'b0;
        if (is_create) begin
            d_mid = {Y_W{1'b0}};
            d_mid[Y_EXISTS] = 1'b1;
        end
        if (is_destroy) begin
            d_mid[Y_ARMED] = 1'b0;
            d_mid[Y_TYPE +: 2] = 2'd0;
            d_mid[Y_DUE] = 1'b0;
            d_mid[Y_MATURE] = 1'b0;
            if (d_freed) d_mid = {Y_W{1'b0}};
        end
    end

    wire [Y_W:0] d_settled = settle(d_mid, d_prompt || (is_moderation && d_ripe));
    assign d_y_next = d_acts ? d_settled[Y_W-1:0] : d_y;
    assign d_call = d_acts && d_settled[Y_W];

endmodule

`default_nettype wire
