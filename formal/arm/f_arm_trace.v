// SPDX-License-Identifier: Apache-2.0
// f_arm_trace: proof that the trace records of the arm pipeline are what arm_spec says of its operations.
//
// Purpose: cde_arm with any operations of any CQs; one of them is watched. Its monitor has the rules' table and
//          pointers (arm_spec) and sees records of lanes 1 and 2 alone: where each begins, what it does, where it ends.
//          The trace does not tell whether moderation holds a callback back in a step: that comes from the settings.
//          With it go the watched CQ's operations, late by the pipeline's latency: they say which records must be
//          there, with which operands, and what the neighbours may do (as in f_rules), judged by the monitor's table.
//          Settings and written index are those of SEEN cycles after an operation was accepted.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_arm_trace
`include "arm_env.vh"

    localparam S_W = 12 + 4 * IDX_W + (2 << IDX_W);
    localparam [IDX_W-1:0] RING = 1 << (IDX_W - 2), UNDER_WAY = 1 << (IDX_W - 2), HALF = RING + UNDER_WAY;
    localparam CF_PAGE = IDX_W + 28;

    (* hierconn *) wire [CQ_W-1:0] \dut.f_cq ;
    wire [CQ_W-1:0] cq = \dut.f_cq ;      // any one CQ

    // ---------------------------------------------------------------- the monitor: records of the watched CQ
    wire [255:0] r1 = trace_data[255:0], r2 = trace_data[511:256];
    wire         on1 = up && trace_valid[0] && r1[`CDE_TRACE_CQ_LSB +: 16] == cq;
    wire         on2 = up && trace_valid[1] && r2[`CDE_TRACE_CQ_LSB +: 16] == cq;
    wire [7:0]   op1 = r1[`CDE_TRACE_OP_LSB +: 8], op2 = r2[`CDE_TRACE_OP_LSB +: 8];
    wire         called1 = r1[`CDE_TRACE_EVENT_LSB], called2 = r2[`CDE_TRACE_EVENT_LSB];
    wire [31:0]  args1 = r1[`CDE_TRACE_OPERAND_LSB +: 32], args2 = r2[`CDE_TRACE_OPERAND_LSB +: 32];
    wire [95:0]  old1 = r1[`CDE_TRACE_OLD_LSB +: 96], old2 = r2[`CDE_TRACE_OLD_LSB +: 96];
    wire [95:0]  new1 = r1[`CDE_TRACE_NEW_LSB +: 96], new2 = r2[`CDE_TRACE_NEW_LSB +: 96];

    reg  [S_W-1:0] s = 0;                   // the table after the records so far
    reg  [95:0]    last = 96'd0;            // the state that the record before has left
    reg            typed = 1'b0, rearm = 1'b0;
    wire           moderated;               // setting of the steps of this cycle's records
    wire [S_W-1:0] s_mid, s_next;
    wire           call1, call2, traced1, traced2;
    wire [7:0]     cause1, cause2;
    wire [95:0]    mid = on1 ? new1 : last;
    wire           create = on2 && op2 == `CDE_TRC_CREATE;

    arm_spec #(.IDX_W(IDX_W)) publication (
        .s(s), .n(s_mid), .valid(on1), .op(op1),
        .count(op1 == `CDE_TRC_PUBLISH ? args1[`CDE_TRC_PUBLISH_COUNT_LSB +: 2]
                                       : args1[`CDE_TRC_CQ_ERROR_COUNT_LSB +: 2]),
        .solicited(args1[`CDE_TRC_PUBLISH_SOLICITED_LSB +: 2]), .quiet(args1[`CDE_TRC_PUBLISH_UNSIGNALLED_LSB +: 2]),
        .status(args1[`CDE_TRC_CQ_ERROR_STATUS_LSB +: 2]), .give_up(args1[`CDE_TRC_EVENT_FAILED_GIVE_UP_LSB]),
        .host(1'b0), .cause_in(8'h00), .owner(1'b1), .index({IDX_W{1'b0}}),
        .arm(1'b0), .arm_type(2'd0),
        .written({IDX_W{1'b0}}), .typed(1'b0), .rearm(1'b0), .moderated(moderated), .let_pass(1'b0), .call(call1),
        .cause(cause1), .traced(traced1)
    );

    // A doorbell that has a record was accepted: its index was legal. What was answered decides about the end of a CQ:
    // the record says how.
    wire             freed = args2[`CDE_TRC_DESTROY_FREED_LSB], arms = args2[`CDE_TRC_DOORBELL_ARM_LSB];
    wire [IDX_W-1:0] index = args2[`CDE_TRC_DOORBELL_INDEX_LSB +: IDX_W];
    wire [IDX_W-1:0] answered = s_mid[12+3*IDX_W +: IDX_W];
    arm_spec #(.IDX_W(IDX_W)) doorbell (
        .s(s_mid), .n(s_next), .valid(on2), .op(op2), .count(2'd0), .solicited(2'd0), .quiet(2'd0), .status(2'd0),
        .give_up(1'b0), .host(1'b1), .cause_in(8'h00),
        .owner(1'b1), .index(op2 == `CDE_TRC_DESTROY ? (freed ? answered : answered + 1'b1) : index),
        .arm(arms), .arm_type(args2[`CDE_TRC_DOORBELL_ARM_TYPE_LSB +: 2]), .written(index),
        .typed(typed), .rearm(rearm), .moderated(moderated), .let_pass(1'b1), .call(call2),
        .cause(cause2), .traced(traced2)
    );
    wire [95:0]    last_next = on2 ? new2 : mid;
    wire           typed_next = create ? args2[`CDE_TRC_CREATE_TYPED_LSB] : typed;
    wire           rearm_next = create ? args2[`CDE_TRC_CREATE_REARM_LSB] : rearm;

    always @(posedge clk) {s, last, typed, rearm} <= {s_next, last_next, typed_next, rearm_next};

    // The state as the trace port shows it; what moderation counts is not the rules'
    function [79:0] shown;
        input [S_W-1:0] t;
        reg [1:0]       life, err, kind;
        reg             frozen, armed, busy, due, released, eqe;
        reg [IDX_W-1:0] prod, cons, mark, done, at, new_rows, newest;
        reg [(1<<IDX_W)-1:0] is_new, is_sol;
        integer         i;
        begin
            {is_sol, is_new, done, mark, cons, prod, eqe, released, due, busy, kind, armed, frozen, err, life} = t;
            // Index after the newest row of the solicited class that the last callback did not see and the host has
            // not consumed
            newest = mark;
            new_rows = prod - mark;
            for (i = 0; i < RING; i = i + 1) begin
                at = mark + i;
                if (!new_rows[IDX_W-1] && i < new_rows && is_sol[at]) newest = at + 1'b1;
            end
            shown = 80'd0;
            if (life != `CDE_LIFE_FREE) begin
                shown[10:0] = {eqe, released, due, busy, kind, armed, err, life};
                shown[`CDE_STATE_PROD_LSB +: IDX_W] = prod;
                shown[`CDE_STATE_CONS_LSB +: IDX_W] = cons;
                shown[`CDE_STATE_MARK_LSB +: IDX_W] = mark;
                shown[`CDE_STATE_SOL_LSB +: IDX_W] = newest;
            end
        end
    endfunction

    // ---------------------------- operations of the watched CQ, in step with their records
    localparam A_W = 18, B_W = 21 + IDX_W, C_W = 3 + IDX_W, LATE = 7, SEEN = 2;

    reg  [11:0]      page = 0;
    reg  [2:0]       settings = 0;          // moderated, re-arm, typed
    reg  [IDX_W-1:0] written = 0;
    wire             cfg_mine = cfg_we && cfg_cq == cq, wr_mine = wr_we && wr_cq == cq;
    wire [11:0]      page_now = cfg_mine ? cfg_data[CF_PAGE +: 12] : page;
    wire [2:0]       settings_now = cfg_mine ? {|cfg_data[3:2], cfg_data[1:0]} : settings;
    wire [IDX_W-1:0] written_now = wr_mine ? wr_index : written;
    wire             db_take = db_valid && db_ready, ct_take = ct_valid && ct_ready;
    wire             ack_take = ack_valid && ack_ready;

    wire [A_W-1:0] a_in = {pub_valid &&
        pub_cq == cq, pub_quiet, pub_give_up, pub_status, pub_solicited, pub_count, pub_op};
    wire [B_W-1:0] b_in = {db_take ? db_cq == cq : ct_take ? ct_cq == cq : ack_take && ack_cq == cq, db_take, db_arm,
                           db_type, db_take ? db_cause : 8'h00,
                           db_take ? db_op : ct_take ? ct_op : `CDE_TRC_EVENT_DONE, db_take ? db_index : ct_index};
    // Its page is compared when the settings are known.
    reg [11:0]         page_1 = 0, page_2 = 0;
    reg [LATE-SEEN-1:0] o_late = 0;
    reg [LATE*A_W-1:0] a_late = 0;
    reg [LATE*B_W-1:0] b_late = 0;
    reg [(LATE-SEEN)*C_W-1:0] c_late = 0;
    always @(posedge clk) begin
        {page, settings, written} <= {page_now, settings_now, written_now};
        {page_1, page_2} <= {db_page, page_1};
        o_late <= {o_late[0 +: LATE-SEEN-1], page_2 == page_now};
        a_late <= {a_late[0 +: (LATE-1)*A_W], a_in};
        b_late <= {b_late[0 +: (LATE-1)*B_W], b_in};
        c_late <= {c_late[0 +: (LATE-SEEN-1)*C_W], settings_now, written_now};
    end

    wire             p_valid, p_give_up, d_valid, d_host, d_owner, d_arm, set_typed, set_rearm;
    wire [1:0]       p_status, p_quiet, p_solicited, p_count, d_type;
    wire [7:0]       p_op, d_cause, d_op;
    wire [IDX_W-1:0] d_index, w;
    assign {p_valid, p_quiet, p_give_up, p_status, p_solicited, p_count, p_op} = a_late[(LATE-1)*A_W +: A_W];
    assign {d_valid, d_host, d_arm, d_type, d_cause, d_op, d_index} = b_late[(LATE-1)*B_W +: B_W];
    assign d_owner = o_late[LATE-SEEN-1];
    assign {moderated, set_rearm, set_typed, w} = c_late[(LATE-SEEN-1)*C_W +: C_W];

    reg  [IDX_W-1:0] w_before = 0;          // written before this cycle
    reg  [IDX_W-1:0] done = 0;              // answered by memory, with or without a record
    wire [IDX_W-1:0] done_mid = p_valid ? done + p_count : done;
    wire             begins = d_valid && d_op == `CDE_TRC_CREATE;
    wire [IDX_W-1:0] done_next = begins ? 0 : done_mid;
    reg              was_typed = 1'b0, was_rearm = 1'b0;
    wire             was_typed_next = begins ? set_typed : was_typed, was_rearm_next = begins ? set_rearm : was_rearm;
    always @(posedge clk) {w_before, done, was_typed, was_rearm} <= {w, done_next, was_typed_next, was_rearm_next};

    // Which of them have a record, by the rules
    wire [S_W-1:0] unused_state, s_asked;
    wire           want1, want2, unused_call1, unused_call2;
    wire [7:0]     unused_cause, cause;
    arm_spec #(.IDX_W(IDX_W)) answer (
        .s(s), .n(unused_state), .valid(p_valid), .op(p_op), .count(p_count), .solicited(p_solicited),
        .quiet(p_quiet), .status(p_status),
        .give_up(p_give_up), .host(1'b0), .cause_in(8'h00), .owner(1'b1), .index({IDX_W{1'b0}}), .arm(1'b0),
        .arm_type(2'd0),
        .written({IDX_W{1'b0}}), .typed(1'b0), .rearm(1'b0), .moderated(moderated), .let_pass(1'b0),
        .call(unused_call1), .cause(unused_cause), .traced(want1)
    );
    arm_spec #(.IDX_W(IDX_W)) request (
        .s({s_mid[S_W-1:12+4*IDX_W], done_mid, s_mid[12+3*IDX_W-1:0]}), .n(s_asked), .valid(d_valid), .op(d_op),
        .count(2'd0), .solicited(2'd0), .quiet(2'd0),
        .status(2'd0), .give_up(1'b0), .host(d_host), .cause_in(d_cause), .owner(d_owner), .index(d_index),
        .arm(d_arm), .arm_type(d_type), .written(w),
        .typed(set_typed), .rearm(set_rearm), .moderated(moderated), .let_pass(1'b0), .call(unused_call2),
        .cause(cause), .traced(want2)
    );
    wire [31:0] want_args1 = p_op == `CDE_TRC_PUBLISH ? {26'd0, p_quiet, p_solicited, p_count} :
                             p_op == `CDE_TRC_CQ_ERROR ? {28'd0, p_count, p_status} : p_op == `CDE_TRC_EVENT_FAILED ?
                             {31'd0, p_give_up} : 32'd0;
    wire [31:0] want_args2 = d_op == `CDE_TRC_DOORBELL ? {13'd0, d_type, d_arm, {(16-IDX_W){1'b0}}, d_index} :
                             d_op == `CDE_TRC_CREATE ? {30'd0, set_rearm, set_typed} :
                             d_op == `CDE_TRC_DESTROY ? {31'd0, s_asked[1:0] == `CDE_LIFE_FREE} : 32'd0;

    // ---------------------------- environment: what the neighbours do to the watched CQ (as in f_rules)
    wire [1:0]       life = s[1:0];
    wire [IDX_W-1:0] prod = s[12 +: IDX_W], cons = s[12+IDX_W +: IDX_W];
    wire             entries = p_op == `CDE_TRC_PUBLISH || (p_op == `CDE_TRC_CQ_ERROR &&
        p_status == `CDE_CQST_INTERNAL_ERROR);
    wire [IDX_W-1:0] unanswered = w - done, w_ring = w - cons, w_lead = w - prod, w_step = w - w_before;
    always @* begin
        if (p_valid) begin
            assume (p_op == `CDE_TRC_PUBLISH || p_op == `CDE_TRC_CQ_ERROR || p_op == `CDE_TRC_EVENT_FAILED);
            if (entries) assume ((p_count == 2'd1 || p_count == 2'd2) && p_count <= unanswered &&
                life != `CDE_LIFE_FREE);
            else assume (p_count == 2'd0);
            if (p_op == `CDE_TRC_CQ_ERROR) assume (p_status == `CDE_CQST_INTERNAL_ERROR ||
                                                   (p_status == `CDE_CQST_BUFFER_OVERFLOW && life != `CDE_LIFE_FREE));
            // Memory answers an event that is on its way, once.
            if (p_op == `CDE_TRC_EVENT_FAILED) assume (s[11] && !(d_valid && d_op == `CDE_TRC_EVENT_DONE));
        end
        if (d_valid) begin
            if (d_host) assume (d_op == `CDE_TRC_DOORBELL || d_op == `CDE_TRC_CB_RETURN);
            else assume (d_op == `CDE_TRC_CREATE || d_op == `CDE_TRC_DESTROY || d_op == `CDE_TRC_EVENT_DONE ||
                d_op == 8'hff);
            if (d_op == `CDE_TRC_EVENT_DONE) assume (s[11]);
            if (d_host && d_cause == 8'h00) assume (d_type != 2'd3);
            if (d_op == `CDE_TRC_CREATE) assume (life == `CDE_LIFE_FREE && w == 0);
            if (d_op == `CDE_TRC_DESTROY) assume (life != `CDE_LIFE_FREE && d_index == w);
        end
        if (life != `CDE_LIFE_FREE) begin
            // Typed and re-arm are for life; moderation may be set at any time.
            assume (set_typed == was_typed && set_rearm == was_rearm);
            if (w_step != 0) assume (w_step <= 2 && life == `CDE_LIFE_READY && unanswered <= UNDER_WAY &&
                w_ring <= RING && w_lead <= HALF);
        end
    end

    // ---------------------------------------------------------------- properties
    always @(posedge clk) if (up) begin
        // Each record begins where the one before it ended.
        joins_1: assert (!on1 || old1 == last);
        joins_2: assert (!on2 || old2 == mid);
        // It ends, and calls, as the rules say of its operation and operands.
        state_1: assert (!on1 || (new1[79:0] == shown(s_mid) &&
            (new1[`CDE_STATE_DUE_LSB] || new1[`CDE_STATE_MOD_COUNT_LSB +: 16] == 0)));
        state_2: assert (!on2 || (new2[79:0] == shown(s_next) &&
            (new2[`CDE_STATE_DUE_LSB] || new2[`CDE_STATE_MOD_COUNT_LSB +: 16] == 0)));
        call_1: assert (!on1 || r1[`CDE_TRACE_EVENT_LSB +: 8] == (call1 ? {5'd0, s_mid[3:2], 1'b1} : 8'h00));
        call_2: assert (!on2 || r2[`CDE_TRACE_EVENT_LSB +: 8] == (call2 ? {5'd0, s_next[3:2], 1'b1} : 8'h00));
        effect_1: assert (!on1 || traced1);
        effect_2: assert (!on2 || (traced2 && (op2 != `CDE_TRC_MODERATION || new2 != old2)));
        // There is a record of each operation that has an effect, with its operands, and of none else but the timer's.
        recorded_1: assert (on1 == (p_valid && want1));
        recorded_2: assert (on2 == (d_valid && want2) || (on2 && !d_valid && op2 == `CDE_TRC_MODERATION));
        told_1: assert (!on1 || (op1 == p_op && args1 == want_args1));
        told_2: assert (!on2 || (d_valid ? op2 == d_op && args2 == want_args2 : args2 == 0));
    end

    // ---------------------------------------------------------------- what the records tell of is reached
    reg [1:0] calls = 2'd0, lives = 2'd0;       // of this life, begun
    wire      called = (on1 && called1) || (on2 && called2);
    always @(posedge clk) begin
        if (create) calls <= 2'd0;
        else if (called && calls != 2'd3) calls <= calls + 1'b1;
        if (create && lives != 2'd3) lives <= lives + 1'b1;
    end
    always @(posedge clk) if (up) begin
        c_called_again_by_entry: cover (on1 && called1 && op1 == `CDE_TRC_PUBLISH && calls == 2'd1 &&
                                        !(on2 && called2));
        c_called_again_by_arm: cover (on2 && called2 && op2 == `CDE_TRC_DOORBELL && calls == 2'd1);
        c_released_by_return: cover (on2 && called2 && op2 == `CDE_TRC_CB_RETURN);
        c_released_by_answer: cover (on2 && called2 && op2 == `CDE_TRC_EVENT_DONE);
        c_called_by_error: cover (on1 && r1[`CDE_TRACE_EVENT_LSB +: 3] == {`CDE_CQST_INTERNAL_ERROR, 1'b1} &&
                                  op1 == `CDE_TRC_CQ_ERROR);
        c_called_by_chained_arm: cover (on1 && op1 == `CDE_TRC_PUBLISH && on2 && called2 &&
                                        !old1[`CDE_STATE_ARMED_LSB]);
        c_held_back: cover (on1 && new1[`CDE_STATE_DUE_LSB +: 2] == 2'b01);
        c_merged: cover (on2 && op2 == `CDE_TRC_DOORBELL && old2[`CDE_STATE_ARMED_LSB] &&
                         old2[`CDE_STATE_ARM_TYPE_LSB +: 2] == `CDE_ARM_ERRORS &&
                         new2[`CDE_STATE_ARM_TYPE_LSB +: 2] == `CDE_ARM_SOLICITED);
        c_old_stays: cover (on2 && op2 == `CDE_TRC_DOORBELL && arms && !called2 &&
                            new2[`CDE_STATE_MARK_LSB +: 16] != new2[`CDE_STATE_CONS_LSB +: 16] &&
                            !new2[`CDE_STATE_IN_CALLBACK_LSB] && !new2[`CDE_STATE_DUE_LSB]);
        c_refused_index: cover (d_valid && !want2 && cause == `CDE_CAUSE_BAD_INDEX);
        c_destroying: cover (on2 && op2 == `CDE_TRC_DESTROY && !freed);
        c_second_life: cover (create && lives == 2'd1);
    end

`ifndef PROPERTIES_ONLY
`include "f_arm_trace_invariants.vh"
`endif

endmodule

`default_nettype wire
