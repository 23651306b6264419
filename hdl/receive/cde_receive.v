// SPDX-License-Identifier: Apache-2.0
// cde_receive: receive side of the engine.
//
// Purpose: groups receive posts (cde_rpost), taking (cde_take), completion (cde_rdone) and the commands of shared
//          receive queues (cde_srq_ctrl); joins their completions with those of the send side. Every pin:
//          docs/receive.md.
// Ports:   posts, credits, commands and completions to and from cde_core; states, settings and failures of QPs to and
//          from cde_posting; s_axis_rreq, m_axis_scatter, s_axis_rdone; interrupts, error reports, counter steps, trace
//          lanes 5 to 7.
// Latency: see the blocks.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_receive #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter NUM_SRQ = 16,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
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

    // Posts and doorbells of receives
    input  wire              post_valid,
    output wire              post_ready,
    input  wire [1:0]        post_kind,
    input  wire [PAGE_W-1:0] post_page,
    input  wire [511:0]      post_data,
    input  wire [63:0]       post_word,
    output wire              post_res_valid,
    output wire [7:0]        post_res_cause,

    // Credits: posts on own queues, takers from shared ones
    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    output wire [1:0]        rq_count,
    input  wire              gr_room,
    input  wire              gr_dead,
    output wire              gr_take,
    output wire              rq2_valid,
    output wire [CQ_W-1:0]   rq2_cq,
    output wire [1:0]        rq2_count,
    input  wire              gr2_room,
    input  wire              gr2_dead,
    output wire              gr2_take,

    // Commands of SRQs
    input  wire              qc_start,       // of one of them
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output wire              qc_mine,        // the command is one of these
    output wire              qc_done,
    output wire [7:0]        qc_result,
    output wire [191:0]      qc_outs,

    // Queue pairs: states, settings, looks
    input  wire [NUM_QP-1:0] qp_known,
    input  wire [NUM_QP-1:0] qp_open,
    output wire [QP_W-1:0]   look_qp,        // in the next cycle: live, open
    input  wire              look_live,
    input  wire              look_open,
    input  wire [NUM_QP-1:0] qp_up,
    input  wire              down_valid,     // a QP takes no more receive posts
    input  wire              fresh,          // a connection begins
    input  wire [QP_W-1:0]   step_qp,        // of both
    input  wire              hold,
    input  wire              hold_requests,
    input  wire              removed,

    // Keys: lookups of segments, invalidation by the peer, what ends a connection
    output wire [95:0]       keys,
    input  wire [3*`CDE_FOUND_W-1:0]  found,
    output wire              peer_valid,
    output wire [QP_W-1:0]   peer_qp,
    output wire [31:0]       peer_key,
    output wire              peer_counts,
    input  wire              peer_good,
    input  wire [63:0]       peer_context,
    input  wire              bad_valid,
    input  wire [QP_W-1:0]   bad_qp,

    input  wire              set_we,         // creation
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_NEW_W-1:0] set_data,
    output reg               rx_empty,       // nothing of set_qp is posted and not completed
    input  wire              use_we,
    input  wire              use_up,
    input  wire [15:0]       srqi_number,
    output wire              srqi_live,
    output wire [PAGE_W-1:0] srqi_page,
    output wire              fail_valid,
    output wire              fail_pending,
    input  wire              fail_ready,
    output wire [QP_W-1:0]   fail_qp,

    // Transport
    input  wire [127:0]      s_axis_rreq_tdata,
    input  wire              s_axis_rreq_tvalid,
    output wire              s_axis_rreq_tready,
    output wire [383:0]      m_axis_scatter_tdata,
    output wire [15:0]       m_axis_scatter_tdest,
    output wire [31:0]       m_axis_scatter_tuser,
    output wire              m_axis_scatter_tvalid,
    input  wire              m_axis_scatter_tready,
    input  wire [63:0]       s_axis_rdone_tdata,
    input  wire              s_axis_rdone_tvalid,
    output wire              s_axis_rdone_tready,

    // Completions: of sends in, of all out
    input  wire [255:0]      s_axis_cpl_tdata,
    input  wire [15:0]       s_axis_cpl_tdest,
    input  wire              s_axis_cpl_tuser,
    input  wire              s_axis_cpl_tvalid,
    output wire              s_axis_cpl_tready,
    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,

    output wire              irq_valid,
    input  wire              irq_ready,
    input  wire              irq_sent,
    output wire [15:0]       irq_vector,
    output wire [2:0]        pe_valid,
    output wire [23:0]       pe_cause,
    output wire [47:0]       pe_object,
    output wire [47:0]       pe_index,
    output reg  [9:0]        pr_step,        // a cycle after what it counts
    output wire [2:0]        trace_valid,
    output wire [767:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6;

    `include "cde_rx_ops.vh"

    // ---------------------------------------------------------------- settings of a new QP
    wire            set_guard = set_data[`CDE_QP_NEW_GUARDED], set_two = set_data[`CDE_QP_NEW_TWO];
    wire            set_wait = set_data[`CDE_QP_NEW_WAIT], set_shared = set_data[`CDE_QP_NEW_SHARED];
    wire [15:0]     set_srq = set_data[`CDE_QP_NEW_SRQ +: 16], set_depth = set_data[`CDE_QP_NEW_DEPTH +: 16];
    wire [15:0]     set_zone = set_data[`CDE_QP_NEW_ZONE +: 16];
    wire [PAGE_W-1:0] set_page = set_data[`CDE_QP_NEW_PAGE +: PAGE_W];
    wire [CQ_W-1:0] set_cq = set_data[`CDE_QP_NEW_CQ +: CQ_W];
    wire [63:0]     set_context = set_data[`CDE_QP_NEW_CONTEXT +: 64];
    // Steps of a receive queue: of a new QP, or of SRQ commands. Posts wait for a register alone.
    reg             op_valid;
    reg [1:0]       op_code;
    reg [QP_W:0]    op_queue;
    reg [IDX_W-1:0] op_size;
    reg             tk_step; reg [1:0] tk_step_code;      // a step of taking

    // For posts on its queue, taking from it, and completion; and of an SRQ for posts.
    wire [`CDE_SRQ_SET_W-1:0] srq_set;
    wire [`CDE_RQ_POST_W-1:0] qp_post, srq_post;
    wire [`CDE_RQ_TAKE_W-1:0] set_take;
    wire [`CDE_RQ_DONE_W-1:0] set_done;

    assign qp_post[`CDE_RQ_POST_CQ +: CQ_W] = set_cq;
    assign qp_post[`CDE_RQ_POST_PAGE +: PAGE_W] = set_page;
    assign qp_post[`CDE_RQ_POST_ZONE +: 16] = set_zone;
    assign qp_post[`CDE_RQ_POST_SHARED] = set_shared;
    assign qp_post[`CDE_RQ_POST_TWO] = set_two;
    assign srq_post[`CDE_RQ_POST_CQ +: CQ_W] = {CQ_W{1'b0}};
    assign srq_post[`CDE_RQ_POST_PAGE +: PAGE_W] = srq_set[`CDE_SRQ_SET_PAGE +: PAGE_W];
    assign srq_post[`CDE_RQ_POST_ZONE +: 16] = srq_set[`CDE_SRQ_SET_ZONE +: 16];
    assign srq_post[`CDE_RQ_POST_SHARED] = 1'b0;
    assign srq_post[`CDE_RQ_POST_TWO] = 1'b0;
    assign set_take[`CDE_RQ_TAKE_CQ +: CQ_W] = set_cq;
    assign set_take[`CDE_RQ_TAKE_SRQ +: SRQ_W] = set_srq[SRQ_W-1:0];
    assign set_take[`CDE_RQ_TAKE_SHARED] = set_shared;
    assign set_take[`CDE_RQ_TAKE_TWO] = set_two;
    assign set_take[`CDE_RQ_TAKE_GUARDED] = set_guard;
    assign set_done[`CDE_RQ_DONE_CONTEXT +: 64] = set_context;
    assign set_done[`CDE_RQ_DONE_CQ +: CQ_W] = set_cq;
    assign set_done[`CDE_RQ_DONE_WAIT] = set_wait;
    assign set_done[`CDE_RQ_DONE_TWO] = set_two;

    wire unused_set = &{1'b0, set_srq, set_depth};

    // ---------------------------------------------------------------- links
    wire srq_set_we, rp_valid, rpr_valid, rpr_ok, tk_valid, tk_ready, tkr_valid, tkr_busy, ev_valid;
    wire [1:0] rp_code, tk_code;
    wire [SRQ_W-1:0] op_srq, ev_srq, completed_srq;
    wire [IDX_W-1:0] rp_size, done_total, completed_total, buf_index, tail, taken_total, rec_total, self_tag;
    wire [`CDE_RQ_W-1:0] rpr_indices;
    wire [`CDE_SRQ_LINE_W-1:0] tkr_state;
    wire [15:0] tk_mark;
    wire [NUM_SRQ-1:0] srq_live, ev_waits;
    wire done_we, completed_we, buf_we, tail_we, taken_we, rec_we, self_valid, self_room, take_fails, bad_token;
    wire [QP_W-1:0] done_qp, rdone_qp, taken_qp, self_qp, take_qp;
    wire [QP_W:0] buf_queue, tail_queue;
    wire [`CDE_BUFFER_W-1:0] buf_data;
    wire [QP_W+RX_LOG2-1:0] rec_slot;
    wire [`CDE_TAKEN_W-1:0] rec_data;
    wire flush_valid, flush_take, flush_again, unused_flush_pending;
    wire [QP_W-1:0] flush_qp, flush_again_qp;
    wire [2:0] take_count;
    wire rdone_count, rdone_fails;
    wire [255:0] cpl_data;
    wire [15:0] cpl_dest;
    wire cpl_silent, cpl_valid, cpl_ready, cpl_more;

    // ---------------------------------------------------------------- posts
    wire op_ready, post_room;
    wire op_next = !op_valid || op_ready;
    wire rp_ready = op_next;                 // one command at a time: none meets a new QP
    wire tk_step_ready;
    assign tk_ready = !tk_step || tk_step_ready;
    reg  post_we;                            // settings for posts
    reg  [QP_W:0] post_queue;
    reg  [`CDE_RQ_POST_W-1:0] post_set;

    cde_rpost #(
        .QP_W(QP_W), .NUM_SRQ(NUM_SRQ), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W), .RQ_LOG2(RQ_LOG2),
        .SRQ_LOG2(SRQ_LOG2), .ECC(ECC)
    ) rpost_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .init(init),
        .post_valid(post_valid && !hold), .post_ready(post_room), .post_kind(post_kind), .post_page(post_page),
        .post_data(post_data), .post_word(post_word), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause),
        .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_queue(op_queue), .op_size(op_size),
        .opr_valid(rpr_valid), .opr_ok(rpr_ok), .opr_indices(rpr_indices),
        .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq), .rq_count(rq_count), .removed(removed),
        .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take),
        .set_we(post_we), .set_queue(post_queue), .set_data(post_set),
        .look_qp(look_qp), .look_live(look_live), .look_open(look_open), .srq_live(srq_live), .keys(keys),
        .found(found),
        .done_we(done_we), .done_qp(done_qp), .done_total(done_total), .completed_we(completed_we),
        .completed_srq(completed_srq), .completed_total(completed_total), .buf_we(buf_we), .buf_queue(buf_queue),
        .buf_index(buf_index), .buf_data(buf_data), .tail_we(tail_we), .tail_queue(tail_queue), .tail(tail),
        .trace_valid(trace_valid[1]), .trace_data(trace_data[511:256])
    );

    assign post_ready = post_room && !hold;

    always @(posedge clk) begin
        if (op_next) begin
            op_valid <= set_we || rp_valid;
            op_code <= set_we ? RP_START : rp_code;
            op_queue <= set_we ? {1'b0, set_qp} : {1'b1, {(QP_W-SRQ_W){1'b0}}, op_srq};
            op_size <= set_we ? set_depth[IDX_W-1:0] : rp_size;
        end
        if (tk_ready) {tk_step, tk_step_code} <= {tk_valid, tk_code};
        {post_we, post_set} <= {set_we || srq_set_we, set_we ? qp_post : srq_post};
        post_queue <= set_we ? {1'b0, set_qp} : {1'b1, {(QP_W-SRQ_W){1'b0}}, op_srq};
        if (rst) {op_valid, tk_step, post_we} <= 3'd0;
    end

    // ---------------------------------------------------------------- taking
    cde_arbiter #(.NUM_QP(NUM_QP), .QP_W(QP_W)) flush_i (
        .clk(clk), .rst(rst), .ask0(down_valid), .ask0_qp(step_qp), .ask1(done_we && !qp_open[done_qp]),
        .ask1_qp(done_qp),
        .ask2(flush_again), .ask2_qp(flush_again_qp), .pending(unused_flush_pending),
        .offer_valid(flush_valid), .offer_qp(flush_qp), .offer_take(flush_take)
    );

    cde_take #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .NUM_SRQ(NUM_SRQ), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .RQ_LOG2(RQ_LOG2),
        .SRQ_LOG2(SRQ_LOG2), .RX_LOG2(RX_LOG2), .ECC(ECC)
    ) take_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .rst(rst), .init(init), .s_axis_rreq_tdata(s_axis_rreq_tdata),
        .s_axis_rreq_tvalid(s_axis_rreq_tvalid), .s_axis_rreq_tready(s_axis_rreq_tready),
        .m_axis_scatter_tdata(m_axis_scatter_tdata), .m_axis_scatter_tdest(m_axis_scatter_tdest),
        .m_axis_scatter_tuser(m_axis_scatter_tuser), .m_axis_scatter_tvalid(m_axis_scatter_tvalid),
        .m_axis_scatter_tready(m_axis_scatter_tready), .hold(hold || hold_requests), .flush_valid(flush_valid),
        .flush_take(flush_take),
        .flush_qp(flush_qp), .flush_again(flush_again), .flush_again_qp(flush_again_qp), .self_room(self_room),
        .self_valid(self_valid), .self_qp(self_qp), .self_tag(self_tag), .op_valid(tk_step), .op_ready(tk_step_ready),
        .op_code(tk_step_code), .op_srq(op_srq), .op_mark(tk_mark), .opr_valid(tkr_valid), .opr_busy(tkr_busy),
        .opr_state(tkr_state), .rq_valid(rq2_valid), .rq_hold(rq_hold), .rq_cq(rq2_cq), .rq_count(rq2_count),
        .gr_room(gr2_room),
        .gr_dead(gr2_dead), .gr_take(gr2_take), .set_we(set_we), .set_qp(set_qp),
        .set_data(set_take), .removed(removed), .peer_valid(peer_valid),
        .peer_qp(peer_qp), .peer_key(peer_key), .peer_counts(peer_counts), .peer_good(peer_good),
        .peer_context(peer_context), .qp_known(qp_known), .qp_open(qp_open), .qp_up(qp_up),
        .fresh(fresh), .fresh_qp(step_qp), .tail_we(tail_we), .tail_queue(tail_queue), .tail_index(tail),
        .done_we(done_we),
        .done_qp(done_qp), .done_total(done_total), .buf_we(buf_we), .buf_queue(buf_queue), .buf_index(buf_index),
        .buf_data(buf_data), .taken_we(taken_we), .taken_qp(taken_qp), .taken_total(taken_total), .rec_we(rec_we),
        .rec_total(rec_total), .rec_slot(rec_slot), .rec_data(rec_data), .fail_valid(take_fails), .fail_qp(take_qp),
        .bad_token(bad_token), .ev_valid(ev_valid),
        .ev_srq(ev_srq), .ev_waits(ev_waits), .err_valid(pe_valid[0]), .err_qp(pe_object[15:0]), .count(take_count),
        .trace_valid(trace_valid[0]), .trace_data(trace_data[255:0])
    );

    assign pe_cause[7:0] = `CDE_CAUSE_RREQ_BAD;
    assign pe_index[15:0] = 16'd0;
    assign pe_valid[2] = bad_token;
    assign pe_cause[23:16] = `CDE_CAUSE_TOKEN_REFUSED;
    assign pe_object[47:32] = {{(16-QP_W){1'b0}}, take_qp};
    assign pe_index[47:32] = 16'd0;

    // ---------------------------------------------------------------- completion
    cde_rdone #(.QP_W(QP_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .RX_LOG2(RX_LOG2), .ECC(ECC)) rdone_i (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .rst(rst), .init(init), .s_axis_rdone_tdata(s_axis_rdone_tdata),
        .s_axis_rdone_tvalid(s_axis_rdone_tvalid), .s_axis_rdone_tready(s_axis_rdone_tready), .self_valid(self_valid),
        .self_qp(self_qp), .self_tag(self_tag), .self_room(self_room), .taken_we(rec_we),
        .taken_qp(rec_slot[RX_LOG2 +: QP_W]), .taken_total(rec_total), .rec_we(rec_we), .rec_slot(rec_slot),
        .rec_data(rec_data), .set_we(set_we),
        .set_qp(set_qp), .set_data(set_done), .m_axis_cpl_tdata(cpl_data),
        .m_axis_cpl_tdest(cpl_dest), .m_axis_cpl_tuser(cpl_silent), .m_axis_cpl_tvalid(cpl_valid),
        .m_axis_cpl_tready(cpl_ready), .more(cpl_more), .done_we(done_we),
        .done_qp(done_qp), .done_total(done_total), .completed_we(completed_we), .completed_srq(completed_srq),
        .completed_total(completed_total), .fail_valid(rdone_fails), .fail_qp(rdone_qp), .err_valid(pe_valid[1]),
        .err_cause(pe_cause[15:8]), .err_qp(pe_object[31:16]), .err_tag(pe_index[31:16]), .count(rdone_count),
        .trace_valid(trace_valid[2]), .trace_data(trace_data[767:512])
    );

    // Round robin between sends and receives when both complete.
    reg  recv_next;
    wire recv_now = cpl_valid && (!s_axis_cpl_tvalid || recv_next);

    assign m_axis_cpl_tvalid = cpl_valid || s_axis_cpl_tvalid;
    assign m_axis_cpl_tdata = recv_now ? cpl_data : s_axis_cpl_tdata;
    assign m_axis_cpl_tdest = recv_now ? cpl_dest : s_axis_cpl_tdest;
    assign m_axis_cpl_tuser = recv_now ? cpl_silent : s_axis_cpl_tuser;
    assign cpl_ready = m_axis_cpl_tready && (!s_axis_cpl_tvalid || recv_next);
    assign s_axis_cpl_tready = m_axis_cpl_tready && !recv_now;

    always @(posedge clk) begin
        // Both entries of a receive.
        if (m_axis_cpl_tvalid && m_axis_cpl_tready) recv_next <= !recv_now || cpl_more;
        if (rst) recv_next <= 1'b0;
    end

    // ---------------------------------------------------------------- whose connection is to end
    // The reports of one that has ended, many perhaps, must take no slots from posts.
    cde_arbiter #(.NUM_QP(NUM_QP), .QP_W(QP_W)) fail_i (
        .clk(clk), .rst(rst), .ask0(take_fails), .ask0_qp(take_qp),
        .ask1(rdone_fails && qp_up[rdone_qp]), .ask1_qp(rdone_qp), .ask2(bad_valid),
        .ask2_qp(bad_qp), .pending(fail_pending), .offer_valid(fail_valid),
        .offer_qp(fail_qp), .offer_take(fail_valid && fail_ready)
    );

    // ---------------------------------------------------------------- what set_qp has posted and not completed
    wire [IDX_W-1:0] look_taken, look_tail, look_done;
    wire             look_shared;

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) taken_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(taken_we), .waddr(taken_qp), .wdata(taken_total),
        .raddr(set_qp), .rdata(look_taken)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) tail_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(tail_we && !tail_queue[QP_W]),
        .waddr(tail_queue[QP_W-1:0]), .wdata(tail), .raddr(set_qp), .rdata(look_tail)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) done_ram (
        .clk(clk), .mem_i(mem5), .mem_o(mem6), .we(done_we), .waddr(done_qp), .wdata(done_total),
        .raddr(set_qp), .rdata(look_done)
    );

    cde_ram #(.W(1), .AW(QP_W), .ECC(ECC)) shared_ram (
        .clk(clk), .mem_i(mem6), .mem_o(mem_o), .we(set_we), .waddr(set_qp), .wdata(set_shared), .raddr(set_qp),
        .rdata(look_shared)
    );

    always @(posedge clk) rx_empty <= look_taken == look_done && (look_shared || look_tail == look_taken);

    // ---------------------------------------------------------------- commands
    assign qc_mine = qc_command[7:4] == 4'h3 && qc_command[3:0] <= 4'h4;

    cde_srq_ctrl #(
        .NUM_SRQ(NUM_SRQ), .SRQ_W(SRQ_W), .QP_W(QP_W), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W), .IDX_W(IDX_W),
        .SRQ_LOG2(SRQ_LOG2)
    ) srq_ctrl_i (
        .clk(clk), .rst(rst), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args),
        .qc_done(qc_done),
        .qc_result(qc_result), .qc_outs(qc_outs), .rp_valid(rp_valid), .rp_ready(rp_ready), .rp_code(rp_code),
        .op_srq(op_srq), .rp_size(rp_size), .rpr_valid(rpr_valid), .rpr_ok(rpr_ok), .rpr_indices(rpr_indices),
        .tk_valid(tk_valid), .tk_ready(tk_ready), .tk_code(tk_code), .tk_mark(tk_mark), .tkr_valid(tkr_valid),
        .tkr_busy(tkr_busy), .tkr_state(tkr_state), .set_we(srq_set_we), .set_data(srq_set), .srq_live(srq_live),
        .use_we(use_we), .use_up(use_up), .srqi_number(srqi_number), .srqi_live(srqi_live), .srqi_page(srqi_page),
        .ev_valid(ev_valid), .ev_srq(ev_srq), .ev_waits(ev_waits), .irq_valid(irq_valid), .irq_ready(irq_ready),
        .irq_sent(irq_sent),
        .irq_vector(irq_vector)
    );

    always @(posedge clk) pr_step <= {10{!rst}} & {1'b0, rdone_count, take_count[2] && pe_valid[1],
        take_count[2] ^ pe_valid[1], 1'b0, take_count[1], 1'b0, take_count[0], 1'b0, buf_we};

endmodule

`default_nettype wire
