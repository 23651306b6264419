// SPDX-License-Identifier: Apache-2.0
// cde_take: hands out receive buffers (SRQ-02, SRQ-03, SRQ-10, SRQ-13, SRQ-16, SRQ-18, CQ-17).
//
// Purpose: decides each receive request in one stage, in order: takes the oldest buffer of the QP's queue, own or
//          shared, and answers with the scatter list (cde_scatter). Buffers that a disconnected QP's own queue still
//          has are taken by the same pipeline, to be flushed (SRQ-14).
// Ports:   s_axis_rreq, m_axis_scatter; flushing (flush_*, self_*); control steps (op_*, opr_*); state of the receive
//          CQ and its credits, for QPs that use an SRQ; settings; tails; reported counts; buffers; taken counts
//          (taken_*), records of what is in flight (rec_*), length errors (long_*), watermark events (ev_*), error
//          report, counter steps, trace lane 5.
// Latency: request taken in cycle t, decided in t+5, ev_valid in t+6, peer_valid in t+7, record and answer in t+9.
//          Throughput: one per cycle, any QPs.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_take #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter NUM_SRQ = 16,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter RQ_LOG2 = 4,
    parameter SRQ_LOG2 = 6,
    parameter RX_LOG2 = 4,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [127:0]      s_axis_rreq_tdata,
    input  wire              s_axis_rreq_tvalid,
    output wire              s_axis_rreq_tready,
    output wire [383:0]      m_axis_scatter_tdata,
    output wire [15:0]       m_axis_scatter_tdest,
    output wire [31:0]       m_axis_scatter_tuser,
    output wire              m_axis_scatter_tvalid,
    input  wire              m_axis_scatter_tready,

    input  wire              hold,           // take no requests
    input  wire              flush_valid,    // a QP to look at
    output wire              flush_take,
    input  wire [QP_W-1:0]   flush_qp,
    output wire              flush_again,    // it has more
    output wire [QP_W-1:0]   flush_again_qp,
    input  wire              self_room,
    output wire              self_valid,     // flushed: report tag of QP
    output wire [QP_W-1:0]   self_qp,
    output wire [IDX_W-1:0]  self_tag,

    // Control: look, clear, mark (set the watermark)
    input  wire              op_valid,
    output wire              op_ready,
    input  wire [1:0]        op_code,
    input  wire [SRQ_W-1:0]  op_srq,
    input  wire [15:0]       op_mark,
    output reg               opr_valid, opr_busy,
    output reg  [`CDE_SRQ_LINE_W-1:0] opr_state,     // {armed, mark, head}

    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    output wire [1:0]        rq_count,
    input  wire              gr_room, gr_dead,
    output wire              gr_take,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_RQ_TAKE_W-1:0] set_data,
    input  wire [NUM_QP-1:0] qp_known,       // exists
    input  wire [NUM_QP-1:0] qp_open,
    input  wire [NUM_QP-1:0] qp_up,          // CONNECTED or DISCONNECT_PENDING
    input  wire              removed,

    // Invalidation by the peer (CQ-03, MW-12): step of the key table, its decision two cycles later
    output wire              peer_valid,
    output wire [QP_W-1:0]   peer_qp,
    output wire [31:0]       peer_key,
    output wire              peer_counts,
    input  wire              peer_good,
    input  wire [63:0]       peer_context,   // a cycle before
    input  wire              fresh,
    input  wire [QP_W-1:0]   fresh_qp,

    input  wire              tail_we,
    input  wire [QP_W:0]     tail_queue,
    input  wire [IDX_W-1:0]  tail_index,
    input  wire              done_we,
    input  wire [QP_W-1:0]   done_qp,
    input  wire [IDX_W-1:0]  done_total,
    input  wire              buf_we,
    input  wire [QP_W:0]     buf_queue,
    input  wire [IDX_W-1:0]  buf_index,
    input  wire [`CDE_BUFFER_W-1:0] buf_data,

    output wire              taken_we,
    output wire [QP_W-1:0]   taken_qp,
    output wire [IDX_W-1:0]  taken_total,
    output wire              rec_we,
    output wire [IDX_W-1:0]  rec_total,
    output wire [QP_W+RX_LOG2-1:0] rec_slot,
    output wire [`CDE_TAKEN_W-1:0] rec_data,
    output wire              fail_valid,     // too long, or a bad token: the connection ends
    output wire [QP_W-1:0]   fail_qp,
    output wire              bad_token,
    output reg               ev_valid,
    output reg  [SRQ_W-1:0]  ev_srq,
    input  wire [NUM_SRQ-1:0] ev_waits,      // a cycle after ev_valid

    output wire              err_valid,
    output wire [15:0]       err_qp,
    output wire [2:0]        count,          // {refused, not ready, taken for a message}

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5;

    `include "cde_rx_ops.vh"

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam OUT_LOG2 = 4;
    localparam MSG_SOLICITED = 0, MSG_INVALIDATE = 1, MSG_LENGTH = 2, MSG_TOKEN = 34, MSG_W = 66;    // of a request

    // ---------------------------------------------------------------- stage A: a request, a flush, or a control step
    reg  [OUT_LOG2:0] owed;                  // answers that the transport has not taken: each has a place in out_fifo
    reg               walks;                 // memories are cleared, or were in the cycle before
    initial walks = 1'b1;
    always @(posedge clk) walks <= init || rst;
    wire              room = !owed[OUT_LOG2] && !walks;
    reg               flush_next;            // a request went before: the flush is next; a flush needs no room
    wire              free = !op_valid && !rq_hold && !walks;
    wire              offered = s_axis_rreq_tvalid && room && !hold;
    wire              flushes = free && flush_valid && self_room && (!offered || flush_next);
    wire              takes_request = s_axis_rreq_tvalid && s_axis_rreq_tready;
    wire              answered = m_axis_scatter_tvalid && m_axis_scatter_tready;

    assign {op_ready, flush_take, s_axis_rreq_tready} = {!walks, flushes, free && room && !flushes && !hold};

    wire [15:0]     a_name = s_axis_rreq_tdata[`CDE_RREQ_QP_LSB +: 16];
    wire [QP_W-1:0] a_qp = flushes ? flush_qp : a_name[QP_W-1:0];
    wire            a_bad = (a_name >> QP_W) != 16'd0 || (s_axis_rreq_tdata & `CDE_RREQ_RESERVED) != 128'd0 ||
        (!s_axis_rreq_tdata[`CDE_RREQ_INVALIDATE_LSB] && s_axis_rreq_tdata[`CDE_RREQ_TOKEN_LSB +: 32] != 32'd0);

    // B: which queue, credit asked for. S: the state is read. C: decided. D to G: below.
    reg              b_req, s_req, t_req, r_req, c_req, d_req, e_req, f_req, g_req;
    reg              b_flush, s_flush, t_flush, r_flush, c_flush, d_flush, e_flush, f_flush, g_flush;
    reg              b_op, s_op, t_op, r_op, c_op;
    reg [1:0]        b_code, s_code, t_code, r_code, c_code; reg [15:0] b_mark, s_mark, t_mark, r_mark, c_mark;
    reg [QP_W-1:0]   b_qp, s_qp, t_qp, r_qp, c_qp, d_qp, e_qp, f_qp, g_qp;
    reg [NUM_QP-1:0] c_asks, c_looks;         // one bit of the QP: of a request that is well-formed, of a flush
    reg [15:0]       b_name, s_name, t_name, r_name, c_name, d_name, e_name, f_name, g_name; // QP field of the request
    reg              b_bad, s_bad, t_bad, r_bad;
    reg              s_shared, t_shared, r_shared, c_shared, d_shared, e_shared, f_shared, g_shared;
    reg [MSG_W-1:0]  b_msg, s_msg, t_msg, r_msg, c_msg, d_msg, e_msg, f_msg, g_msg;
    reg [SRQ_W-1:0]  op_srq_b;

    initial g_req = 1'b0;                    // low from power-up, before any clock edge
    always @(posedge clk) begin
        if (takes_request || flushes) flush_next <= takes_request;
        if (takes_request && !answered) owed <= owed + 1'b1;
        if (answered && !takes_request) owed <= owed - 1'b1;
        {b_req, s_req, t_req, r_req, c_req, d_req, e_req, f_req, g_req} <=
            rst ? 9'd0 : {takes_request, b_req, s_req, t_req, r_req, c_req, d_req, e_req, f_req};
        {b_flush, s_flush, t_flush, r_flush, c_flush} <= rst ? 5'd0 : {flushes, b_flush, s_flush, t_flush, r_flush};
        {b_op, s_op, t_op, r_op, c_op} <= rst ? 5'd0 : {op_valid && op_ready, b_op, s_op, t_op, r_op};
        {b_code, s_code, t_code, r_code, c_code} <= {op_code, b_code, s_code, t_code, r_code};
        {b_mark, s_mark, t_mark, r_mark, c_mark} <= {op_mark, b_mark, s_mark, t_mark, r_mark};
        {b_qp, s_qp, t_qp, r_qp, c_qp, d_qp, e_qp, f_qp, g_qp} <=
            {a_qp, b_qp, s_qp, t_qp, r_qp, c_qp, d_qp, e_qp, f_qp};
        c_asks <= {{(NUM_QP-1){1'b0}}, r_req && !r_bad && !rst} << r_qp;
        c_looks <= {{(NUM_QP-1){1'b0}}, r_flush && !r_shared && !rst} << r_qp;
        {b_name, s_name, t_name, r_name, c_name, d_name, e_name, f_name, g_name} <=
            {a_name, b_name, s_name, t_name, r_name, c_name, d_name, e_name, f_name};
        {b_bad, s_bad, t_bad, r_bad} <= {a_bad, b_bad, s_bad, t_bad};
        b_msg <= flushes ? {MSG_W{1'b0}} : {s_axis_rreq_tdata[`CDE_RREQ_TOKEN_LSB +: 32],
            s_axis_rreq_tdata[`CDE_RREQ_LENGTH_LSB +: 32], s_axis_rreq_tdata[`CDE_RREQ_INVALIDATE_LSB],
            s_axis_rreq_tdata[`CDE_RREQ_SOLICITED_LSB]};
        {s_msg, t_msg, r_msg, c_msg, d_msg, e_msg, f_msg, g_msg} <=
            {b_msg, s_msg, t_msg, r_msg, c_msg, d_msg, e_msg, f_msg};
        op_srq_b <= op_srq;
        if (rst) {flush_next, owed} <= {(OUT_LOG2 + 2){1'b0}};
    end

    // ---------------------------------------------------------------- stages B and S: which queue, its state is read
    wire [`CDE_RQ_TAKE_W-1:0] b_set;
    reg              s_guard, t_guard, r_guard, c_guard, d_guard, e_guard, f_guard;
    wire             b_shared = b_op || b_set[`CDE_RQ_TAKE_SHARED];
    wire [SRQ_W-1:0] b_srq = b_op ? op_srq_b : b_set[`CDE_RQ_TAKE_SRQ +: SRQ_W];
    reg [SRQ_W-1:0]  s_srq, t_srq, r_srq, c_srq, d_srq, e_srq, f_srq, g_srq;

    cde_ram #(.W(`CDE_RQ_TAKE_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(a_qp),
        .rdata(b_set)
    );

    // With an own queue, too: whether the CQ is in error. Two entries take two credits (MW-07).
    assign {rq_valid, rq_cq} = {b_req, b_set[`CDE_RQ_TAKE_CQ +: CQ_W]};
    assign rq_count = b_set[`CDE_RQ_TAKE_TWO] ? 2'd2 : 2'd1;

    wire [QP_W:0]       s_queue = {s_shared, s_shared ? {{(QP_W-SRQ_W){1'b0}}, s_srq} : s_qp};
    wire [IDX_W-1:0]    taken, tail, done;
    wire [`CDE_SRQ_LINE_W-1:0] line, line_next;
    reg [QP_W+IDX_W+1:0] w_tail;             // a tail comes late in its cycle, with a buffer (cde_scatter)

    // A step that changes nothing writes what was there.
    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC), .STEPS(3)) taken_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(c_req || c_flush), .waddr(c_qp),
        .wdata(taken_we ? taken_total : taken), .raddr(s_qp), .rdata(taken)
    );

    cde_ctx #(.W(`CDE_SRQ_LINE_W), .AW(SRQ_W), .ECC(ECC), .STEPS(3)) line_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(c_req || c_op), .waddr(c_srq), .wdata(line_next),
        .raddr(s_srq), .rdata(line)
    );

    cde_ctx #(.W(IDX_W), .AW(QP_W + 1), .ECC(ECC)) tail_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(w_tail[QP_W+IDX_W+1]), .waddr(w_tail[IDX_W +: QP_W+1]),
        .wdata(w_tail[IDX_W-1:0]), .raddr(s_queue), .rdata(tail)
    );

    cde_ctx #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) done_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(done_we), .waddr(done_qp), .wdata(done_total), .raddr(s_qp),
        .rdata(done)
    );

    always @(posedge clk) begin
        w_tail <= {tail_we && !rst, tail_queue, tail_index};
        {s_guard, t_guard, r_guard, c_guard, d_guard, e_guard, f_guard} <=
            {b_set[`CDE_RQ_TAKE_GUARDED], s_guard, t_guard, r_guard, c_guard, d_guard, e_guard};
        {s_shared, t_shared, r_shared, c_shared, d_shared, e_shared, f_shared, g_shared} <=
            {b_shared, s_shared, t_shared, r_shared, c_shared, d_shared, e_shared, f_shared};
        {s_srq, t_srq, r_srq, c_srq, d_srq, e_srq, f_srq, g_srq} <=
            {b_srq, s_srq, t_srq, r_srq, c_srq, d_srq, e_srq, f_srq};
    end

    // ---------------------------------------------------------------- stage C: the decision
    reg  [NUM_QP-1:0] flushing;              // all that is in flight of this QP is flushed
    reg              flushed;                // of c_qp
    wire [IDX_W-1:0] head = line[`CDE_SRQ_LINE_HEAD +: IDX_W];
    wire [15:0]      mark = line[`CDE_SRQ_LINE_MARK +: 16];
    wire             armed = line[`CDE_SRQ_LINE_ARMED];
    wire known = |(qp_known & c_asks), up = |(qp_up & c_asks), closed = |(qp_known & ~qp_open & c_looks);

    // No more is in a queue than its slots, or in flight than RX_LOG2 allows: one bit more than those have tells all.
    wire             some = c_shared ? tail[SRQ_LOG2:0] != head[SRQ_LOG2:0] : tail[RQ_LOG2:0] != taken[RQ_LOG2:0];
    wire             same = taken[RX_LOG2-1:0] == done[RX_LOG2-1:0], turned = taken[RX_LOG2] != done[RX_LOG2];
    wire             full = same && turned, none = same && !turned;          // in flight
    wire             ready = some && !full;
    wire             credit = !gr_dead && (!c_shared || gr_room);
    wire             may = up && !removed, able = ready && credit && !removed;
    wire             take = up && able;
    wire             drop = closed && ready && (flushed || none);
    // The event of the step before does not wait yet: it is on its way.
    wire             asked = c_op && c_code == TK_MARK && c_mark != 16'd0;
    wire             waits = ev_waits[c_srq] || (ev_valid && ev_srq == c_srq);
    wire             marks = asked && !waits, clears = c_op && c_code == TK_CLEAR;
    wire [15:0]      mark_next = clears ? 16'd0 : marks ? c_mark : mark;
    // Fewer are left in the shared queue than its mark, which is no more than its slots: tail - head - mark < 0, and 1
    // less where one is taken now, so there is one. First the three to a sum and carries, then one addition.
    wire [SRQ_LOG2:0] plus = tail[SRQ_LOG2:0], minus = ~head[SRQ_LOG2:0];
    wire [SRQ_LOG2:0] limit = c_op ? ~c_mark[SRQ_LOG2:0] : ~mark[SRQ_LOG2:0];
    wire [SRQ_LOG2:0] sum = plus ^ minus ^ limit, carry = (plus & minus) | ((plus | minus) & limit);
    wire [SRQ_LOG2+1:0] left = {sum, 1'b1} + {carry[SRQ_LOG2-1:0], c_op, 1'b1};
    wire             low = left[SRQ_LOG2+1];
    wire             event_now = ((take && c_shared && armed) || marks) && low;
    wire             op_armed = (armed || marks) && !(marks && low) && !clears;      // if nothing is taken

    assign gr_take = may && ready && c_shared;
    assign taken_we = take || drop;
    assign taken_total = taken + ONE;
    assign line_next[`CDE_SRQ_LINE_HEAD +: IDX_W] = take && c_shared ? head + ONE : head;
    assign line_next[`CDE_SRQ_LINE_MARK +: 16] = mark_next;
    assign line_next[`CDE_SRQ_LINE_ARMED] = op_armed && !(take && c_shared && low);
    assign {flush_again_qp, taken_qp, flush_again} = {c_qp, c_qp, drop && tail[RQ_LOG2:0] != taken_total[RQ_LOG2:0]};
    assign err_valid = c_req && !known;
    assign err_qp = c_name;
    assign count = {c_req && !may, may && !take, take};

    // ---------------------------------------------------------------- stages D to F: the buffer is read
    // In E the key step of a message that took a buffer (MW-06) begins; in G, when its length is known, it is decided.
    reg              d_take, e_take, f_take, g_take, d_refused, e_refused, f_refused, g_refused, d_peer, e_peer;
    reg              g_judged;               // by its token
    reg [IDX_W-1:0]  d_tag, e_tag, f_tag, g_tag;
    reg [63:0]       g_context;              // of the window that the message invalidates

    assign {peer_valid, peer_qp, peer_key} = {e_peer, e_qp, e_msg[MSG_TOKEN +: 32]};

    wire unused = &{1'b0, carry[SRQ_LOG2]};
    always @(posedge clk) begin
        {d_take, e_take, f_take, g_take} <= {take, d_take, e_take, f_take};
        {d_refused, e_refused, f_refused, g_refused} <= {!may, d_refused, e_refused, f_refused};
        {d_flush, e_flush, f_flush, g_flush} <= rst ? 4'd0 : {drop, d_flush, e_flush, f_flush};
        {d_peer, e_peer} <= rst ? 2'd0 : {take && c_msg[MSG_INVALIDATE] && c_guard, d_peer};
        {d_tag, e_tag, f_tag, g_tag} <= {taken, d_tag, e_tag, f_tag};
        g_judged <= f_req && f_msg[MSG_INVALIDATE] && f_guard;
        g_context <= f_guard ? peer_context : 64'd0;
    end

    // ---------------------------------------------------------------- stages F and G: the scatter list
    wire             past2;                  // the message is longer than the buffer
    wire [383:0]     list;

    cde_scatter #(
        .QP_W(QP_W), .SRQ_W(SRQ_W), .IDX_W(IDX_W), .RQ_LOG2(RQ_LOG2), .SRQ_LOG2(SRQ_LOG2), .ECC(ECC)
    ) scatter_i (
        .clk(clk), .mem_i(mem5), .mem_o(mem_o), .buf_we(buf_we), .buf_queue(buf_queue), .buf_index(buf_index),
        .buf_data(buf_data), .own_at({c_qp, taken[RQ_LOG2-1:0]}), .shared_at({c_srq, head[SRQ_LOG2-1:0]}),
        .shared(f_shared), .length(f_msg[MSG_LENGTH +: 32]), .past(past2), .list(list),
        .cookie(rec_data[`CDE_TAKEN_CONTEXT +: 64])
    );

    wire        denied = g_judged && !peer_good, allowed = g_take && !denied;
    assign bad_token = g_take && !past2 && denied;
    wire        fits = allowed && !past2, too_long = g_take && past2;
    wire [3:0]  code = g_refused ? `CDE_SCATTER_REFUSED : !g_take ? `CDE_SCATTER_NOT_READY :
                       past2 ? `CDE_SCATTER_LENGTH_ERROR : bad_token ? `CDE_SCATTER_BAD_TOKEN : `CDE_SCATTER_SCATTER;
    wire [31:0] user; wire [OUT_LOG2+1:0] unused_out;
    assign user[`CDE_SCATTER_USER_CODE_LSB +: 8] = {4'd0, code};
    assign user[`CDE_SCATTER_USER_SRQ_LSB +: 8] = {7'd0, g_take && g_shared};
    assign user[`CDE_SCATTER_USER_TAG_LSB +: 16] = g_take ? {{(16-IDX_W){1'b0}}, g_tag} : 16'd0;

    wire given; wire [383:0] out_list;       // a list that is not given is cleared last: that it is not comes late
    assign m_axis_scatter_tdata = given ? out_list : 384'd0;
    cde_fifo #(.W(433), .DEPTH_LOG2(OUT_LOG2), .BYPASS(1'b1)) out_fifo (
        .clk(clk), .rst(rst), .push_valid(g_req), .push_ready(unused_out[0]), .push_data({user, g_name, fits, list}),
        .pop_valid(m_axis_scatter_tvalid), .pop_ready(m_axis_scatter_tready), .level(unused_out[OUT_LOG2+1:1]),
        .pop_data({m_axis_scatter_tuser, m_axis_scatter_tdest, given, out_list}));

    assign {rec_we, rec_slot} = {(g_req && g_take) || g_flush, g_qp, g_tag[RX_LOG2-1:0]};
    assign rec_data[`CDE_TAKEN_BYTES +: 32] = g_msg[MSG_LENGTH +: 32];
    assign rec_data[`CDE_TAKEN_TOKEN +: 32] = g_msg[MSG_TOKEN +: 32];
    assign rec_data[`CDE_TAKEN_SHARED] = g_shared;
    assign rec_data[`CDE_TAKEN_SRQ +: SRQ_W] = g_srq;
    assign rec_data[`CDE_TAKEN_INVALIDATE] = g_msg[MSG_INVALIDATE];
    assign rec_data[`CDE_TAKEN_SOLICITED] = g_msg[MSG_SOLICITED];
    assign {rec_data[`CDE_TAKEN_TOO_LONG], rec_data[`CDE_TAKEN_FLUSH]} = {too_long, g_flush};
    assign rec_data[`CDE_TAKEN_BAD_TOKEN] = bad_token;
    assign rec_data[`CDE_TAKEN_WINDOW +: 64] = g_context;
    assign {peer_counts, rec_total} = {!past2, g_tag + ONE};
    assign {self_valid, self_qp, self_tag, fail_qp} = {g_flush, g_qp, g_tag, g_qp};
    assign fail_valid = g_req && (too_long || bad_token);

    // ---------------------------------------------------------------- state, outcome, trace
    function [95:0] shown;
        input [IDX_W-1:0]   n;
        input [`CDE_SRQ_LINE_W-1:0] l;
        begin
            shown = 96'd0;
            if (!c_op) shown[`CDE_TSTATE_TAKEN_LSB +: IDX_W] = n;
            shown[`CDE_TSTATE_TAIL_LSB +: IDX_W] = tail;
            shown[`CDE_TSTATE_REPORTED_LSB +: IDX_W] = done;
            if (c_shared) shown[`CDE_TSTATE_HEAD_LSB +: IDX_W] = l[`CDE_SRQ_LINE_HEAD +: IDX_W];
            if (c_shared) shown[`CDE_TSTATE_WATERMARK_LSB +: 16] = l[`CDE_SRQ_LINE_MARK +: 16];
            if (c_shared) shown[`CDE_TSTATE_ARMED_LSB] = l[`CDE_SRQ_LINE_ARMED];
        end
    endfunction

    wire [15:0] srq_16 = {{(16-SRQ_W){1'b0}}, c_srq};
    wire [3:0]  step_code = take || drop ? `CDE_SCATTER_SCATTER : `CDE_SCATTER_NOT_READY;

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        if (drop) flushing <= flushing | c_looks;
        if (fresh) flushing[fresh_qp] <= 1'b0;
        flushed <= (flushing[r_qp] || (drop && c_qp == r_qp)) && !(fresh && fresh_qp == r_qp);
        opr_valid <= c_op && !rst;
        opr_busy <= asked && waits;
        opr_state <= {op_armed, mark_next, head};
        {ev_valid, ev_srq} <= {event_now && !rst, c_srq};
        trace_valid <= (may || drop || marks) && !rst;
        trace_data <= 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] <= c_op ? `CDE_TRC_WATERMARK : `CDE_TRC_TAKE;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] <= c_op ? srq_16 : {{(16-QP_W){1'b0}}, c_qp};
        if (c_op) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_WATERMARK_WATERMARK_LSB +: 16] <= c_mark;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_WATERMARK_EVENT_LSB] <= event_now;
        end else begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_CODE_LSB +: 4] <= step_code;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SHARED_LSB] <= c_shared;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_FLUSH_LSB] <= drop;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_EVENT_LSB] <= event_now;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SRQ_LSB +: 16] <= c_shared ? srq_16 : 16'd0;
        end
        trace_data[`CDE_TRACE_OLD_LSB +: 96] <= shown(taken, line);
        trace_data[`CDE_TRACE_NEW_LSB +: 96] <= shown(taken_we ? taken_total : taken, line_next);
        if (rst) flushing <= {NUM_QP{1'b0}};
    end

endmodule

`default_nettype wire
