// SPDX-License-Identifier: Apache-2.0
// cde_retire: completes requests, per QP in post order (DF-02, DF-03, DF-11, DF-12, DF-15).
//
// Purpose: the oldest request of a QP retires when it was reported, executed here, or skipped. QPs are served round
//          robin as in cde_dispatch: stage L reads how far a QP has got, F fetches, H judges and hands over, or gives
//          back. A report says how far its QP is ripe; only after requests that ripen without one (local, skipped) does
//          a run go on until H finds one that is not.
// Ports:   accepted posts (acc_*), indicated requests (ind_*), reports (seen_*, ask, rep_*, bad*); completions to the
//          CQs (m_axis_cpl, one lane); retired requests (ret_*), retired Reads (rr_*); trace lane 4.
// Latency: report taken in cycle t, completion valid in t+2. One completion a cycle, any QP.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_post_records.vh"

module cde_retire #(
    parameter NUM_QP = 64,
    parameter QP_W = 6,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter SQ_LOG2 = 5,
    parameter BURST = 16,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire              acc_valid,
    input  wire [QP_W-1:0]   acc_qp,
    input  wire [SQ_LOG2-1:0] acc_slot,
    input  wire [63:0]       acc_context,
    input  wire              acc_silent,
    input  wire [`CDE_VERB_W-1:0]       acc_verb,
    input  wire              acc_unkeys,     // invalidates acc_key when it completes with success
    input  wire [31:0]       acc_key,

    input  wire              ind_valid,
    input  wire [QP_W-1:0]   ind_qp,
    input  wire [SQ_LOG2-1:0] ind_slot,
    input  wire              ind_done,
    input  wire              ind_ripe,
    input  wire [7:0]        ind_status,
    input  wire [IDX_W-1:0]  ind_next,

    input  wire              seen_valid,
    input  wire [QP_W-1:0]   seen_qp,
    output wire              seen_taken,
    input  wire              ask,
    input  wire              rep_we,
    input  wire [QP_W-1:0]   rep_qp,
    input  wire [IDX_W-1:0]  rep_total,
    input  wire [IDX_W-1:0]  rep_ripe,
    input  wire              bad_we,
    input  wire [IDX_W-1:0]  bad_tag,
    input  wire [7:0]        bad_status,
    input  wire [NUM_QP-1:0] bad,
    input  wire              fresh,
    input  wire [QP_W-1:0]   fresh_qp,

    // Invalidation for a Read; valid until done
    output wire              ri_valid,
    output wire [QP_W-1:0]   ri_qp,
    output wire [31:0]       ri_key,
    input  wire              ri_done,
    input  wire [7:0]        ri_status,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_QP_RETIRE_W-1:0] set_data,

    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,

    output wire              ret_we,
    output wire [QP_W-1:0]   ret_qp,
    output wire [IDX_W-1:0]  ret_index,
    output wire              rr_valid,
    output wire [IDX_W-1:0]  rr_total,

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5, mem6, mem7, mem8, mem9;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam AW = QP_W + SQ_LOG2;
    localparam [31:0] LEFT = BURST - 1;      // after the first of a run

    // ---------------------------------------------------------------- who is looked at: who has waited, else whose
    // report comes in
    wire             offer_valid, offer_take, unused_pending;
    wire [QP_W-1:0]  offer_qp;
    wire             again;
    wire             advance;
    wire [IDX_W-1:0] tags_next;
    reg              l_valid;
    reg  [QP_W-1:0]  l_qp;
    wire             l_leaves;
    reg              f_valid;
    reg  [QP_W-1:0]  f_qp;
    reg  [IDX_W-1:0] f_index;
    reg  [IDX_W-1:0] f_bound;
    reg  [7:0]       f_left;
    reg              f_open;                 // goes on until H finds one that is not ripe
    reg              h_valid;
    reg  [QP_W-1:0]  h_qp;
    reg  [IDX_W-1:0] h_index;
    wire             fetch;
    wire [QP_W-1:0]  fetch_qp;

    // A candidate whose QP is in L or F is dropped: that run sees all that the candidate, asked for two cycles ago,
    // stands for; but one for an open run waits while F runs up to a bound.
    wire             cand_valid = offer_valid || seen_valid;
    wire [QP_W-1:0]  cand_qp = offer_valid ? offer_qp : seen_qp;
    wire             l_free = !l_valid || l_leaves;
    wire             busy = (l_valid && l_qp == cand_qp) || (f_valid && f_qp == cand_qp);
    reg [NUM_QP-1:0] open;                   // something ripened without a report
    wire             waits = f_valid && f_qp == cand_qp && open[cand_qp] && !f_open;
    wire             launch = cand_valid && !busy && l_free && advance;

    assign offer_take = offer_valid && (launch || (busy && !waits));
    assign seen_taken = launch && !offer_valid;

    cde_arbiter #(.NUM_QP(NUM_QP), .QP_W(QP_W)) arbiter_i (
        .clk(clk), .rst(rst),
        .ask0(ask), .ask0_qp(rep_qp), .ask1(again), .ask1_qp(fetch_qp), .ask2(ind_valid && ind_ripe), .ask2_qp(ind_qp),
        .served(launch || l_valid || fetch), .served_qp(launch ? cand_qp : l_valid ? l_qp : fetch_qp), .pending(unused_pending),
        .offer_valid(offer_valid), .offer_qp(offer_qp), .offer_take(offer_take)
    );

    // ---------------------------------------------------------------- stage L: how far the QP has got
    wire [QP_W-1:0]  l_look = l_free && advance ? cand_qp : l_qp;
    wire [IDX_W-1:0] l_index;
    wire [IDX_W-1:0] l_bound;

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) index_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(ret_we), .waddr(ret_qp), .wdata(ret_index),
        .raddr(l_look), .rdata(l_index)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) bound_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(ind_valid), .waddr(ind_qp), .wdata(ind_next),
        .raddr(l_look), .rdata(l_bound)
    );

    // Beyond what is reported and not retired the ripe index of a QP says nothing.
    wire [IDX_W-1:0] l_ripe_read, l_reported_read, l_tags;

    cde_ram #(.W(2 * IDX_W), .AW(QP_W), .ECC(ECC)) ripe_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(rep_we), .waddr(rep_qp), .wdata({rep_ripe, rep_total}),
        .raddr(l_look), .rdata({l_ripe_read, l_reported_read})
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) tags_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(ret_we), .waddr(ret_qp), .wdata(tags_next),
        .raddr(l_look), .rdata(l_tags)
    );

    wire             l_news = rep_we && rep_qp == l_qp;
    wire [IDX_W-1:0] l_ripe = l_news ? rep_ripe : l_ripe_read;
    wire             l_open = open[l_qp];
    wire             l_empty = l_open ? l_index == l_bound : !l_news && l_reported_read == l_tags;

    assign l_leaves = l_valid && (!f_valid || l_empty) && advance;

    // ---------------------------------------------------------------- stage F: the run
    wire [IDX_W-1:0] fetch_index = f_valid ? f_index : l_index;
    wire             fetch_open = f_valid ? f_open : l_open;
    wire [IDX_W-1:0] fetch_bound = f_valid ? f_bound : l_open ? l_bound : l_ripe;
    wire [7:0]       fetch_left = f_valid ? f_left : LEFT[7:0];
    wire [IDX_W-1:0] fetch_next = fetch_index + ONE;
    wire             h_unripe;

    assign fetch_qp = f_valid ? f_qp : l_qp;
    assign fetch = advance && (f_valid || (l_valid && !l_empty));

    wire killed = h_valid && h_unripe && h_qp == fetch_qp;
    wire more = fetch_next != fetch_bound;
    // L never holds the QP of F. An offer that waits for the run of its own QP keeps all others after it.
    wire others = (f_valid && l_valid) || (offer_valid && (offer_qp != fetch_qp || waits));
    wire yields = fetch_left == 8'd0 && others;
    wire goes_on = fetch && more && !yields && !killed;

    assign again = fetch && more && yields && !killed;

    wire [QP_W-1:0] run_qp = advance ? fetch_qp : f_qp;
    wire            run_open = advance ? fetch_open : f_open;

    always @(posedge clk) begin
        if (launch) begin
            l_valid <= 1'b1;
            l_qp <= cand_qp;
        end else if (l_leaves) l_valid <= 1'b0;
        if (advance) begin
            f_valid <= goes_on;
            f_qp <= fetch_qp;
            f_index <= fetch_next;
            f_bound <= fetch_bound;
            f_open <= fetch_open;
            f_left <= fetch_left == 8'd0 ? 8'd0 : fetch_left - 8'd1;
            h_valid <= fetch && !killed;
            h_qp <= fetch_qp;
            h_index <= fetch_index;
        end
        if (ind_valid && ind_qp == run_qp && run_open) f_bound <= ind_next;
        if (rep_we && rep_qp == run_qp && !run_open) f_bound <= rep_ripe;
        if (l_leaves) open[l_qp] <= 1'b0;
        if (again) open[fetch_qp] <= 1'b1;       // what is left may be ripe without a further report
        if (ind_valid && ind_ripe) open[ind_qp] <= 1'b1;
        if (rst) begin
            l_valid <= 1'b0;
            f_valid <= 1'b0;
            h_valid <= 1'b0;
            open <= {NUM_QP{1'b0}};
        end
    end

    // ---------------------------------------------------------------- stage H: ripe?
    wire [QP_W-1:0]  look_qp = advance ? fetch_qp : h_qp;
    wire [AW-1:0]    look_slot = {look_qp, advance ? fetch_index[SQ_LOG2-1:0] : h_index[SQ_LOG2-1:0]};
    wire [`CDE_VERB_W-1:0] h_verb;
    wire             h_silent, h_done, h_unkeys;
    wire [1:0]       h_kind = h_verb[`CDE_VERB_KIND +: 2];
    wire             h_local = h_kind[1], h_read = h_kind == `CDE_KIND_READ;
    wire [31:0]      h_key;
    wire [`CDE_QP_RETIRE_W-1:0] h_set;
    wire             h_guard = h_set[`CDE_QP_RETIRE_GUARDED];
    wire [7:0]       h_outcome;
    wire [15:0]      h_type = h_verb[`CDE_VERB_TYPE +: 16];
    wire [31:0]      h_bytes = h_verb[`CDE_VERB_BYTES +: 32];
    wire [63:0]      h_context;
    wire [63:0]      h_qp_context = h_set[`CDE_QP_RETIRE_CONTEXT +: 64];
    wire [CQ_W-1:0]  h_cq = h_set[`CDE_QP_RETIRE_CQ +: CQ_W];
    wire [IDX_W-1:0] h_tags, h_reads, h_reported, h_bad_tag;
    wire [7:0]       h_bad_status;
    reg [NUM_QP-1:0] failed;                 // a request of this connection has failed

    cde_ram_direct #(.W(98 + `CDE_VERB_W), .AW(AW), .ECC(ECC)) request_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5), .we(acc_valid), .waddr({acc_qp, acc_slot}), .wdata({acc_unkeys, acc_key, acc_silent, acc_verb, acc_context}),
        .raddr(look_slot), .rdata({h_unkeys, h_key, h_silent, h_verb, h_context})
    );

    cde_ram #(.W(9), .AW(AW), .ECC(ECC)) done_ram (
        .clk(clk), .mem_i(mem5), .mem_o(mem6), .we(ind_valid), .waddr({ind_qp, ind_slot}), .wdata({ind_status, ind_done}), .raddr(look_slot),
        .rdata({h_outcome, h_done})
    );

    cde_ram #(.W(`CDE_QP_RETIRE_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem6), .mem_o(mem7), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(look_qp), .rdata(h_set)
    );

    cde_ram #(.W(2 * IDX_W), .AW(QP_W), .ECC(ECC)) count_ram (
        .clk(clk), .mem_i(mem7), .mem_o(mem8), .we(ret_we), .waddr(h_qp),
        .wdata({tags_next, rr_total}), .raddr(look_qp), .rdata({h_tags, h_reads})
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) reported_ram (
        .clk(clk), .mem_i(mem8), .mem_o(mem9), .we(rep_we), .waddr(rep_qp), .wdata(rep_total),
        .raddr(look_qp), .rdata(h_reported)
    );

    cde_ram #(.W(IDX_W + 8), .AW(QP_W), .ECC(ECC)) bad_ram (
        .clk(clk), .mem_i(mem9), .mem_o(mem_o), .we(bad_we), .waddr(rep_qp), .wdata({bad_tag, bad_status}), .raddr(look_qp), .rdata({h_bad_tag, h_bad_status})
    );

    wire       remote = h_done && !h_local;
    wire       broke = remote && bad[h_qp] && h_tags == h_bad_tag;
    wire [7:0] reported = failed[h_qp] || !h_done ? `CDE_CQESTATUS_CANCELED : h_local ? h_outcome : broke ? h_bad_status : 8'h00;

    // A Read that invalidates its sink has succeeded when that has.
    reg        unkeyed;
    reg  [7:0] unkey_status;
    wire       unkeys = h_guard && h_unkeys && reported == 8'h00;
    wire [7:0] status = unkeys ? unkey_status : reported;
    wire       success = status == 8'h00;

    assign tags_next = remote ? h_tags + ONE : h_tags;
    assign h_unripe = remote && h_tags == h_reported;
    assign m_axis_cpl_tvalid = h_valid && !h_unripe && (!unkeys || unkeyed);
    assign advance = !(h_valid && !h_unripe && !(m_axis_cpl_tvalid && m_axis_cpl_tready)) && !init;
    assign ri_valid = h_valid && !h_unripe && unkeys && !unkeyed;
    assign ri_qp = h_qp;
    assign ri_key = h_key;
    assign m_axis_cpl_tdata = {16'd0, status, {(24-QP_W){1'b0}}, h_qp, h_type, 32'd0, success ? h_bytes : 32'd0,
                               h_qp_context, h_context};
    assign m_axis_cpl_tdest = {{(16-CQ_W){1'b0}}, h_cq};
    assign m_axis_cpl_tuser = h_silent && success;

    assign ret_we = m_axis_cpl_tvalid && m_axis_cpl_tready;
    assign ret_qp = h_qp;
    assign ret_index = h_index + ONE;
    assign rr_valid = ret_we && h_done && h_read;
    assign rr_total = h_done && h_read ? h_reads + ONE : h_reads;

    function [95:0] shown;
        input [IDX_W-1:0] index;
        input             fail;
        begin
            shown = 96'd0;
            shown[`CDE_RSTATE_RETIRED_LSB +: IDX_W] = index;
            shown[`CDE_RSTATE_FAILED_LSB] = fail;
        end
    endfunction

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        if (ri_done) begin
            unkeyed <= 1'b1;
            unkey_status <= ri_status;
        end else if (ret_we) unkeyed <= 1'b0;
        if (ret_we && !success) failed[h_qp] <= 1'b1;
        if (fresh) failed[fresh_qp] <= 1'b0;
        trace_valid <= ret_we && !rst;
        trace_data <= 256'd0;
        trace_data[7:0] <= `CDE_TRC_RETIRE;
        trace_data[8 +: QP_W] <= h_qp;
        trace_data[63:32] <= {m_axis_cpl_tdest, 6'd0, !h_done, m_axis_cpl_tuser, status};
        trace_data[159:64] <= shown(h_index, failed[h_qp]);
        trace_data[255:160] <= shown(ret_index, failed[h_qp] || !success);
        if (rst) begin
            failed <= {NUM_QP{1'b0}};
            unkeyed <= 1'b0;
        end
    end

endmodule

`default_nettype wire
