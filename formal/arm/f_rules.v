// SPDX-License-Identifier: Apache-2.0
// f_rules: proof that what the arm pipeline computes (cde_arm_count, cde_arm_facts, cde_arm_flags, cde_arm_cause) keeps
// the rules of arm_spec.
//
// Purpose: one CQ whose steps follow each other without a pipeline: in each cycle a publication step, a doorbell or
//          control step, or both, chained. arm_pipeline proves that the pipeline gives each step the state that the one
//          before it has left, so both together are the whole of cde_arm. Settings are free in each cycle.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"

module f_rules #(
    parameter IDX_W = 4
) (
    input wire             clk,
    input wire             p_valid,
    input wire [7:0]       p_op,
    input wire [1:0]       p_count,
    input wire [1:0]       p_solicited,
    input wire [1:0]       p_quiet,
    input wire [1:0]       p_status,
    input wire             p_give_up,
    input wire             d_valid,
    input wire [7:0]       d_op,
    input wire [7:0]       d_cause_in,
    input wire             d_owner,
    input wire [IDX_W-1:0] d_index,
    input wire             d_arm,
    input wire [1:0]       d_type,
    input wire             d_ripe,
    input wire             typed,
    input wire             rearm,
    input wire             moderated,
    input wire [1:0]       write            // entries that memory accepts after the steps
);

