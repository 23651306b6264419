// SPDX-License-Identifier: Apache-2.0
// cde_post: admission, holding and releasing of posts (DF-01 to DF-11, DF-14, CQ-17, ISO-01).
//
// Purpose: decides each post and each step of a QP's state in one stage, in order, so that failure and release are one
//          step (DF-04). State steps (commands, connection events, failing reports, the age limit) take a slot of the
//          same pipeline.
// Ports:   posts and their causes; state steps (op_*) and their outcome (opr_*); credits; QP settings; accepted posts
//          (acc_*), end of batches (end_*), what is released (rel_*, stop); retired index; trace lane 3.
// Latency: post taken in cycle t, decided in t+5 (acc_*, end_*, rel_*), cause in t+6.
//          Throughput: one per cycle, any QP.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"

module cde_post #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter CQ_W = 6,
    parameter PAGE_W = 12,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter MOD_TICK = 256,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              post_valid,
    output wire              post_ready,
    input  wire [PAGE_W-1:0] post_page,
    input  wire [511:0]      post_data,
    output reg               post_res_valid,
    output reg  [7:0]        post_res_cause,

    // State steps
    input  wire              op_valid,       // the slot is taken
    input  wire              op_void,        // but nothing done in it
    input  wire [3:0]        op_code,
    input  wire [3:0]        op_target,      // OP_SET: new state
    input  wire [QP_W-1:0]   op_qp,
    input  wire              op_empty,       // no receives either
    input  wire              removed,
    output reg               opr_valid,
    output reg  [3:0]        opr_code,
    output reg  [QP_W-1:0]   opr_qp,
    output reg  [7:0]        opr_result,
    output reg  [3:0]        opr_old,        // state before
    output reg  [3:0]        opr_new,        // state after
    output reg  [`CDE_SQ_W-1:0] opr_indices,

    // Credits
    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    input  wire              gr_room,
    input  wire              gr_dead,
    output wire              gr_take,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_POST_W-1:0] set_data,

    // Whose decision follows in the next cycle
    output wire              early_valid,
    output wire [QP_W-1:0]   early_qp,

    // Decisions of this cycle
    output wire              acc_valid,
    output wire [QP_W-1:0]   acc_qp,         // of every decision
    output wire [SQ_LOG2-1:0] acc_slot,
    output wire [511:0]      acc_data,
    output wire [`CDE_VERB_W-1:0]       acc_verb, 
    output wire              end_we,
    output wire [SQ_LOG2-1:0] end_slot,
    output wire              end_last,
    output wire              rel_valid,      // something to look at for the dispatcher
    output wire              rel_we,
    output wire [IDX_W-1:0]  rel_index,
    output reg  [NUM_QP-1:0] stop,           // skip instead of indicating
    output wire              fresh,          // a connection begins
    output reg  [NUM_QP-1:0] qp_known,       // exists
    output reg  [NUM_QP-1:0] qp_open,        // takes receive posts
    output reg  [NUM_QP-1:0] qp_up,          // CONNECTED or DISCONNECT_PENDING
    output wire              closes,         // takes no more receive posts
    input  wire [QP_W-1:0]   look_qp,        // in the next cycle:
    output reg               look_live,      // exists and is not being destroyed
    output reg               look_open,

    input  wire              ret_we,
    input  wire [QP_W-1:0]   ret_qp,
    input  wire [IDX_W-1:0]  ret_index,

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2;

    `include "cde_post_ops.vh"

    localparam TICK_W = 18;                        // a limit has 16 bits; see since_next
    localparam [TICK_W-1:0] OLD = {{(TICK_W-17){1'b0}}, 17'h10000};
    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    // State of a QP: what it is, its indices, and since when it holds something.
    localparam ST_STATE = 0, ST_TAIL = 4, ST_RELEASED = ST_TAIL + IDX_W, ST_SINCE = ST_RELEASED + IDX_W,
        ST_W = ST_SINCE + TICK_W;
    localparam SET_W = `CDE_QP_POST_W;

    // ---------------------------------------------------------------- time, and whose age is looked at
    wire              step, step_holds, age_now, age_first, tick;
    wire [QP_W-1:0]   age_qp;
    wire [TICK_W-1:0] now;
    wire              post_go = post_valid && post_ready;
    reg  [QP_W-1:0]   c_qp;
    reg               c_limited;
    reg  [NUM_QP-1:0] qp_live;               // exists and is not being destroyed

    reg               walks;                 // memories are cleared, or were in the cycle before
    initial walks = 1'b1;
    always @(posedge clk) walks <= init || rst;
    assign post_ready = !op_valid && !rq_hold && !walks && !age_first;

    cde_post_age #(.NUM_QP(NUM_QP), .QP_W(QP_W), .TICK_W(TICK_W), .MOD_TICK(MOD_TICK)) age_i (
        .clk(clk), .rst(rst), .init(init), .step(step), .step_qp(c_qp), .step_holds(step_holds),
        .step_limited(c_limited), .op(op_valid), .posts(post_valid && !rq_hold), .look(age_now), .look_qp(age_qp),
        .first(age_first), .now(now), .tick(tick)
    );

    // ---------------------------------------------------------------- stage A: whose settings
    wire [15:0]      post_qp = post_data[`CDE_POST_QP_LSB +: 16];
    wire [QP_W-1:0]  a_qp = op_valid ? op_qp : age_now ? age_qp : post_qp[QP_W-1:0];

    // B: settings known, credit asked for. S: the state is read. C: decided.
    reg              b_post, s_post, t_post, r_post, c_post;
    reg              b_op, s_op, t_op, r_op, c_op;
    reg [3:0]        b_code, s_code, t_code, r_code, c_code, b_target, s_target, t_target, r_target;
    reg [QP_W-1:0]   b_qp, s_qp, t_qp, r_qp;
    reg              b_empty, s_empty, t_empty, r_empty, c_empty;
    reg              b_far, s_far, t_far, r_far, c_far;     // QP number out of range
    reg [PAGE_W-1:0] b_page, s_page, t_page, r_page;
    reg [511:0]      b_data, s_data, t_data, r_data, c_data;
    wire [7:0]       c_cause;
    wire             c_clean;
    wire [`CDE_VERB_W-1:0] c_verb;

    cde_verb verb_i (
        .clk(clk), .post(b_data), .cause(c_cause), .clean(c_clean), .kind(c_verb[`CDE_VERB_KIND +: 2]),
        .result_type(c_verb[`CDE_VERB_TYPE +: 16]), .bytes(c_verb[`CDE_VERB_BYTES +: 32])
    );

    always @(posedge clk) begin
        {b_post, s_post, t_post, r_post, c_post} <= rst ? 5'd0 : {post_go, b_post, s_post, t_post, r_post};
        {b_op, s_op, t_op, r_op, c_op} <= rst ? 5'd0 : {(op_valid && !op_void) || age_now, b_op, s_op, t_op, r_op};
        {b_code, s_code, t_code, r_code, c_code} <= {op_valid ? op_code : OP_AGE, b_code, s_code, t_code, r_code};
        {b_target, s_target, t_target, r_target} <= {op_target, b_target, s_target, t_target};
        {b_qp, s_qp, t_qp, r_qp, c_qp} <= {a_qp, b_qp, s_qp, t_qp, r_qp};
        {b_empty, s_empty, t_empty, r_empty, c_empty} <= {op_empty, b_empty, s_empty, t_empty, r_empty};
        {b_far, s_far, t_far, r_far, c_far} <= {(post_qp >> QP_W) != 16'd0, b_far, s_far, t_far, r_far};
        {b_page, s_page, t_page, r_page} <= {post_page, b_page, s_page, t_page};
        {b_data, s_data, t_data, r_data, c_data} <= {post_data, b_data, s_data, t_data, r_data};
    end

    // ---------------------------------------------------------------- stages B and S: settings known, state is read
    wire [SET_W-1:0] b_set;
    reg  [SET_W-1:CQ_W] s_set, t_set, r_set;

    cde_ram #(.W(SET_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(a_qp),
        .rdata(b_set)
    );

    assign rq_valid = b_post;
    assign rq_cq = b_set[`CDE_QP_POST_CQ +: CQ_W];

    wire [ST_W-1:0]  st, st_next;
    assign step = c_post || c_op;
    wire [IDX_W-1:0] r_retired;

    cde_ctx #(.W(ST_W), .AW(QP_W), .ECC(ECC)) state_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(step), .waddr(c_qp), .wdata(st_next), .raddr(s_qp), .rdata(st)
    );

    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) retired_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem_o), .we(ret_we), .waddr(ret_qp), .wdata(ret_index), .raddr(b_qp),
        .rdata(r_retired)
    );

    // What settings and step alone tell of the decision
    localparam L_W = SQ_LOG2 + 1;            // bits of an index that tell a full queue from an empty one
    wire [15:0]       r_mark = r_set[`CDE_QP_POST_WATERMARK +: 16] - 16'd1;      // of none: 65,535, which is never held
    wire [15:0]       r_age = r_set[`CDE_QP_POST_AGE +: 16];
    wire [TICK_W:0]   oldest = {now, tick} + {~{{(TICK_W-16){1'b0}}, r_age}, tick};      // the next now - r_age - 1
    reg               c_own, c_may, c_marks, c_ages;
    reg  [IDX_W-1:0]  retired;               // a cycle older than the state, so that the end of the room is known
    reg  [L_W-1:0]    c_end, c_mark;         // index that finds the queue full
    reg  [TICK_W-1:0] c_oldest;              // what is held since then or before is too old

    always @(posedge clk) begin
        {s_set, t_set, r_set} <= {b_set[SET_W-1:CQ_W], s_set, t_set};
        c_own <= !r_far && r_set[`CDE_QP_POST_PAGE +: PAGE_W] == r_page;
        c_may <= r_post && !r_far && r_set[`CDE_QP_POST_PAGE +: PAGE_W] == r_page && !rst;
        retired <= r_retired;
        c_end <= r_retired[L_W-1:0] + r_set[`CDE_QP_POST_DEPTH +: L_W];
        c_marks <= r_mark >> SQ_LOG2 == 16'd0;
        c_mark <= r_mark[L_W-1:0];
        c_limited <= r_age != 16'd0;
        c_ages <= r_op && r_code == OP_AGE && r_age != 16'd0;
        c_oldest <= oldest[TICK_W:1];
    end

    // ---------------------------------------------------------------- stage C: the decision
    // Of two indices of a queue the lower bits tell how far apart they are.
    wire [3:0]        state = st[ST_STATE +: 4];
    wire [IDX_W-1:0]  tail = st[ST_TAIL +: IDX_W];
    wire [IDX_W-1:0]  released = st[ST_RELEASED +: IDX_W];
    wire [TICK_W-1:0] since = st[ST_SINCE +: TICK_W];
    wire [L_W-1:0]    tail_low = tail[L_W-1:0];

    wire connected = state == `CDE_QPS_CONNECTED;
    wire live = state != `CDE_QPS_FREE && state != `CDE_QPS_DESTROYING;
    wire mine = c_own && live;
    wire fits = tail_low != c_end;
    wire empty = tail_low == retired[L_W-1:0] && c_empty;
    // A connected one is live.
    wire no_fault = c_may && c_clean && !removed && connected && fits;
    wire accept = no_fault && !gr_dead && gr_room;

    assign gr_take = no_fault;

    reg [7:0] cause;

    always @* begin
        if (c_far) cause = `CDE_CAUSE_BAD_QP;
        else if (!live) cause = `CDE_CAUSE_NO_QP;
        else if (!mine) cause = `CDE_CAUSE_NOT_OWNER;
        else if (removed) cause = `CDE_CAUSE_DEVICE_REMOVED;
        else if (c_cause != 8'h00) cause = c_cause;
        else if (!connected) cause = `CDE_CAUSE_NOT_CONNECTED;
        else if (!fits) cause = `CDE_CAUSE_QUEUE_FULL;
        else if (gr_dead) cause = `CDE_CAUSE_CQ_ERROR;
        else if (!gr_room) cause = `CDE_CAUSE_NO_CREDIT;
        else cause = 8'h00;
    end

    wire [IDX_W-1:0]  tail_more = tail + ONE;
    wire [IDX_W-1:0]  tail_next = accept ? tail_more : tail;
    wire [L_W-1:0]    held = tail_low - released[L_W-1:0];
    wire              holds = tail_low != released[L_W-1:0];
    wire              mark = c_marks && held >= c_mark;
    wire              terminates = accept && (!c_data[`CDE_POST_DEFER_LSB] || mark);
    wire              fails = c_post && mine && !accept && holds;
    wire [TICK_W-1:0] elapsed = now - since;
    wire [TICK_W-1:0] beyond = c_oldest - since;     // negative: younger than its limit
    wire              unused_low = &{1'b0, beyond, elapsed, oldest[0]};
    wire              aged = c_ages && holds && beyond[TICK_W-1:16] != {(TICK_W-16){1'b1}};
    wire              release_now = terminates || fails || aged;

    wire [3:0] state_next;
    wire [7:0] result;
    wire       changes, leaves, next_up, next_open, freed, destroyed;

    cde_qp_state state_i (
        .clk(clk), .en(r_op), .code(r_code), .target(r_target), .state(state), .empty(empty), .next(state_next),
        .changes(changes), .leaves(leaves), .fresh(fresh), .next_up(next_up), .next_open(next_open), .closes(closes),
        .freed(freed), .destroyed(destroyed), .result(result)
    );

    wire [IDX_W-1:0] released_next = terminates ? tail_more : fails || aged || leaves ? tail : released;
    // What is too old for every limit stays just that old, so that the time never goes round: each QP that holds
    // something is looked at again within a few cycles more than 2^17 ticks (cde_post_age).
    wire              old = elapsed[TICK_W-1:16] != {(TICK_W-16){1'b0}};
    wire [TICK_W-1:0] since_next = !holds ? now : old ? now - OLD : since;

    assign step_holds = (accept || holds) && !release_now && !leaves;
    assign st_next[ST_STATE +: 4] = state_next;
    assign st_next[ST_TAIL +: IDX_W] = tail_next;
    assign st_next[ST_RELEASED +: IDX_W] = released_next;
    assign st_next[ST_SINCE +: TICK_W] = since_next;
    assign early_valid = r_post || r_op;
    assign early_qp = r_qp;
    assign acc_valid = accept;
    assign acc_qp = c_qp;
    assign acc_slot = tail[SQ_LOG2-1:0];
    assign acc_data = c_data;
    assign acc_verb = c_verb;
    assign end_we = accept || release_now;
    assign end_slot = tail[SQ_LOG2-1:0] - {{(SQ_LOG2-1){1'b0}}, !accept};
    assign end_last = release_now;
    assign rel_valid = release_now || leaves;
    assign rel_we = step;
    assign rel_index = released_next;

    // ---------------------------------------------------------------- outcome
    wire [1:0] why = c_code == OP_CONN ? 2'd1 : c_code == OP_FAIL ? 2'd2 : 2'd0;

    function [95:0] shown;
        input [3:0]       s;
        input [IDX_W-1:0] t;
        input [IDX_W-1:0] r;
        input [IDX_W-1:0] h;
        begin
            shown = 96'd0;
            shown[`CDE_QSTATE_STATE_LSB +: 4] = s;
            shown[`CDE_QSTATE_TAIL_LSB +: IDX_W] = t;
            shown[`CDE_QSTATE_RELEASED_LSB +: IDX_W] = r;
            shown[`CDE_QSTATE_RETIRED_LSB +: IDX_W] = h;
        end
    endfunction

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        if (fresh) stop[c_qp] <= 1'b0;
        if (leaves) stop[c_qp] <= 1'b1;
        if (changes) begin
            qp_known[c_qp] <= !freed;
            qp_live[c_qp] <= !destroyed;
            qp_open[c_qp] <= next_open;
            qp_up[c_qp] <= next_up;
        end
        look_live <= changes && c_qp == look_qp ? !destroyed : qp_live[look_qp];
        look_open <= changes && c_qp == look_qp ? next_open : qp_open[look_qp];
        post_res_valid <= c_post && !rst;
        post_res_cause <= cause;
        opr_valid <= c_op && c_code != OP_AGE && !rst;
        opr_code <= c_code;
        opr_qp <= c_qp;
        opr_result <= result;
        opr_old <= state;
        opr_new <= state_next;
        opr_indices[`CDE_SQ_TAIL +: IDX_W] <= tail_next;
        opr_indices[`CDE_SQ_RELEASED +: IDX_W] <= released_next;
        opr_indices[`CDE_SQ_RETIRED +: IDX_W] <= retired;
        trace_valid <= ((c_post && mine) || aged || changes) && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= c_post ? `CDE_TRC_POST : aged ? `CDE_TRC_AGE : `CDE_TRC_QP_STATE;
        trace_data[`CDE_TRACE_CQ_LSB +: QP_W] <= c_qp;
        if (c_post) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_CAUSE_LSB +: 8] <= cause;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_OPCODE_LSB +: 8] <= c_data[`CDE_POST_OPCODE_LSB +: 8];
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_FLAGS_LSB +: 16] <= c_data[`CDE_POST_FLAGS_LSB +: 16];
        end
        if (!c_post && !aged) trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_QP_STATE_REASON_LSB +: 2] <= why;
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= shown(state, tail, released, retired);
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= shown(state_next, tail_next, released_next, retired);
        if (rst) begin
            stop <= {NUM_QP{1'b0}};
            qp_known <= {NUM_QP{1'b0}};
            qp_live <= {NUM_QP{1'b0}};
            qp_open <= {NUM_QP{1'b0}};
            qp_up <= {NUM_QP{1'b0}};
        end
    end

endmodule

`default_nettype wire
