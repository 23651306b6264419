// SPDX-License-Identifier: Apache-2.0
// cde_arm_db: effect of a doorbell or of a control step on one CQ's arm state.
//
// Purpose: consumer index and arm in one step (CQ-09, CQ-10, CQ-10a, CQ-12, CQ-14, CQ-22), callback return (CQ-11),
//          release by moderation (CQ-21), creation and destruction (CQ-20); finds the dynamic causes of refusal.
// Ports:   operation and operands, state in, settings, time; cause; state out (unchanged when refused) and the callback called.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_db #(
    parameter IDX_W = 16,
    parameter ST_BITS = 126,
    parameter CF_BITS = 56
) (
    input  wire [7:0]         op,          // CDE_TRC_DOORBELL, _CB_RETURN, _MODERATION, _CREATE, _DESTROY; others: no effect
    input  wire               from_host,   // checks ownership and life
    input  wire [11:0]        page,        // page of the write
    input  wire [IDX_W-1:0]   index,       // DOORBELL: consumer index; DESTROY: allocated index
    input  wire               arm,
    input  wire [1:0]         arm_type,
    input  wire [IDX_W-1:0]   written,     // index behind the last entry accepted by memory
    input  wire [ST_BITS-1:0] state,
    input  wire [CF_BITS-1:0] settings,
    input  wire [17:0]        now,
    output reg  [7:0]         cause,       // 0 = accepted
    output wire [ST_BITS-1:0] result,
    output wire               call
);

`include "cde_arm_state.vh"

    wire [1:0]       life = state[ST_LIFE +: 2];
    wire [IDX_W-1:0] prod = state[ST_PROD +: IDX_W];
    wire [IDX_W-1:0] cons = state[ST_CONS +: IDX_W];
    wire [IDX_W-1:0] mark = state[ST_MARK +: IDX_W];
    wire [IDX_W-1:0] solp = state[ST_SOLP +: IDX_W];

    wire is_doorbell = op == `CDE_TRC_DOORBELL;
    wire is_return = op == `CDE_TRC_CB_RETURN;
    wire [IDX_W-1:0] advance = index - cons;
    wire [IDX_W-1:0] room = written - cons;

    always @* begin
        cause = 8'h00;
        if (from_host) begin
            if (life == `CDE_LIFE_FREE) cause = `CDE_CAUSE_NO_CQ;
            else if (settings[CF_PAGE +: 12] != page) cause = `CDE_CAUSE_NOT_OWNER;
            else if (is_doorbell && life != `CDE_LIFE_READY) cause = `CDE_CAUSE_CQ_DESTROYING;
            else if (is_doorbell && advance > room) cause = `CDE_CAUSE_BAD_INDEX;
            else if (is_return && !state[ST_BUSY]) cause = `CDE_CAUSE_NO_CALLBACK;
        end
    end

    wire ok = cause == 8'h00;

    // Consumer index first, then the arm.
    wire [IDX_W-1:0] mark_lead = mark - index;         // negative: the index passes the mark
    wire [IDX_W-1:0] mark_d = mark_lead[IDX_W-1] ? index : mark;
    wire [IDX_W-1:0] solp_lead = solp - index;
    wire [IDX_W-1:0] solp_d = solp_lead[IDX_W-1] ? index : solp;

    // CQ-12: maximum in ERRORS < SOLICITED < ANY; the public codes are not in that order.
    wire [1:0] old_type = state[ST_ARMED] ? state[ST_TYPE +: 2] : `CDE_ARM_ERRORS;
    wire any = old_type == `CDE_ARM_ANY || arm_type == `CDE_ARM_ANY;
    wire sol = old_type == `CDE_ARM_SOLICITED || arm_type == `CDE_ARM_SOLICITED;
    wire [1:0] merged = any ? `CDE_ARM_ANY : sol ? `CDE_ARM_SOLICITED : `CDE_ARM_ERRORS;

    wire [IDX_W-1:0] fresh = prod - mark_d;            // new completions, when positive
    wire fresh_any = !fresh[IDX_W-1] && fresh != {IDX_W{1'b0}};
    wire fresh_sol = solp_d != mark_d;
    wire [IDX_W-1:0] present = prod - index;
    wire old_only = !fresh_any && !present[IDX_W-1] && present != {IDX_W{1'b0}};
    wire satisfied = (settings[CF_TYPED] ? (any ? fresh_any : sol && fresh_sol) : fresh_any) ||
                     (settings[CF_REARM] && old_only);
    wire becomes_due = is_doorbell && arm && satisfied && !state[ST_DUE];

    wire drained = !state[ST_BUSY] && !state[ST_EQE] && state[ST_ACKP +: IDX_W] == index;

    reg [ST_W-1:0] next;

    always @* begin
        next = state;
        if (is_doorbell && ok) begin
            next[ST_CONS +: IDX_W] = index;
            next[ST_MARK +: IDX_W] = mark_d;
            next[ST_SOLP +: IDX_W] = solp_d;
            if (arm) begin
                next[ST_ARMED] = 1'b1;
                next[ST_TYPE +: 2] = merged;
            end
            if (becomes_due) begin
                next[ST_DUE] = 1'b1;
                next[ST_TDUE +: TICK_W] = now;
                next[ST_MCNT +: IDX_W] = fresh_any ? fresh : {IDX_W{1'b0}};
            end
        end
        if (is_return && ok) begin
            next[ST_BUSY] = 1'b0;
        end
        if (op == `CDE_TRC_CREATE) begin
            next = {ST_W{1'b0}};
            next[ST_LIFE +: 2] = `CDE_LIFE_READY;
        end
        if (op == `CDE_TRC_DESTROY) begin
            next[ST_LIFE +: 2] = `CDE_LIFE_DESTROYING;
            next[ST_ARMED] = 1'b0;
            next[ST_TYPE +: 2] = 2'd0;
            next[ST_DUE] = 1'b0;
            next[ST_MATURE] = 1'b0;
            next[ST_MCNT +: IDX_W] = {IDX_W{1'b0}};
            if (drained) next = {ST_W{1'b0}};
        end
    end

    wire [ST_W-1:0] called;
    wire call_raw;

    cde_arm_call #(.IDX_W(IDX_W), .ST_BITS(ST_BITS), .CF_BITS(CF_BITS)) call_i (
        .state(next),
        .settings(settings),
        .now(now),
        .result(called),
        .call(call_raw)
    );

    // A refused write, and a look without effect (query), change nothing.
    wire acts = ok && (is_doorbell || is_return || op == `CDE_TRC_MODERATION ||
                       op == `CDE_TRC_CREATE || op == `CDE_TRC_DESTROY);
    assign result = acts ? called : state;
    assign call = acts && call_raw;

endmodule

`default_nettype wire