`include "cde_arm_facts.vh"
`include "cde_arm_state.vh"

    localparam S_W = 12 + 4 * IDX_W + (2 << IDX_W);
    localparam N = 1 << IDX_W;
    localparam [IDX_W-1:0] RING = 1 << (IDX_W - 2), UNDER_WAY = 1 << (IDX_W - 2), HALF = RING + UNDER_WAY;

    reg [X_W-1:0]   x = 0;
    reg [Y_W-1:0]   y = 0;
    reg [IDX_W-1:0] written = 0;
    reg [S_W-1:0]   s = 0;

    // ---------------------------------------------------------------- the design's stages
    wire [X_W-1:0]  p_x_next, d_x_next;
    wire [Y_W-1:0]  p_y_next, d_y_next;
    wire [FP_W-1:0] p_facts;
    wire [FD_W-1:0] d_facts;
    wire [1:0]      unused_live;
    wire [7:0]      cause;
    wire            open, legal, p_call, d_call, unused_p_due, unused_d_due;
    wire            host = d_op == `CDE_TRC_DOORBELL || d_op == `CDE_TRC_CB_RETURN;
    wire            clean = d_cause_in == 8'h00 && d_owner;
    wire [X_W-1:0]  d_x = p_valid ? p_x_next : x, x_next = d_valid ? d_x_next : d_x;
    wire [Y_W-1:0]  d_y = p_valid ? p_y_next : y, y_next = d_valid ? d_y_next : d_y;
    wire            error = p_op == `CDE_TRC_CQ_ERROR;
    wire [10:0]     step = {p_op == `CDE_TRC_PUBLISH || error, p_op == `CDE_TRC_PUBLISH, error,
                            error && p_status == `CDE_CQST_BUFFER_OVERFLOW, p_op == `CDE_TRC_EVENT_FAILED, p_count,
                                p_solicited, p_status};
    wire            acts = d_facts[FD_BELL] || (d_facts[FD_RETURN] &&
        d_y[Y_BUSY]) || d_facts[FD_CREATE] || d_facts[FD_DESTROY] || d_facts[FD_LOOK] || d_facts[FD_OVER];
    wire            freed = d_facts[FD_DESTROY] && !d_y_next[Y_EXISTS];

    wire [1:0]      early;

    cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W)) count_i (
        .p_step(step), .p_x(x), .p_x_next(p_x_next), .p_early(early), .d_before(step & {11{p_valid}}),
        .d_bell(d_op == `CDE_TRC_DOORBELL),
        .d_create(d_op == `CDE_TRC_CREATE), .d_destroy(d_op == `CDE_TRC_DESTROY), .d_clean(clean),
        .d_index(d_index), .d_written(written),
        .d_x_mem(x), .d_x_next(d_x_next), .d_legal(legal)
    );

    cde_arm_facts #(.IDX_W(IDX_W), .X_BITS(X_W)) facts_i (
        .p_valid(p_valid), .p_op(p_op), .p_count(p_count), .p_solicited(p_solicited), .p_quiet(p_quiet),
        .p_status(p_status),
        .p_give_up(p_give_up), .p_moderated(moderated), .p_x(x), .p_early(early), .p_err(p_x_next[X_ERR +: 2]),
        .p_open(open),
        .p_live(unused_live),
        .p_facts(p_facts), .d_valid(d_valid), .d_op(d_op), .d_clean(clean), .d_legal(legal), .d_arm(d_arm),
        .d_type(d_type), .d_index(d_index),
        .d_typed(typed), .d_rearm(rearm), .d_moderated(moderated), .d_ripe(d_ripe), .d_x(d_x), .d_facts(d_facts)
    );

    cde_arm_flags #(.Y_BITS(Y_W)) flags_i (
        .p_facts(p_facts), .p_y(y), .p_y_next(p_y_next), .p_call(p_call), .p_becomes_due(unused_p_due),
        .d_before(p_facts), .d_facts(d_facts),
        .d_y_mem(y), .d_y_next(d_y_next), .d_call(d_call), .d_becomes_due(unused_d_due)
    );

    cde_arm_cause cause_i (
        .bell(d_op == `CDE_TRC_DOORBELL), .cause_in(d_cause_in), .exists(d_y[Y_EXISTS]), .owner(d_owner),
        .ready(d_x[X_READY]), .legal(legal),
        .busy(d_y[Y_BUSY]), .cause(cause)
    );

    // ---------------------------------------------------------------- the specification
    wire [S_W-1:0] s_mid, s_next;
    wire           s_p_call, s_d_call, s_p_traced, s_d_traced;
    wire [7:0]     unused_cause, s_cause;

    arm_spec #(.IDX_W(IDX_W)) publication (
        .s(s), .n(s_mid), .valid(p_valid), .op(p_op), .count(p_count), .solicited(p_solicited), .quiet(p_quiet),
        .status(p_status),
        .give_up(p_give_up), .host(1'b0), .cause_in(8'h00), .owner(1'b1), .index({IDX_W{1'b0}}), .arm(1'b0),
        .arm_type(2'd0),
        .written({IDX_W{1'b0}}), .typed(1'b0), .rearm(1'b0), .moderated(moderated), .let_pass(1'b0),
        .call(s_p_call), .cause(unused_cause), .traced(s_p_traced)
    );

    arm_spec #(.IDX_W(IDX_W)) doorbell (
        .s(s_mid), .n(s_next), .valid(d_valid), .op(d_op), .count(2'd0), .solicited(2'd0), .quiet(2'd0),
        .status(2'd0), .give_up(1'b0),
        .host(host), .cause_in(d_cause_in), .owner(d_owner), .index(d_index), .arm(d_arm), .arm_type(d_type),
        .written(written),
        .typed(typed), .rearm(rearm), .moderated(moderated), .let_pass(d_ripe), .call(s_d_call), .cause(s_cause),
        .traced(s_d_traced)
    );

    wire [1:0]       life = s[1:0], n_life = s_next[1:0];
    wire [IDX_W-1:0] prod = s[12 +: IDX_W], cons = s[12+IDX_W +: IDX_W], mark = s[12+2*IDX_W +: IDX_W],
        done = s[12+3*IDX_W +: IDX_W];
    wire [N-1:0]     is_new = s[12+4*IDX_W +: N], is_sol = s[12+4*IDX_W+N +: N];
    wire [IDX_W-1:0] n_prod = s_next[12 +: IDX_W], n_cons = s_next[12+IDX_W +: IDX_W],
        n_done = s_next[12+3*IDX_W +: IDX_W];
    wire             create = d_valid && d_op == `CDE_TRC_CREATE;
    wire [IDX_W-1:0] w_next = create ? 0 : written + write;

    always @(posedge clk) begin
        {x, y, s} <= {x_next, y_next, s_next};
        written <= w_next;
    end

    // ---------------------------------------------------------------- environment
    wire entries = p_valid && (p_op == `CDE_TRC_PUBLISH || (p_op == `CDE_TRC_CQ_ERROR &&
        p_status == `CDE_CQST_INTERNAL_ERROR));
    wire [IDX_W-1:0] unanswered = written - done;
    wire [IDX_W-1:0] w_answered = w_next - n_done, w_ring = w_next - n_cons, w_lead = w_next - n_prod;
    always @* begin
        if (p_valid) begin
            assume (p_op == `CDE_TRC_PUBLISH || p_op == `CDE_TRC_CQ_ERROR || p_op == `CDE_TRC_EVENT_FAILED);
            if (entries) assume ((p_count == 2'd1 || p_count == 2'd2) && p_count <= unanswered &&
                life != `CDE_LIFE_FREE);
            else assume (p_count == 2'd0);
            if (p_op == `CDE_TRC_CQ_ERROR) assume (p_status == `CDE_CQST_INTERNAL_ERROR ||
                (p_status == `CDE_CQST_BUFFER_OVERFLOW && life != `CDE_LIFE_FREE));
            if (p_op == `CDE_TRC_EVENT_FAILED) assume (s[11]);
        end
        if (d_valid) begin
            assume (host || d_op == `CDE_TRC_CREATE || d_op == `CDE_TRC_DESTROY || d_op == `CDE_TRC_MODERATION ||
                d_op == `CDE_TRC_EVENT_DONE);
            // Memory has one answer for an event that is on its way.
            if (d_op == `CDE_TRC_EVENT_DONE) assume (s[11] && !(p_valid && p_op == `CDE_TRC_EVENT_FAILED));
            if (!host) assume (d_cause_in == 8'h00);
            if (d_cause_in == 8'h00) assume (d_type != 2'd3);
            if (d_op == `CDE_TRC_CREATE) assume (life == `CDE_LIFE_FREE);
            if (d_op == `CDE_TRC_DESTROY) assume (life != `CDE_LIFE_FREE && d_index == written);
        end
        assume (write <= 2);
        if (write != 0) assume (life == `CDE_LIFE_READY && n_life == `CDE_LIFE_READY && w_answered <= UNDER_WAY &&
            w_ring <= RING && w_lead <= HALF);
    end

    // ---------------------------------------------------------------- the rules
    wire p_entries_only = p_op == `CDE_TRC_PUBLISH || (p_op == `CDE_TRC_CQ_ERROR &&
        p_status == `CDE_CQST_INTERNAL_ERROR);
    always @(posedge clk) begin
        if (p_valid) begin
            publication_calls: assert (p_call == s_p_call);
            publication_counts: assert ((!p_entries_only || open) == s_p_traced);
        end
        if (d_valid) begin
            doorbell_calls: assert (d_call == s_d_call);
            doorbell_causes: assert (!host || cause == s_cause);
            doorbell_acts: assert (acts == s_d_traced);
            freed_when_idle: assert (!acts || freed == (d_op == `CDE_TRC_DESTROY && n_life == `CDE_LIFE_FREE));
        end
        // CQ-06, CQ-11: said once more, of the design alone
        call_takes_an_arm: assert (!(d_valid && d_call) || (y_next[Y_BUSY] && !y_next[Y_ARMED] && !y_next[Y_DUE] &&
            (!d_y[Y_EQE] || d_facts[FD_OVER]) || p_valid));
        never_two_calls: assert (!(p_valid && p_call && d_valid && d_call));
        called_when_possible: assert (!(y[Y_MATURE] && !y[Y_BUSY] && !y[Y_EQE]));
    end

    // ------------------------------------------------ invariants: the design's encoding of the specification's state
    wire [IDX_W-1:0] ahead = prod - cons, behind = cons - prod, newer = prod - mark, mark_cons = mark - cons,
        last = prod - 1'b1;
    wire             some = ahead != 0 && !ahead[IDX_W-1];
    wire [IDX_W-1:0] solp = x[X_SOLP +: IDX_W], solp_1 = solp - 1'b1, sol_new = solp - mark, in_ring = written - cons,
        in_lead = written - prod;
    reg              table_ok, sol_ok;
    reg [IDX_W-1:0]  at, left, from_mark, to_sol;
    integer          j;

    always @* begin
        table_ok = 1'b1;
        sol_ok = 1'b1;
        for (j = 0; j < (1 << (IDX_W - 2)); j = j + 1) begin
            at = cons + j;
            left = prod - at;
            from_mark = at - mark;
            to_sol = solp - at;
            if (some && left != 0 && !left[IDX_W-1]) begin
                if (is_new[at] != (from_mark < RING)) table_ok = 1'b0;
                if (is_new[at] && is_sol[at] && (!y[Y_SOL] || to_sol > RING || to_sol == 0)) sol_ok = 1'b0;
            end
        end
        if (y[Y_SOL] && !(some && sol_new <= newer && sol_new != 0 && is_new[solp_1] && is_sol[solp_1])) sol_ok = 1'b0;
    end

    always @(posedge clk) begin
        if (life == `CDE_LIFE_FREE) begin
            i_free: assert (y == 0 && !x[X_READY] && s[11:5] == 7'd0 && unanswered == 0);
        end else begin
            i_flags: assert (y[Y_EXISTS] &&
                {y[Y_EQE], y[Y_MATURE], y[Y_DUE], y[Y_BUSY], y[Y_TYPE +: 2], y[Y_ARMED]} == s[11:5]);
            i_counts: assert (x[X_READY] == (life == `CDE_LIFE_READY) && x[X_FROZEN] == s[4] &&
                x[X_ERR +: 2] == s[3:2]);
            i_index: assert (x[X_PROD +: IDX_W] == prod && x[X_CONS +: IDX_W] == cons && x[X_ACKP +: IDX_W] == done);
            i_since: assert (!some || y[Y_SINCE] == is_new[last]);
            i_table: assert (table_ok);
            i_sol: assert (sol_ok);
            i_mark: assert (some ? mark_cons <= ahead : mark_cons == 0);
            i_window: assert (some ? ahead <= RING : behind <= (s[4] ? HALF : UNDER_WAY));
            i_error: assert (s[3:2] != 2'd3 && (!s[4] || s[3:2] != 0) && !(s[9] && s[3:2] != 0 && !s[10]));
            i_under_way: assert (unanswered <= UNDER_WAY);
            if (life == `CDE_LIFE_READY) i_written: assert (in_ring <= RING &&
                in_lead <= (s[4] ? HALF : UNDER_WAY) && (s[4] || prod == done));
        end
        i_life: assert (life != 2'd3 && (life == `CDE_LIFE_READY || !s[5]));
        i_arm: assert ((s[5] || s[7:6] == 0) && s[7:6] != 2'd3 && (!s[9] || s[5]) && (!s[10] || s[9]) && !(s[10] &&
            !s[8] && !s[11]));
    end

    // ---------------------------------------------------------------- every arm state is reached
    always @(posedge clk) begin
        c_armed_errors: cover (y[Y_ARMED] && y[Y_TYPE +: 2] == `CDE_ARM_ERRORS && !y[Y_BUSY]);
        c_armed_any: cover (y[Y_ARMED] && y[Y_TYPE +: 2] == `CDE_ARM_ANY && !y[Y_BUSY]);
        c_armed_solicited: cover (y[Y_ARMED] && y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED && !y[Y_BUSY]);
        c_armed_while_running: cover (y[Y_ARMED] && y[Y_BUSY] && !y[Y_DUE]);
        c_armed_while_eqe: cover (y[Y_ARMED] && !y[Y_BUSY] && y[Y_EQE]);
        c_due_behind_running: cover (y[Y_MATURE] && y[Y_BUSY] && !y[Y_EQE]);
        c_due_behind_eqe: cover (y[Y_MATURE] && !y[Y_BUSY] && y[Y_EQE]);
        c_due_behind_both: cover (y[Y_MATURE] && y[Y_BUSY] && y[Y_EQE]);
        c_due_moderated: cover (y[Y_DUE] && !y[Y_MATURE]);
        c_released_by_return: cover (d_valid && d_call && d_op == `CDE_TRC_CB_RETURN);
        c_released_by_answer: cover (d_valid && d_call && d_op == `CDE_TRC_EVENT_DONE);
        c_released_by_giving_up: cover (p_valid && p_call && p_op == `CDE_TRC_EVENT_FAILED);
        c_released_by_timer: cover (d_valid && d_call && d_op == `CDE_TRC_MODERATION);
        c_called_by_entry: cover (p_valid && p_call && p_op == `CDE_TRC_PUBLISH);
        c_called_by_error: cover (p_valid && p_call && p_op == `CDE_TRC_CQ_ERROR);
        c_called_by_arm: cover (d_valid && d_call && d_op == `CDE_TRC_DOORBELL && !y[Y_ARMED]);
        c_called_by_merged_arm: cover (d_valid && d_call && d_op == `CDE_TRC_DOORBELL && y[Y_ARMED]);
        c_arm_on_old_stays: cover (d_valid && d_op == `CDE_TRC_DOORBELL && acts && d_arm && some && !d_call &&
            !y[Y_BUSY] && !y[Y_EQE] && !moderated);
        c_consumed_early: cover (behind == 2 && life == `CDE_LIFE_READY);
        c_destroyed_while_running: cover (life == `CDE_LIFE_DESTROYING && y[Y_BUSY]);
    end

endmodule

`default_nettype wire
