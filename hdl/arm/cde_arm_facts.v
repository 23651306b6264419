// SPDX-License-Identifier: Apache-2.0
// cde_arm_facts: stage Q of the arm pipeline; what two operations mean for callbacks, as far as it does not depend on
// flags.
//
// Purpose: compares indices (CQ-08, CQ-10, CQ-22) and decodes operations and settings, so that the loop of the flags
//          finds single bits. No loop goes through this stage.
// Ports:   both operations, counts and settings of their CQs as stage C left them; facts (cde_arm_facts.vh).
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_facts #(
    parameter IDX_W = 16,
    parameter X_BITS = 68,
    parameter FP_BITS = 7,
    parameter FD_BITS = 19
) (
    input  wire              p_valid,
    input  wire [7:0]        p_op,
    input  wire [1:0]        p_count,
    input  wire [1:0]        p_solicited,
    input  wire [1:0]        p_quiet,       // UNSIGNALLED
    input  wire [1:0]        p_status,
    input  wire              p_give_up,
    input  wire              p_moderated,   // a setting of the CQ
    input  wire [X_BITS-1:0] p_x,
    input  wire [1:0]        p_early,       // entries that were consumed before: one, none
    input  wire [1:0]        p_err,         // status of the CQ after the operation
    output wire              p_open,        // answers to entries have an effect
    output wire [1:0]        p_live,        // first, second entry is published and not consumed already
    output wire [FP_BITS-1:0] p_facts,

    input  wire              d_valid,
    input  wire [7:0]        d_op,
    input  wire              d_clean,       // no cause of refusal found by decoding, and from the owner's page
    input  wire              d_legal,       // consumer index within the legal range
    input  wire              d_arm,
    input  wire [1:0]        d_type,
    input  wire [IDX_W-1:0]  d_index,
    input  wire              d_typed,
    input  wire              d_rearm,
    input  wire              d_moderated,
    input  wire              d_ripe,        // MODERATION: count or interval was reached
    input  wire [X_BITS-1:0] d_x,           // after the publication of this cycle
    output wire [FD_BITS-1:0] d_facts
);

`include "cde_arm_state.vh"
`include "cde_arm_facts.vh"

    localparam [IDX_W-1:0] ZERO = {IDX_W{1'b0}};

    wire unused_x = &{1'b0, p_x, d_x};

    // ---------------------------------------------------------------- publication
    wire is_error = p_op == `CDE_TRC_CQ_ERROR;
    wire is_event_failed = p_op == `CDE_TRC_EVENT_FAILED;
    wire publish = p_valid && p_op == `CDE_TRC_PUBLISH && p_open;

    assign p_open = p_x[X_READY] && !p_x[X_FROZEN];

    // Entries that the host consumed before their acknowledgement trigger nothing (CQ-22).
    assign p_live[0] = publish && p_count != 2'd0 && p_early[0];
    assign p_live[1] = publish && p_count == 2'd2 && p_early != 2'd0;

    // An unsignalled entry satisfies no standing arm; for later arms it is present and new as any other.
    wire [1:0] p_loud = p_live & ~p_quiet;

    assign p_facts[FP_PUBLISH] = publish;
    assign p_facts[FP_FAIL] = p_valid && (is_event_failed || (is_error &&
        (p_status == `CDE_CQST_BUFFER_OVERFLOW || p_open)));
    assign p_facts[FP_ANY] = p_loud != 2'd0;
    assign p_facts[FP_SOL] = (p_loud & p_solicited) != 2'd0;
    assign p_facts[FP_NEW_SOL] = (p_live & p_solicited) != 2'd0;
    assign p_facts[FP_OVER] = p_valid && is_event_failed && p_give_up;
    assign p_facts[FP_PROMPT] = p_valid && (!p_moderated || p_err != `CDE_CQST_OK);

    // ---------------------------------------------------------------- doorbell, control, moderation
    wire [IDX_W-1:0] remain = d_x[X_PROD +: IDX_W] - d_index;
    wire [IDX_W-1:0] sol_remain = d_x[X_SOLP +: IDX_W] - d_index;
    wire present = !remain[IDX_W-1] && remain != ZERO;
    wire sol_remains = !sol_remain[IDX_W-1] && sol_remain != ZERO;

    wire bell = d_valid && d_op == `CDE_TRC_DOORBELL && d_clean && d_x[X_READY] && d_legal;
    wire returns = d_valid && d_op == `CDE_TRC_CB_RETURN && d_clean;
    wire look = d_valid && d_op == `CDE_TRC_MODERATION;
    wire over = d_valid && d_op == `CDE_TRC_EVENT_DONE;
    wire prompt = !d_moderated || d_x[X_ERR +: 2] != `CDE_CQST_OK;
    wire arms = bell && d_arm;

    assign d_facts[FD_BELL] = bell;
    assign d_facts[FD_ARM] = arms;
    assign d_facts[FD_TYPE +: 2] = d_type;
    assign d_facts[FD_RETURN] = returns;
    assign d_facts[FD_CREATE] = d_valid && d_op == `CDE_TRC_CREATE;
    assign d_facts[FD_DESTROY] = d_valid && d_op == `CDE_TRC_DESTROY;
    assign d_facts[FD_LOOK] = look;
    assign d_facts[FD_SOL] = sol_remains;
    assign d_facts[FD_DONE] = d_x[X_ACKP +: IDX_W] == d_index;
    assign d_facts[FD_OVER] = over;
    assign d_facts[FD_RELEASE] = (bell || look || over) && prompt;
    assign d_facts[FD_RIPE] = look && d_ripe;
    assign d_facts[FD_ENDS] = returns && prompt;
    // Typed reading (CQ-09) asks what the merged arm is for. A new solicited entry is a new entry: that is enough for
    // an arm for any, and untyped.
    assign d_facts[FD_NEW] = arms && present && (!d_typed || d_type == `CDE_ARM_ANY);
    assign d_facts[FD_NEW_ANY] = arms && present;
    assign d_facts[FD_NEW_SOL] = arms && sol_remains && d_type == `CDE_ARM_SOLICITED;
    assign d_facts[FD_SOL_SOL] = arms && sol_remains;
    assign d_facts[FD_OLD] = arms && present && d_rearm;

endmodule

`default_nettype wire
