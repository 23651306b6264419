// SPDX-License-Identifier: Apache-2.0
// cde_posting: posting side of the engine.
//
// Purpose: groups admission and deferral (cde_post), dispatch (cde_dispatch), done reports (cde_done), retirement
//          (cde_retire) and QP commands (cde_qp_ctrl). Every pin: docs/posting.md.
// Ports:   posts, credits, QP commands and completions to and from cde_core; m_axis_work, s_axis_done, s_axis_conn,
//          m_axis_term; error reports, counter steps, trace lanes 3 and 4.
// Latency: see the blocks.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"
`include "cde_receive_records.vh"

module cde_posting #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter BURST = 8,
    parameter MOD_TICK = 256,
    parameter RQ_LOG2 = 4,
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
    output wire              post_res_valid,
    output wire [7:0]        post_res_cause,

    output wire              rq_valid,
    input  wire              rq_hold,
    output wire [CQ_W-1:0]   rq_cq,
    input  wire              gr_room,
    input  wire              gr_dead,
    output wire              gr_take,

    input  wire              qc_start,
    input  wire [7:0]        qc_command,
    input  wire [255:0]      qc_args,
    output wire              qc_done,
    output wire [7:0]        qc_result,
    output wire [255:0]      qc_outs,
    input  wire              cqi_we,
    input  wire              cqi_alive,
    input  wire [CQ_W-1:0]   cqi_cq,
    input  wire [PAGE_W-1:0] cqi_page,
    output wire              cqi_used,

    // Queue pairs for the receive side: states, settings, looks, failing receives
    output wire [NUM_QP-1:0] qp_known,
    output wire [NUM_QP-1:0] qp_open,
    input  wire [QP_W-1:0]   look_qp,        // in the next cycle: live, open
    output wire              look_live,
    output wire              look_open,
    output wire [NUM_QP-1:0] qp_up,
    output wire              closes,
    output wire              fresh,
    output wire [QP_W-1:0]   step_qp,
    output wire              hold,
    output wire              created,
    output wire [QP_W-1:0]   set_qp,
    output wire [`CDE_QP_NEW_W-1:0] set_receive,
    input  wire              rx_empty,
    input  wire              keys_held,
    output wire              use_we,
    output wire              use_up,
    output wire [15:0]       srqi_number,
    input  wire              srqi_live,
    input  wire [PAGE_W-1:0] srqi_page,
    input  wire              rfail_pending,
    input  wire              removed,
    input  wire              rfail_valid,
    output wire              rfail_ready,
    input  wire [QP_W-1:0]   rfail_qp,

    // Keys: local requests, invalidations for Reads, failing local requests
    output wire              loc_valid,
    output wire [QP_W-1:0]   loc_qp,
    output wire [511:0]      loc_post,
    input  wire              loc_done,
    output wire              ri_valid,
    output wire [QP_W-1:0]   ri_qp,
    output wire [31:0]       ri_key,
    input  wire              ri_done,
    input  wire [7:0]        key_status,     // of either
    input  wire              kfail_valid,
    output wire              kfail_ready,
    input  wire [QP_W-1:0]   kfail_qp,

    output wire [511:0]      m_axis_work_tdata,
    output wire [15:0]       m_axis_work_tdest,
    output wire [63:0]       m_axis_work_tuser,
    output wire              m_axis_work_tlast,
    output wire              m_axis_work_tvalid,
    input  wire              m_axis_work_tready,
    input  wire [63:0]       s_axis_done_tdata,
    input  wire              s_axis_done_tvalid,
    output wire              s_axis_done_tready,
    input  wire [31:0]       s_axis_conn_tdata,
    input  wire              s_axis_conn_tvalid,
    output wire              s_axis_conn_tready,
    output wire [31:0]       m_axis_term_tdata,
    output wire              m_axis_term_tvalid,
    input  wire              m_axis_term_tready,

    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,

    // Error reports of cde_qp_ctrl and cde_done; steps of CNT_POSTS, _INDICATED, _DONE, _DONE_REFUSED, 3 bits each
    output wire [1:0]        pe_valid,
    output wire [15:0]       pe_cause,
    output wire [31:0]       pe_object,
    output wire [31:0]       pe_index,
    output reg  [11:0]       pe_step,        // a cycle after what it counts

    output wire [1:0]        trace_valid,
    output wire [511:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;

    wire op_valid, op_void, op_empty, opr_valid;
    wire [3:0] op_code, op_target, opr_code, opr_old, opr_new;
    wire [QP_W-1:0] op_qp, opr_qp;
    wire [7:0] opr_result;
    wire [`CDE_SQ_W-1:0] opr_indices;
    wire set_we, peer_we;
    wire [`CDE_QP_POST_W-1:0] set_post;
    wire [`CDE_QP_RETIRE_W-1:0] set_retire;
    wire [23:0] set_peer;
    wire early_valid, acc_valid, end_we, end_last, rel_valid, rel_we;
    wire [QP_W-1:0] early_qp, acc_qp;
    assign step_qp = acc_qp;
    wire [SQ_LOG2-1:0] acc_slot, end_slot, ind_slot, ind_tag;
    wire [IDX_W-1:0] rel_index;
    wire [511:0] acc_data;
    wire [`CDE_VERB_W-1:0] acc_verb;
    wire [1:0]         acc_kind = acc_verb[`CDE_VERB_KIND +: 2];
    wire [NUM_QP-1:0] stop, bad;
    wire ret_we, rr_valid;
    wire [QP_W-1:0] ret_qp;
    wire [IDX_W-1:0] ret_index, rr_total;
    wire ind_valid, ind_done, ind_ripe;
    wire [7:0] ind_status;
    wire [QP_W-1:0] ind_qp;
    wire [IDX_W-1:0] ind_next, ind_tags;
    wire fail_valid, seen_valid, rep_we, bad_we;
    wire [QP_W-1:0] fail_qp, seen_qp, rep_qp;
    wire [IDX_W-1:0] rep_total, rep_tags, bad_tag;
    wire [SQ_LOG2:0] rep_ripe;
    wire [7:0] bad_status;

    cde_post #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .CQ_W(CQ_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2),
        .MOD_TICK(MOD_TICK), .ECC(ECC)
    ) post_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .init(init),
        .post_valid(post_valid), .post_ready(post_ready), .post_page(post_page), .post_data(post_data),
        .post_res_valid(post_res_valid), .post_res_cause(post_res_cause),
        .op_valid(op_valid), .op_void(op_void), .op_code(op_code), .op_target(op_target), .op_qp(op_qp),
        .op_empty(op_empty), .removed(removed),
        .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp), .opr_result(opr_result), .opr_old(opr_old),
        .opr_new(opr_new), .opr_indices(opr_indices),
        .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq), .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take),
        .set_we(set_we), .set_qp(set_qp), .set_data(set_post),
        .early_valid(early_valid), .early_qp(early_qp),
        .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot), .acc_data(acc_data), .acc_verb(acc_verb),
        .end_we(end_we), .end_slot(end_slot), .end_last(end_last),
        .rel_valid(rel_valid), .rel_we(rel_we), .rel_index(rel_index), .stop(stop), .fresh(fresh),
        .qp_known(qp_known), .qp_open(qp_open), .qp_up(qp_up), .closes(closes), .look_qp(look_qp),
        .look_live(look_live), .look_open(look_open), .ret_we(ret_we),
        .ret_qp(ret_qp), .ret_index(ret_index),
        .trace_valid(trace_valid[0]), .trace_data(trace_data[255:0])
    );

    cde_dispatch #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(BURST), .ECC(ECC)
    ) dispatch_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .rst(rst), .init(init),
        .early_valid(early_valid), .early_qp(early_qp), .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_data(acc_data),
        .acc_kind(acc_kind),
        .end_we(end_we), .end_slot(end_slot), .end_last(end_last),
        .rel_valid(rel_valid), .rel_we(rel_we), .rel_index(rel_index), .stop(stop),
        .rr_valid(rr_valid), .rr_we(ret_we), .rr_qp(ret_qp), .rr_total(rr_total),
        .peer_we(peer_we), .peer_qp(set_qp), .peer(set_peer), .guard_we(created),
        .guard(set_receive[`CDE_QP_NEW_GUARDED]),
        .m_axis_work_tdata(m_axis_work_tdata), .m_axis_work_tdest(m_axis_work_tdest),
        .m_axis_work_tuser(m_axis_work_tuser),
        .m_axis_work_tlast(m_axis_work_tlast), .m_axis_work_tvalid(m_axis_work_tvalid),
        .m_axis_work_tready(m_axis_work_tready),
        .loc_valid(loc_valid), .loc_qp(loc_qp), .loc_post(loc_post), .loc_done(loc_done), .loc_status(key_status),
        .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe),
        .ind_status(ind_status), .ind_next(ind_next), .ind_tags(ind_tags), .ind_tag(ind_tag)
    );

    cde_done #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .ECC(ECC)
    ) done_i (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .rst(rst), .init(init),
        .s_axis_done_tdata(s_axis_done_tdata), .s_axis_done_tvalid(s_axis_done_tvalid),
        .s_axis_done_tready(s_axis_done_tready),
        .tags_we(ind_valid), .tags_qp(ind_qp), .tags(ind_tags), .tags_newest(ind_tag),
        .tags_next(ind_next[SQ_LOG2:0]),
        .fail_valid(fail_valid), .fail_qp(fail_qp), .fresh(fresh), .fresh_qp(acc_qp),
        .seen_valid(seen_valid), .seen_qp(seen_qp), .rep_we(rep_we), .rep_qp(rep_qp), .rep_total(rep_total),
        .rep_tags(rep_tags),
        .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag), .bad_status(bad_status), .bad(bad),
        .err_valid(pe_valid[1]), .err_cause(pe_cause[15:8]), .err_qp(pe_object[31:16]), .err_tag(pe_index[31:16])
    );

    cde_retire #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .ECC(ECC)
    ) retire_i (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .rst(rst), .init(init),
        .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_context(acc_data[`CDE_POST_CONTEXT_LSB +: 64]),
        .acc_silent(acc_data[`CDE_POST_SILENT_SUCCESS_LSB]), .acc_verb(acc_verb),
        .acc_unkeys(acc_data[`CDE_POST_RDMA_READ_LOCAL_INVALIDATE_LSB] && acc_kind == `CDE_KIND_READ),
        .acc_key(acc_data[`CDE_POST_SEGMENTS_LSB +: 8] == 8'd0 ? 32'd0    // without a segment no key: 0 is none
                 : acc_data[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_KEY_LSB +: 32]),
        .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe),
        .ind_status(ind_status), .ind_next(ind_next), .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_key(ri_key),
        .ri_done(ri_done),
        .ri_status(key_status),
        .seen_valid(seen_valid), .seen_qp(seen_qp), .rep_we(rep_we), .rep_qp(rep_qp), .rep_total(rep_total),
        .rep_tags(rep_tags),
        .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag), .bad_status(bad_status), .bad(bad),
        .fresh(fresh), .fresh_qp(acc_qp),
        .set_we(created), .set_qp(set_qp), .set_data(set_retire),
        .m_axis_cpl_tdata(m_axis_cpl_tdata), .m_axis_cpl_tdest(m_axis_cpl_tdest), .m_axis_cpl_tuser(m_axis_cpl_tuser),
        .m_axis_cpl_tvalid(m_axis_cpl_tvalid), .m_axis_cpl_tready(m_axis_cpl_tready),
        .ret_we(ret_we), .ret_qp(ret_qp), .ret_index(ret_index), .rr_valid(rr_valid), .rr_total(rr_total),
        .trace_valid(trace_valid[1]), .trace_data(trace_data[511:256])
    );

    cde_qp_ctrl #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W), .IDX_W(IDX_W),
        .SQ_LOG2(SQ_LOG2), .RQ_LOG2(RQ_LOG2), .ECC(ECC)
    ) qp_ctrl_i (
        .clk(clk), .mem_i(mem4), .mem_o(mem_o), .rst(rst), .init(init),
        .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args), .qc_done(qc_done), .qc_result(qc_result),
        .qc_outs(qc_outs), .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page),
        .cqi_used(cqi_used),
        .s_axis_conn_tdata(s_axis_conn_tdata), .s_axis_conn_tvalid(s_axis_conn_tvalid),
        .s_axis_conn_tready(s_axis_conn_tready), .m_axis_term_tdata(m_axis_term_tdata),
        .m_axis_term_tvalid(m_axis_term_tvalid), .m_axis_term_tready(m_axis_term_tready),
        .fail_valid(fail_valid && qp_up[fail_qp]), .fail_qp(fail_qp), .rfail_valid(rfail_valid),
        .rfail_ready(rfail_ready), .rfail_qp(rfail_qp), .rfail_pending(rfail_pending), .kfail_valid(kfail_valid),
        .kfail_ready(kfail_ready), .kfail_qp(kfail_qp), .hold(hold), .rx_empty(rx_empty), .keys_held(keys_held),
        .set_receive(set_receive),
        .use_we(use_we), .use_up(use_up), .srqi_number(srqi_number), .srqi_live(srqi_live), .srqi_page(srqi_page),
        .op_valid(op_valid), .op_void(op_void), .op_code(op_code), .op_target(op_target), .op_qp(op_qp),
        .op_empty(op_empty),
        .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp), .opr_result(opr_result), .opr_old(opr_old),
        .opr_new(opr_new), .opr_indices(opr_indices),
        .set_we(set_we), .created(created), .peer_we(peer_we), .set_qp(set_qp), .set_post(set_post),
        .set_retire(set_retire), .set_peer(set_peer),
        .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_next(ind_next),
        .err_valid(pe_valid[0]), .err_cause(pe_cause[7:0]), .err_qp(pe_object[15:0])
    );

    assign pe_index[15:0] = 16'd0;
    always @(posedge clk) pe_step <= {12{!rst}} & {1'b0, {1'b0, pe_valid[1]} + {1'b0, pe_valid[0]}, 2'd0, rep_we, 2'd0,
        m_axis_work_tvalid && m_axis_work_tready, 2'd0, acc_valid};

endmodule

`default_nettype wire
