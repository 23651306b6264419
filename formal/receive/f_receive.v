// SPDX-License-Identifier: Apache-2.0
// f_receive: proof that each posted receive is taken once, in order, and completes once (cde_take, cde_rdone).
//
// Purpose: follows the buffers of any one QP's own queue and of any one shared queue from their post to their
//          completion. Requests, reports, flushes, credits, and all that other QPs do, are free. Assumed of cde_rpost
//          is that it accepts in order and no more than a queue holds; of the QP that it is created, and opens, with
//          nothing outstanding; of the shared queue one life. The macros NO_* leave out properties, for runs that look
//          for one of the others.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module f_receive #(
    parameter IDX_W = 3,
    parameter Q_LOG2 = 2,               // slots of a queue
    parameter RX_LOG2 = 1               // in flight of a QP
) (
    input wire             clk,
    input wire [127:0]     request,
    input wire             request_valid,
    input wire             scatter_ready,
    input wire             hold,
    input wire             flush_valid,
    input wire             flush_qp,
    input wire             op_valid,
    input wire [1:0]       op_code,
    input wire             op_srq,
    input wire [15:0]      op_mark,
    input wire             rq_hold,
    input wire             gr_room,
    input wire             gr_dead,
    input wire             set_we,
    input wire             set_qp,
    input wire             set_guard,
    input wire             set_two,
    input wire             set_shared,
    input wire             set_srq,
    input wire             set_wait,
    input wire [1:0]       qp_known,
    input wire [1:0]       qp_open,
    input wire [1:0]       qp_up,
    input wire             removed,
    input wire             peer_good,
    input wire [63:0]      peer_context,
    input wire             fresh,
    input wire             fresh_qp,
    input wire             tail_we,
    input wire             start,           // not a post: the tail is put where taking stands
    input wire [1:0]       tail_queue,
    input wire [IDX_W-1:0] tail_index,
    input wire [IDX_W-1:0] buf_index,
    input wire [447:0]     buf_data,
    input wire [1:0]       ev_waits,
    input wire [63:0]      report,
    input wire             report_valid,
    input wire             cpl_ready
);

    localparam [IDX_W-1:0] ONE = 1;
    localparam N = 1 << Q_LOG2;
    localparam F = 1 << RX_LOG2;

    reg [2:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 5;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem, unused_mem2;

    (* anyconst *) wire q;               // any one QP, any one shared queue
    (* anyconst *) wire s;

    wire                request_ready, scatter_valid, flush_take, self_room, self_valid, self_qp, taken_we, taken_qp,
        rec_we, fail_valid, peer_counts;
    wire [383:0]        scatter_data;
    wire [15:0]         scatter_dest, cpl_dest;
    wire [31:0]         scatter_user;
    wire [IDX_W-1:0]    self_tag, taken_total, rec_total, done_total;
    wire [RX_LOG2:0]    rec_slot;
    wire [198:0]        rec_data;
    wire                report_ready, done_we, done_qp, err_valid, ends, ends_qp, more, cpl_valid, cpl_user;
    wire [15:0]         err_qp, err_tag;
    wire [7:0]          err_cause;
    wire [255:0]        cpl_data;

    cde_take #(.NUM_QP(2), .QP_W(1), .NUM_SRQ(2), .SRQ_W(1), .CQ_W(1), .IDX_W(IDX_W), .RQ_LOG2(Q_LOG2),
        .SRQ_LOG2(Q_LOG2), .RX_LOG2(RX_LOG2),
        .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .s_axis_rreq_tdata(request),
            .s_axis_rreq_tvalid(request_valid && up),
        .s_axis_rreq_tready(request_ready), .m_axis_scatter_tdata(scatter_data), .m_axis_scatter_tdest(scatter_dest),
        .m_axis_scatter_tuser(scatter_user), .m_axis_scatter_tvalid(scatter_valid),
            .m_axis_scatter_tready(scatter_ready), .hold(hold),
        .flush_valid(flush_valid && up), .flush_take(flush_take), .flush_qp(flush_qp), .self_room(self_room),
            .self_valid(self_valid),
        .self_qp(self_qp), .self_tag(self_tag), .op_valid(op_valid && up), .op_code(op_code), .op_srq(op_srq),
            .op_mark(op_mark),
        .rq_hold(rq_hold), .gr_room(gr_room), .gr_dead(gr_dead), .set_we(set_we && up), .set_qp(set_qp),
        .set_data({set_guard, set_two, set_shared, set_srq, 1'b0}), .qp_known(qp_known), .qp_open(qp_open),
            .qp_up(qp_up), .removed(removed),
        .peer_counts(peer_counts), .peer_good(peer_good), .peer_context(peer_context), .fresh(fresh && up),
            .fresh_qp(fresh_qp),
        .tail_we(tail_we && up), .tail_queue(tail_queue), .tail_index(tail_index), .done_we(done_we), .done_qp(done_qp),
        .done_total(done_total), .buf_we(tail_we && !start && up), .buf_queue(tail_queue), .buf_index(buf_index),
            .buf_data(buf_data),
        .taken_we(taken_we), .taken_qp(taken_qp), .taken_total(taken_total), .rec_we(rec_we), .rec_total(rec_total),
            .rec_slot(rec_slot),
        .rec_data(rec_data), .fail_valid(fail_valid), .ev_waits(ev_waits)
    );

    cde_rdone #(.QP_W(1), .SRQ_W(1), .CQ_W(1), .IDX_W(IDX_W), .RX_LOG2(RX_LOG2), .AHEAD(3), .ECC(0)) rdone_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem2), .rst(rst), .init(init), .s_axis_rdone_tdata(report),
            .s_axis_rdone_tvalid(report_valid && up),
        .s_axis_rdone_tready(report_ready), .self_valid(self_valid && up), .self_qp(self_qp), .self_tag(self_tag),
            .self_room(self_room),
        .taken_we(rec_we && up), .taken_qp(rec_slot[RX_LOG2]), .taken_total(rec_total), .rec_we(rec_we && up),
            .rec_slot(rec_slot),
        .rec_data(rec_data), .set_we(set_we && up), .set_qp(set_qp), .set_data({set_two, set_wait, 1'b0, 64'd0}),
            .m_axis_cpl_tdata(cpl_data),
        .m_axis_cpl_tdest(cpl_dest), .m_axis_cpl_tuser(cpl_user), .m_axis_cpl_tvalid(cpl_valid),
            .m_axis_cpl_tready(cpl_ready),
        .more(more), .done_we(done_we), .done_qp(done_qp), .done_total(done_total), .fail_valid(ends),
            .fail_qp(ends_qp),
        .err_valid(err_valid), .err_cause(err_cause), .err_qp(err_qp), .err_tag(err_tag)
    );

    // ------------------------------------------------------- buffers of q's own queue and of s, what q has in flight
    reg [IDX_W-1:0] tail = 0, tail_s = 0;              // posted so far; own ones by the tag that they will have
    reg [IDX_W-1:0] taken = 0, taken_s = 0;
    reg [IDX_W-1:0] told = 0, left = 0, done = 0;      // reported, completed, and said to be
    reg [64*N-1:0]  context = 0, context_s = 0;
    reg [64*F-1:0]  flight = 0;
    reg [F-1:0]     flushed = 0;
    reg             shared = 1'b0, srq = 1'b0, two = 1'b0;
    // Cycles since the QP was given a queue of its own, until the one after it starts: it exists then, idle
    reg [2:0]       born = 0;
    reg             known_1 = 1'b0, open_1 = 1'b0;

    wire            posts = tail_we && !start && tail_queue == {1'b0, q} && up;
    wire            starts = tail_we && start && tail_queue == {1'b0, q} && up;
    wire            posts_s = tail_we && !start && tail_queue == {1'b1, s} && up;
    wire            records = rec_we && rec_slot[RX_LOG2] == q && up;
    wire            records_s = rec_we && rec_data[128] && rec_data[129] == s && up;
    wire            reports = done_we && done_qp == q && up;
    wire            sets = set_we && set_qp == q && up;
    wire [IDX_W-1:0] posted = tail - done, recorded = taken - done, posted_s = tail_s - taken_s;
    wire            empty = taken_now == done && (shared || tail == taken_now);
    wire [IDX_W-1:0] taken_now;                        // decided, the record four cycles later

    always @* if (up) begin
        if (posts) assume (qp_open[q] && !shared && posted < N && tail_index == tail + ONE && buf_index == tail);
        if (starts) assume (born == 6 && tail_index == taken_now);
        if (posts_s) assume (posted_s < N && tail_index == tail_s + ONE && buf_index == tail_s);
        if (tail_we && start) assume (tail_queue != {1'b1, s});
        // Known once created, with its queue started, and only as long as something is outstanding; then open, or up,
        // at times.
        assume ((qp_known[q] || !qp_open[q]) && (qp_open[q] || !qp_up[q]));
        if (qp_known[q]) assume (born == 0 || born == 7);
        if (born == 7) assume (!qp_up[q] && (qp_open[q] || !qp_known[q]));
        if (born == 6) assume (starts);
        if (known_1 && !qp_known[q]) assume (empty);
        if (!open_1 && qp_open[q]) assume (empty);
        if (fresh && fresh_qp == q) assume (qp_open[q] && empty);
        if (sets) assume (!qp_known[q] && !known_1 && born == 0 && empty);
    end

    always @(posedge clk) begin
        known_1 <= qp_known[q] && up;
        open_1 <= qp_open[q] && up;
        born <= sets ? 3'd1 : born == 7 ? 3'd0 : born != 0 ? born + 3'd1 : 3'd0;
        if (sets) {shared, srq, two} <= {set_shared, set_srq, set_two};
        if (posts) begin
            tail <= tail + ONE;
            context[64*tail[Q_LOG2-1:0] +: 64] <= buf_data[447:384];
        end
        if (starts) tail <= tail_index;
        if (posts_s) begin
            tail_s <= tail_s + ONE;
            context_s[64*tail_s[Q_LOG2-1:0] +: 64] <= buf_data[447:384];
        end
        if (records_s) taken_s <= taken_s + ONE;
        if (records) begin
            taken <= taken + ONE;
            flight[64*taken[RX_LOG2-1:0] +: 64] <= rec_data[128] ? rec_data[63:0] : context[64*taken[Q_LOG2-1:0] +: 64];
            flushed[taken[RX_LOG2-1:0]] <= rec_data[133];
        end
        if (reports) done <= done + ONE;
    end

    // Reports on their way to be judged: right if it names the oldest buffer that was not reported, of those whose
    // answer was given by the cycle in which it came
    reg  [4:1]  r_valid = 0, r_self = 0;
    reg  [63:0] r1, r2, r3, r4, r5;
    reg  [IDX_W-1:0] taken_1 = 0, taken_2 = 0, taken_3 = 0;        // as many cycles ago
    reg         j_valid = 1'b0, j_good = 1'b0, j_ends = 1'b0;      // judged in the cycle before
    wire        take = report_valid && report_ready && up;
    wire        for_q = r_valid[4] && r4[0] == q;
    wire        expected = for_q && r4[63:40] == 0 && r4[15:1] == 0 && told != taken_3 &&
                           r4[31:16] == {{(16-IDX_W){1'b0}}, told} && flushed[told[RX_LOG2-1:0]] == r_self[4];
    // The second of two entries is next; one has left in the cycle before
    reg         second = 1'b0, left_1 = 1'b0;
    wire        offers = cpl_valid && cpl_data[208] == q && up;
    wire        last = !two || second;
    wire        leaves = offers && cpl_ready && last;

    (* hierconn *) wire \rdone_i.own_take ;
    (* hierconn *) wire [63:0] \rdone_i.self_data ;
    always @(posedge clk) begin
        if (up) r_valid <= {r_valid[3:1], take || \rdone_i.own_take };
        r_self <= {r_self[3:1], !take};
        {r5, r4, r3, r2, r1} <= {r4, r3, r2, r1, take ? report : \rdone_i.self_data };
        {taken_3, taken_2, taken_1} <= {taken_2, taken_1, taken};
        j_valid <= r_valid[4];
        j_good <= expected;
        j_ends <= expected && r4[39:32] != 0 && !r_self[4];
        if (expected) told <= told + ONE;
        if (offers && cpl_ready) second <= !last;
        if (leaves) left <= left + ONE;
        left_1 <= leaves;
    end

`ifndef NO_TAGS
    always @* if (up && records) begin
        tags_in_order: assert (rec_total == taken + ONE && rec_slot == {q, taken[RX_LOG2-1:0]} && recorded < F);
        of_its_queue: assert (rec_data[128] == shared && (!shared || rec_data[129] == srq));
    end
`endif
`ifndef NO_OWN
    always @* if (up && records && !rec_data[128]) begin
        only_posted: assert (taken != tail);
        in_post_order: assert (rec_data[63:0] == context[64*taken[Q_LOG2-1:0] +: 64]);
    end
`endif
`ifndef NO_SHARED
    always @* if (up && records_s) shared_only_posted: assert (taken_s != tail_s);
`endif
`ifndef NO_CONTEXTS
    always @* if (up && records_s) begin
        shared_in_post_order: assert (rec_data[63:0] == context_s[64*taken_s[Q_LOG2-1:0] +: 64]);
    end
`endif
`ifndef NO_REPORTS
    always @* if (up) begin
        if (take) one_at_a_time: assert (!\rdone_i.own_take );
        if (err_valid) judged_once: assert (j_valid && err_qp == r5[15:0] && err_tag == r5[31:16]);
        if (j_valid && r5[0] == q) begin
            unexpected_is_refused: assert (j_good || err_valid);
            expected_is_taken: assert (!j_good || !err_valid);
        end
        ends_once: assert ((ends && ends_qp == q) == j_ends);
        if (told != left) waits_for_the_sink: assert (cpl_valid);
        if (offers) begin
            completes_expected: assert (told != left);
            both_entries: assert (more == !last);
        end
        if (leaves) completes_once: assert (!cpl_user && cpl_data[63:0] == flight[64*left[RX_LOG2-1:0] +: 64]);
        said_once: assert (reports == left_1);
        if (reports) said_in_order: assert (done_total == left);
    end
`endif

    // ---------------------------------------------------------------- ports
    reg  [5:0] owed = 0;                               // answers
    wire       waits, waits_s;
    (* hierconn *) wire \dut.out_fifo.push_valid , \dut.out_fifo.push_ready ,
        \rdone_i.self_fifo.push_valid , \rdone_i.self_fifo.push_ready ;
    always @(posedge clk) owed <= owed + (request_valid && request_ready && up) - (scatter_valid &&
        scatter_ready && up);
`ifndef NO_ANSWERS
    always @* if (up) begin
        answered_once: assert (!scatter_valid || owed != 0);
        answer_has_room: assert (!\dut.out_fifo.push_valid || \dut.out_fifo.push_ready );
        flush_has_room: assert (!\rdone_i.self_fifo.push_valid || \rdone_i.self_fifo.push_ready );
    end
    axis_props #(.W(432)) scatter_i (
        .clk(clk), .rst(!up), .valid(scatter_valid && up), .ready(scatter_ready),
        .data({scatter_data, scatter_dest, scatter_user}), .held(waits_s)
    );
`endif
`ifndef NO_REPORTS
    axis_props #(.W(273)) cpl_i (
        .clk(clk), .rst(!up), .valid(cpl_valid && cpl_data[208] == q && up), .ready(cpl_ready),
        .data({cpl_data, cpl_dest, cpl_user}), .held(waits)
    );
`endif

    (* hierconn *) wire \dut.d_req , \dut.d_take , \dut.d_flush , \dut.e_req , \dut.e_take , \dut.e_flush ,
        \dut.f_req , \dut.f_take , \dut.f_flush , \dut.g_req , \dut.g_take , \dut.g_flush ,
        \dut.d_qp , \dut.e_qp , \dut.f_qp , \dut.g_qp ;
    wire d_q = ((\dut.d_req && \dut.d_take ) || \dut.d_flush ) && \dut.d_qp == q;
    wire e_q = ((\dut.e_req && \dut.e_take ) || \dut.e_flush ) && \dut.e_qp == q;
    wire f_q = ((\dut.f_req && \dut.f_take ) || \dut.f_flush ) && \dut.f_qp == q;
    wire g_q = ((\dut.g_req && \dut.g_take ) || \dut.g_flush ) && \dut.g_qp == q;
    assign taken_now = up ? taken + (d_q ? ONE : 0) + (e_q ? ONE : 0) + (f_q ? ONE : 0) + (g_q ? ONE : 0) : 0;

`ifndef PROPERTIES_ONLY
    `include "f_receive_invariants.vh"
`endif

endmodule

`default_nettype wire
