// SPDX-License-Identifier: Apache-2.0
// f_retire: proof that a QP's requests complete one after the other, each once, as they were reported (cde_done,
// cde_retire).
//
// Purpose: follows the requests of any one QP from post to completion. Reports of the transport are free, so are those
//          of other QPs and whenever completions are taken. Assumed is what post_order proves of indication (in order,
//          each once, none before its post), and that a connection begins, and settings change, with nothing
//          outstanding.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_mem.vh"
`include "cde_defs.vh"

module f_retire #(
    parameter IDX_W = 3,
    parameter SQ_LOG2 = 2
) (
    input wire               clk,
    input wire               acc_valid,
    input wire               acc_qp,
    input wire [SQ_LOG2-1:0] acc_slot,
    input wire [3:0]         acc_context,
    input wire               acc_silent,
    input wire [1:0]         acc_kind,       // CDE_KIND_*
    input wire               acc_unkeys,
    input wire               ind_valid,
    input wire               ind_qp,
    input wire [SQ_LOG2-1:0] ind_slot,
    input wire               ind_done,
    input wire               ind_ripe,
    input wire [7:0]         ind_status,
    input wire [IDX_W-1:0]   ind_next,
    input wire [IDX_W-1:0]   ind_tags,
    input wire [SQ_LOG2-1:0] ind_tag,
    input wire [63:0]        report,
    input wire               report_valid,
    input wire               fresh,
    input wire               fresh_qp,
    input wire               ri_done,
    input wire [7:0]         ri_status,
    input wire               set_we,
    input wire               set_qp,
    input wire               set_guard,
    input wire               cpl_ready
);

    localparam [IDX_W-1:0] ONE = 1;
    localparam S = 1 << SQ_LOG2;

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 3;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem, unused_mem2;

    (* anyconst *) wire q;              // any one QP

    wire             report_ready, fail_valid, fail_qp, seen_valid, seen_qp, seen_taken, ask, rep_we, rep_qp, bad_we, err_valid;
    wire [IDX_W-1:0] rep_total, rep_ripe, bad_tag;
    wire [7:0]       bad_status;
    wire [1:0]       bad;
    wire             cpl_valid, cpl_user, ret_we, ret_qp, ri_valid, ri_qp;
    wire [255:0]     cpl_data;
    wire [15:0]      cpl_dest;
    wire [IDX_W-1:0] ret_index;

    cde_done #(.NUM_QP(2), .QP_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .ECC(0)) done_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem2), .rst(rst), .init(init), .s_axis_done_tdata(report), .s_axis_done_tvalid(report_valid && up),
        .s_axis_done_tready(report_ready), .tags_we(ind_valid && up), .tags_qp(ind_qp), .tags(ind_tags), .tags_newest(ind_tag),
        .tags_next(ind_next), .fail_valid(fail_valid), .fail_qp(fail_qp), .fresh(fresh && up), .fresh_qp(fresh_qp),
        .seen_valid(seen_valid), .seen_qp(seen_qp), .seen_taken(seen_taken), .ask(ask), .rep_we(rep_we), .rep_qp(rep_qp),
        .rep_total(rep_total), .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag), .bad_status(bad_status), .bad(bad),
        .err_valid(err_valid)
    );

    cde_retire #(.NUM_QP(2), .QP_W(1), .CQ_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(2), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .acc_valid(acc_valid && up), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_context({60'd0, acc_context}), .acc_silent(acc_silent), .acc_verb({acc_kind, 48'd0}), .acc_unkeys(acc_unkeys), .acc_key(32'd0),
        .ind_valid(ind_valid && up), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe),
        .ind_status(ind_status), .ind_next(ind_next), .seen_valid(seen_valid), .seen_qp(seen_qp), .seen_taken(seen_taken), .ask(ask),
        .rep_we(rep_we), .rep_qp(rep_qp), .rep_total(rep_total), .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag),
        .bad_status(bad_status), .bad(bad), .fresh(fresh && up), .fresh_qp(fresh_qp), .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_done(ri_done && up),
        .ri_status(ri_status), .set_we(set_we && up), .set_qp(set_qp), .set_data({set_guard, 65'd0}), .m_axis_cpl_tdata(cpl_data),
        .m_axis_cpl_tdest(cpl_dest), .m_axis_cpl_tuser(cpl_user), .m_axis_cpl_tvalid(cpl_valid), .m_axis_cpl_tready(cpl_ready),
        .ret_we(ret_we), .ret_qp(ret_qp), .ret_index(ret_index)
    );

    // ---------------------------------------------------------------- the requests of q, from the oldest not completed
    // one on
    reg [IDX_W-1:0] tail = 0, ind = 0, next = 0;        // accepted, indicated or skipped, completed so far
    reg [IDX_W-1:0] tags = 0, told = 0, gone = 0;       // of them remote: indicated, reported, completed
    reg [S-1:0]     is_local = 0, silent = 0, unkeys = 0, is_done = 0;
    reg [4*S-1:0]   context = 0;
    reg [8*S-1:0]   outcome = 0;                        // of local requests; by slot
    reg [8*S-1:0]   reported = 0;                       // of remote ones; by tag
    reg             broken = 1'b0, guard = 1'b0;        // a request of this connection has failed
    reg             unkeyed = 1'b0;                     // the invalidation for a Read has answered
    reg [7:0]       unkey_status;

    wire            accepts = acc_valid && acc_qp == q && up;
    wire            indicates = ind_valid && ind_qp == q && up;
    wire            completes = cpl_valid && cpl_ready && cpl_data[208] == q && up;
    wire            reports = rep_we && rep_qp == q && up;
    wire [IDX_W-1:0] present = tail - next;
    wire [IDX_W-1:0] n = ind - next;
    wire [SQ_LOG2-1:0] slot = next[SQ_LOG2-1:0];
    wire            remote_now = is_done[slot] && !is_local[slot];
    wire [7:0]      status = cpl_data[239:232];
    wire [7:0]      judged = broken || !is_done[slot] ? `CDE_CQESTATUS_CANCELED : is_local[slot] ? outcome[8*slot +: 8]
                                                                                : reported[8*gone[SQ_LOG2-1:0] +: 8];
    wire            asks = judged == 8'h00 && unkeys[slot] && guard;

    (* hierconn *) wire \dut.unkeyed , \dut.unkeys , \dut.h_unripe , \dut.h_valid , \dut.h_qp ;

    always @* if (up) begin
        if (accepts) assume (acc_slot == tail[SQ_LOG2-1:0] && present < S);
        if (indicates) begin
            assume (ind != tail && ind_next == ind + ONE && ind_slot == ind[SQ_LOG2-1:0]);
            assume (ind_ripe == (!ind_done || is_local[ind_slot]));
            if (!ind_done || !is_local[ind_slot]) assume (ind_status == 8'h00);
            assume (ind_tags == (ind_ripe ? tags : tags + ONE) && ind_tag == ind_tags[SQ_LOG2-1:0] - 1'b1);
        end
        if (fresh && fresh_qp == q) assume (tail == next && !accepts);
        if (set_we && set_qp == q) assume (tail == next && !accepts);
        if (ri_done) assume (ri_valid);
        // Of the other QP only this, which is proven of q: what waits for an invalidation goes on waiting for it, and
        // completes with its answer.
        if (\dut.unkeyed && \dut.h_valid && \dut.h_qp != q) assume (\dut.unkeys && !\dut.h_unripe );
    end

    // The report that is judged
    reg         p_valid = 1'b0;                          // taken in the cycle before
    reg  [63:0] p;
    wire        take = report_valid && report_ready && up;
    wire        judged_now = rep_we || err_valid;
    wire        expected = p_valid && p[63:40] == 0 && p[15:0] == {15'd0, q} && told != tags && p[31:16] == {{(16-IDX_W){1'b0}}, told};

    always @(posedge clk) begin
        if (up) p_valid <= take;
        if (take) p <= report;
        if (accepts) begin
            tail <= tail + ONE;
            is_local[acc_slot] <= acc_kind[1];
            silent[acc_slot] <= acc_silent;
            unkeys[acc_slot] <= acc_unkeys;
            context[4*acc_slot +: 4] <= acc_context;
        end
        if (indicates) begin
            ind <= ind_next;
            tags <= ind_tags;
            is_done[ind_slot] <= ind_done;
            outcome[8*ind_slot +: 8] <= ind_status;
        end
        if (reports) begin
            told <= told + ONE;
            reported[8*told[SQ_LOG2-1:0] +: 8] <= p[39:32];
        end
        if (ri_valid && ri_done && ri_qp == q && up) begin
            unkeyed <= 1'b1;
            unkey_status <= ri_status;
        end
        if (completes) begin
            next <= next + ONE;
            if (remote_now) gone <= gone + ONE;
            if (status != 8'h00) broken <= 1'b1;
            unkeyed <= 1'b0;
        end
        if (fresh && fresh_qp == q && up) broken <= 1'b0;
        if (set_we && set_qp == q && up) guard <= set_guard;
    end

    always @* if (up) begin
        // Reports
        judged_once: assert (!(rep_we && err_valid) && p_valid == judged_now);
        if (fail_valid) step_of_a_failure: assert (rep_we && rep_qp == fail_qp && p[39:32] != 8'h00);
        if (reports) unexpected_is_refused: assert (expected);
        if (err_valid) expected_is_taken: assert (!expected);
        // Completions
        told_once: assert ((ret_we && ret_qp == q) == completes);
        if (completes) begin
            one_after_the_other: assert (ret_index == next + ONE);
            only_indicated: assert (next != ind);
            if (remote_now) only_reported: assert (gone != told);
            status_as_told: assert (status == (asks ? unkey_status : judged));
            if (asks) invalidated_before: assert (unkeyed);
            own_context: assert (cpl_data[63:0] == {60'd0, context[4*slot +: 4]} && cpl_user == (silent[slot] && status == 8'h00));
        end
    end

    wire waits;
    axis_props #(.W(273)) cpl_i (
        .clk(clk), .rst(!up), .valid(cpl_valid && cpl_data[208] == q && up), .ready(cpl_ready), .data({cpl_data, cpl_dest, cpl_user}), .held(waits)
    );

`ifndef PROPERTIES_ONLY
    // ---------------------------------------------------------------- for the induction: what is reported of which
    // request Of the requests at next + k: is it remote, how many remote ones before it, where do the ones end that its
    // report makes ripe.
    wire [IDX_W-1:0] untold = told - gone;              // reported, not completed
    wire [IDX_W-1:0] flying = tags - gone;
    wire [S-1:0]     remote;
    wire [IDX_W-1:0] before [0:S];
    wire [IDX_W-1:0] ends [0:S-1];
    wire [IDX_W-1:0] limit [0:S];                       // first remote one without a report at or behind k, else n
    wire [IDX_W-1:0] after [0:S];                       // first remote one at or behind k, else n
    assign before[0] = 0;
    assign limit[S] = n;
    assign after[S] = n;
    genvar k;
    generate
        for (k = 0; k < S; k = k + 1) begin : g_k
            wire [IDX_W-1:0]   at = next + k;
            wire [SQ_LOG2-1:0] s = at[SQ_LOG2-1:0];
            assign remote[k] = k < n && is_done[s] && !is_local[s];
            assign before[k+1] = before[k] + (remote[k] ? ONE : 0);
            assign ends[k] = after[k+1];
            assign after[k] = remote[k] ? k : after[k+1];
            assign limit[k] = remote[k] && before[k] >= untold ? k : limit[k+1];
        end
    endgenerate

    // ---------------------------------------------------------------- ... what memories hold of q
    (* hierconn *) wire [2*IDX_W-1:0] \dut.index_ram.words , \dut.bound_ram.words , \dut.tags_ram.words , \dut.reported_ram.words ,
        \done_i.reported_ram.words , \done_i.indicated_ram.words ;
    (* hierconn *) wire [4*IDX_W-1:0] \dut.ripe_ram.words , \dut.count_ram.words ;
    (* hierconn *) wire [2*66-1:0] \dut.settings_ram.words ;
    (* hierconn *) wire [2*(IDX_W+8)-1:0] \dut.bad_ram.words ;
    (* hierconn *) wire [2*S*148-1:0] \dut.request_ram.words ;
    (* hierconn *) wire [2*S*9-1:0] \dut.done_ram.words ;
    (* hierconn *) wire [2*S*IDX_W-1:0] \done_i.ripe_ram.words ;
    (* hierconn *) wire \dut.index_ram.f_raddr , \dut.bound_ram.f_raddr , \dut.tags_ram.f_raddr , \dut.ripe_ram.f_raddr , \dut.reported_ram.f_raddr ,
        \dut.count_ram.f_raddr , \dut.settings_ram.f_raddr , \dut.bad_ram.f_raddr , \done_i.reported_ram.f_raddr , \done_i.indicated_ram.f_raddr ;
    (* hierconn *) wire [SQ_LOG2:0] \dut.request_ram.f_raddr , \dut.done_ram.f_raddr , \done_i.ripe_ram.f_raddr ;
    (* hierconn *) wire \dut.l_valid , \dut.l_qp , \dut.f_valid , \dut.f_qp , \dut.f_open , \done_i.j_valid ;
    (* hierconn *) wire [63:0] \done_i.j ;
    (* hierconn *) wire [1:0] \dut.failed ;
    (* hierconn *) wire [7:0] \dut.unkey_status ;
    (* hierconn *) wire [IDX_W-1:0] \dut.f_index , \dut.f_bound , \dut.h_index ;
    wire in_l = \dut.l_valid && \dut.l_qp == q;
    wire in_f = \dut.f_valid && \dut.f_qp == q;
    wire in_h = \dut.h_valid && \dut.h_qp == q;
    function [IDX_W-1:0] of_q;
        input [2*IDX_W-1:0] words;
        of_q = q ? words[IDX_W +: IDX_W] : words[0 +: IDX_W];
    endfunction
    wire [2*IDX_W-1:0] ripe_word = q ? \dut.ripe_ram.words [2*IDX_W +: 2*IDX_W] : \dut.ripe_ram.words [0 +: 2*IDX_W];
    wire [2*IDX_W-1:0] count_word = q ? \dut.count_ram.words [2*IDX_W +: 2*IDX_W] : \dut.count_ram.words [0 +: 2*IDX_W];
    wire [65:0]        settings_word = q ? \dut.settings_ram.words [66 +: 66] : \dut.settings_ram.words [0 +: 66];
    wire [IDX_W+7:0]   bad_word = q ? \dut.bad_ram.words [IDX_W+8 +: IDX_W+8] : \dut.bad_ram.words [0 +: IDX_W+8];
    wire [IDX_W-1:0]   first_bad = bad_word[8 +: IDX_W] - gone;
    wire [IDX_W-1:0]   ripe = ripe_word[IDX_W +: IDX_W] - next;      // of the newest report
    wire [IDX_W-1:0]   to_bound = \dut.f_bound - next;
    wire               here = age > {1'b0, q} + 2'd1;

    always @* begin
        if (here) begin
            counts: assert (of_q(\dut.index_ram.words ) == next && of_q(\dut.bound_ram.words ) == ind && of_q(\dut.tags_ram.words ) == gone &&
                            of_q(\dut.reported_ram.words ) == told && of_q(\done_i.reported_ram.words ) == told && of_q(\done_i.indicated_ram.words ) == tags &&
                            ripe_word[0 +: IDX_W] == told && count_word[IDX_W +: IDX_W] == gone && settings_word[65] == guard);
        end
        if (!rst && !up) nothing_yet: assert (!\dut.l_valid && !\dut.f_valid && !\dut.h_valid && !\done_i.j_valid && !\dut.unkeyed && bad == 0 && \dut.failed == 0);
        if (!up) zero_yet: assert (tail == 0 && ind == 0 && next == 0 && tags == 0 && told == 0 && gone == 0 && !broken && !unkeyed && !p_valid && !guard && !waits);
        window: assert (n <= present && present <= S && flying == before[S] && untold <= flying);
        if (up) begin
            if (\dut.l_valid ) l_reads: assert (\dut.index_ram.f_raddr == \dut.l_qp && \dut.bound_ram.f_raddr == \dut.l_qp && \dut.tags_ram.f_raddr == \dut.l_qp &&
                                                \dut.ripe_ram.f_raddr == \dut.l_qp );
            one_stage: assert (!(in_l && (in_f || in_h)));
            if (in_h) begin
                oldest: assert (\dut.h_index == next && n != 0);
                h_reads: assert (\dut.request_ram.f_raddr == {q, slot} && \dut.done_ram.f_raddr == {q, slot} && \dut.settings_ram.f_raddr == q &&
                                 \dut.count_ram.f_raddr == q && \dut.reported_ram.f_raddr == q && \dut.bad_ram.f_raddr == q);
            end
            if (in_f) begin
                run: assert (in_h && \dut.f_index == next + ONE && to_bound >= 2);
                if (\dut.f_open ) run_to_bound: assert (to_bound == n);
                else run_to_ripe: assert (ripe_word[IDX_W +: IDX_W] == \dut.f_bound && to_bound <= limit[0]);
            end
            judging: assert (\done_i.j_valid == p_valid);
            if (p_valid) j_is_p: assert (\done_i.j == p && \done_i.reported_ram.f_raddr == p[0] && \done_i.indicated_ram.f_raddr == p[0] &&
                                         \done_i.ripe_ram.f_raddr == {p[0], p[16 +: SQ_LOG2]});
            broken_is_kept: assert (\dut.failed [q] == broken);
            unkeyed_is_kept: assert (unkeyed == (\dut.unkeyed && in_h) && (!\dut.unkeyed || \dut.h_valid ));
            if (unkeyed) answer_is_kept: assert (\dut.unkey_status == unkey_status && asks && !(remote_now && gone == told));
            if (waits) h_waits: assert (in_h && !(remote_now && gone == told) && (!asks || unkeyed));
            if (bad[q] && !broken) first_failure: assert (first_bad < untold && bad_word[7:0] != 8'h00);
        end
    end

    wire [S-1:0] request_fits, done_fits, ripe_fits, newest_fits, bad_fits;
    generate
        for (k = 0; k < S; k = k + 1) begin : g_slots
            wire [SQ_LOG2-1:0] behind = k - next[SQ_LOG2-1:0];
            wire [SQ_LOG2-1:0] since = k - gone[SQ_LOG2-1:0];
            wire [147:0]       request = q ? \dut.request_ram.words [148*(S+k) +: 148] : \dut.request_ram.words [148*k +: 148];
            wire [8:0]         done = q ? \dut.done_ram.words [9*(S+k) +: 9] : \dut.done_ram.words [9*k +: 9];
            // of the remote request at next + k
            wire [IDX_W-1:0]   tag = gone + before[k];
            wire [SQ_LOG2-1:0] t = tag[SQ_LOG2-1:0];
            wire [2*S*IDX_W-1:0] ripes = \done_i.ripe_ram.words >> (IDX_W * ({q, t}));
            assign request_fits[k] = behind >= present || (request[147] == unkeys[k] && request[114] == silent[k] && request[113] == is_local[k] &&
                                                           request[63:0] == {60'd0, context[4*k +: 4]});
            assign done_fits[k] = behind >= n || done == {outcome[8*k +: 8], is_done[k]};
            assign ripe_fits[k] = !(remote[k] && before[k] >= untold) || ripes[0 +: IDX_W] == next + ends[k];
            assign newest_fits[k] = !(remote[k] && before[k] + ONE == untold) || (ripe > k && ripe <= ends[k]);
            assign bad_fits[k] = since >= untold || (bad[q] && (broken || since > first_bad)) ||
                                 reported[8*k +: 8] == (bad[q] && since == first_bad ? bad_word[7:0] : 8'h00);
        end
    endgenerate

    always @* if (up) request_of_slot: assert (&request_fits);
    always @* if (up) done_of_slot: assert (&done_fits);
    always @* if (up) ripe_of_tag: assert (&ripe_fits);
    always @* if (up) ripe_of_newest: assert (&newest_fits);
    always @* if (up) failure_of_tag: assert (&bad_fits);
`endif

endmodule

`default_nettype wire
