// SPDX-License-Identifier: Apache-2.0
// f_retire: proof that a QP's requests complete one after the other, each once, as they were reported (cde_done,
// cde_retire).
//
// Purpose: follows the requests of any one QP from post to completion. Reports of the transport are free, so are those
//          of other QPs and whenever completions are taken. Assumed is what post_order proves of indication (in order,
//          each once, none before its post), and that a connection begins, and settings change, with nothing
//          outstanding. A request that may retire is never forgotten: it is on its way, or its QP asks.
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
    // bits of an index that tell the requests of a queue apart; all are looked at here
    localparam P_W = SQ_LOG2 + 1;

    reg [1:0] age = 0;
    wire      rst = age == 0;
    wire      up = age == 3;
    wire      init = !rst && !up;
    always @(posedge clk) if (!up) age <= age + 1'b1;
    wire [`CDE_MEM_W-1:0] mem = {39'd0, init, rst};     // maintenance bus: reset and the walk, no injection
    wire [`CDE_MEM_W-1:0] unused_mem, unused_mem2;

    (* anyconst *) wire q;              // any one QP

    wire             report_ready, fail_valid, fail_qp, seen_valid, seen_qp, rep_we, rep_qp, bad_we, err_valid;
    wire [IDX_W-1:0] rep_total, rep_tags, bad_tag;
    wire [SQ_LOG2:0] rep_ripe;
    wire [7:0]       bad_status;
    wire [1:0]       bad;
    wire             cpl_valid, cpl_user, ret_we, ret_qp, ri_valid, ri_qp;
    wire [255:0]     cpl_data;
    wire [15:0]      cpl_dest;
    wire [IDX_W-1:0] ret_index;

    cde_done #(.NUM_QP(2), .QP_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .ECC(0)) done_i (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem2), .rst(rst), .init(init), .s_axis_done_tdata(report),
        .s_axis_done_tvalid(report_valid && up),
        .s_axis_done_tready(report_ready), .tags_we(ind_valid && up), .tags_qp(ind_qp), .tags(ind_tags),
        .tags_newest(ind_tag),
        .tags_next(ind_next[SQ_LOG2:0]),
        .fail_valid(fail_valid), .fail_qp(fail_qp), .fresh(fresh && up), .fresh_qp(fresh_qp),
        .seen_valid(seen_valid), .seen_qp(seen_qp), .rep_we(rep_we), .rep_qp(rep_qp),
        .rep_total(rep_total), .rep_tags(rep_tags), .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag),
        .bad_status(bad_status), .bad(bad),
        .err_valid(err_valid)
    );

    cde_retire #(.NUM_QP(2), .QP_W(1), .CQ_W(1), .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(2), .AHEAD(3), .ECC(0)) dut (
        .clk(clk), .mem_i(mem), .mem_o(unused_mem), .rst(rst), .init(init), .acc_valid(acc_valid && up),
        .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_context({60'd0, acc_context}), .acc_silent(acc_silent), .acc_verb({acc_kind, 48'd0}),
        .acc_unkeys(acc_unkeys), .acc_key(32'd0),
        .ind_valid(ind_valid && up), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe),
        .ind_status(ind_status), .ind_next(ind_next), .seen_valid(seen_valid), .seen_qp(seen_qp),
        .rep_we(rep_we), .rep_qp(rep_qp), .rep_total(rep_total), .rep_tags(rep_tags), .rep_ripe(rep_ripe),
        .bad_we(bad_we), .bad_tag(bad_tag),
        .bad_status(bad_status), .bad(bad), .fresh(fresh && up), .fresh_qp(fresh_qp), .ri_valid(ri_valid),
        .ri_qp(ri_qp), .ri_done(ri_done && up),
        .ri_status(ri_status), .set_we(set_we && up), .set_qp(set_qp), .set_data({set_guard, 65'd0}),
        .m_axis_cpl_tdata(cpl_data),
        .m_axis_cpl_tdest(cpl_dest), .m_axis_cpl_tuser(cpl_user), .m_axis_cpl_tvalid(cpl_valid),
        .m_axis_cpl_tready(cpl_ready),
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
    end

    // The report that is judged
    reg         p_valid = 1'b0;                          // taken in the cycle before
    reg  [63:0] p;
    wire        take = report_valid && report_ready && up;
    wire        judged_now = rep_we || err_valid;
    wire        expected = p_valid && p[63:40] == 0 && p[15:0] == {15'd0, q} && told != tags &&
        p[31:16] == {{(16-IDX_W){1'b0}}, told};

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
            own_context: assert (cpl_data[63:0] == {60'd0, context[4*slot +: 4]} && cpl_user == (silent[slot] &&
                status == 8'h00));
        end
    end

    wire waits;
    axis_props #(.W(273)) cpl_i (
        .clk(clk), .rst(!up), .valid(cpl_valid && cpl_data[208] == q && up), .ready(cpl_ready), .data({cpl_data,
            cpl_dest, cpl_user}), .held(waits)
    );

    // ---------------------------------------------------------------- which may retire
    // Of the requests at next + k: is it remote, how many remote ones before it, where do the ones end that its report
    // makes ripe.
    wire [IDX_W-1:0] untold = told - gone;              // reported, not completed
    wire [IDX_W-1:0] flying = tags - gone;
    wire [S-1:0]     remote;
    wire [IDX_W-1:0] before [0:S];
    wire [IDX_W-1:0] ends [0:S-1];
    wire [IDX_W-1:0] limit [0:S];                       // first remote one without a report at or after k, else n
    wire [IDX_W-1:0] after [0:S];                       // first remote one at or after k, else n
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

    // ---------------------------------------------------------------- what the stages hold of q
    localparam L_W = 1 + 2 * P_W;
    (* hierconn *) wire [2*P_W-1:0] \dut.looks_i.index_ram.words , \dut.looks_i.two.bound_ram.words ;
    (* hierconn *) wire \dut.p1_valid , \dut.p2_valid , \dut.g_valid , \dut.p1_qp , \dut.p2_qp , \dut.g_qp ,
        \dut.g_bad ;
    (* hierconn *) wire [P_W-1:0] \dut.p1_next ;
    (* hierconn *) wire \dut.in_acc , \dut.in_rep , \dut.in_bad , \dut.in_rep_qp , \dut.i1_valid , \dut.i1_ripe ,
        \dut.i1_qp , \dut.i2_ripe , \dut.i2_qp ,
                        \dut.move_late , \dut.late_qp ;
    (* hierconn *) wire [SQ_LOG2:0] \dut.in_slot ;
    (* hierconn *) wire [147:0] \dut.in_post ;
    (* hierconn *) wire [P_W-1:0] \dut.in_ripe , \dut.i1_next , \dut.i2_next , \dut.late_bound ;
    (* hierconn *) wire [IDX_W-1:0] \dut.in_total , \dut.in_tags , \dut.in_bad_tag ;
    (* hierconn *) wire [7:0] \dut.in_bad_status ;
    (* hierconn *) wire \dut.looks_i.offer_valid , \dut.looks_i.offer_qp , \dut.looks_i.l1_valid ,
        \dut.looks_i.l1_early , \dut.looks_i.l1_met ,
                        \dut.looks_i.l1_qp , \dut.looks_i.l2_valid , \dut.looks_i.l2_early , \dut.looks_i.l2_met ,
                            \dut.looks_i.l2_qp ,
                        \dut.looks_i.l3_valid , \dut.looks_i.l3_qp , \dut.looks_i.f_valid , \dut.looks_i.f_qp ;
    (* hierconn *) wire [P_W-1:0] \dut.looks_i.f_index , \dut.looks_i.f_bound ;
    (* hierconn *) wire [1:0] \dut.looks_i.want , \dut.looks_i.busy , \dut.looks_i.n_in , \dut.looks_i.n_out ;
    (* hierconn *) wire [1:0] \dut.looks_i.sets , \dut.looks_i.at_work , \dut.looks_i.told , \dut.looks_i.asked ,
        \dut.looks_i.done ;
    (* hierconn *) wire [L_W-1:0] \dut.looks_i.head ;
    (* hierconn *) wire [1:0] \dut.looks_i.pick_i.asks , \dut.looks_i.pick_i.after ;
    (* hierconn *) wire \dut.looks_i.pick_i.group_any , \dut.looks_i.pick_i.group_after ;
    (* hierconn *) wire [2:0] \dut.looks_i.n_count ;
    (* hierconn *) wire \dut.looks_i.n_valid ;
    (* hierconn *) wire [4*L_W-1:0] \dut.looks_i.f_line ;
    (* hierconn *) wire \dut.looks_i.index_ram.raddr_3 , \dut.looks_i.index_ram.raddr_2 ,
        \dut.looks_i.index_ram.raddr_1 ;
    (* hierconn *) wire \dut.looks_i.two.bound_ram.r0_addr_3 , \dut.looks_i.two.bound_ram.r0_addr_2 ,
        \dut.looks_i.two.bound_ram.r0_addr_1 ;

    wire              p1 = \dut.p1_valid && \dut.p1_qp == q;
    wire              p2 = \dut.p2_valid && \dut.p2_qp == q;
    wire              g = \dut.g_valid && \dut.g_qp == q;
    wire              f = \dut.looks_i.f_valid && \dut.looks_i.f_qp == q;
    wire              offer = \dut.looks_i.offer_valid && \dut.looks_i.offer_qp == q;
    wire              l1 = \dut.looks_i.l1_valid && \dut.looks_i.l1_qp == q;
    wire              l2 = \dut.looks_i.l2_valid && \dut.looks_i.l2_qp == q;
    wire              l3 = \dut.looks_i.l3_valid && \dut.looks_i.l3_qp == q;
    wire              l1_asked = l1 && !\dut.looks_i.l1_early ;
    wire              l2_asked = l2 && !\dut.looks_i.l2_early ;
    wire              l1_new = l1 && \dut.looks_i.l1_early && !\dut.looks_i.l1_met ;
    wire              l2_new = l2 && \dut.looks_i.l2_early && !\dut.looks_i.l2_met ;
    // What has happened in the cycle before counts
    wire              want = \dut.looks_i.want [q] || \dut.looks_i.sets [q];
    wire              busy = \dut.looks_i.at_work [q];

    // Places of the line
    wire [3:0]        n_at;             // of q
    wire [P_W-1:0]    n_index [0:3], n_bound [0:3];
    genvar            i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : g_line
            wire [1:0] place = i[1:0] - \dut.looks_i.n_out ;
            assign n_at[i] = {1'b0, place} < \dut.looks_i.n_count && \dut.looks_i.f_line [i * L_W + 2 * P_W] == q;
            assign n_index[i] = \dut.looks_i.f_line [i * L_W + P_W +: P_W];
            assign n_bound[i] = \dut.looks_i.f_line [i * L_W +: P_W];
        end
    endgenerate
    wire              in_line = n_at != 4'd0;
    wire [P_W-1:0]    nn_index = (n_at[0] ? n_index[0] : 0) | (n_at[1] ? n_index[1] : 0) | (n_at[2] ? n_index[2] :
        0) | (n_at[3] ? n_index[3] : 0);
    wire [P_W-1:0]    nn_bound = (n_at[0] ? n_bound[0] : 0) | (n_at[1] ? n_bound[1] : 0) | (n_at[2] ? n_bound[2] :
        0) | (n_at[3] ? n_bound[3] : 0);

    // How many are fetched, and may be as far as looks know; moves of that on their way
    wire [P_W-1:0]    fetched = (p1 ? \dut.p1_next : \dut.looks_i.index_ram.words [q * P_W +: P_W]) - next;
    wire [P_W-1:0]    bound = \dut.looks_i.two.bound_ram.words [q * P_W +: P_W] - next;
    wire              i1 = \dut.i1_valid && \dut.i1_qp == q;
    wire              i2 = \dut.i2_ripe && \dut.i2_qp == q;
    wire              late = \dut.move_late && \dut.late_qp == q;
    wire              in_rep = \dut.in_rep && \dut.in_rep_qp == q;
    wire              asked = want || offer || l1_asked || l2_asked || l3 || f || in_line;

    always @* if (up) begin
        not_forgotten: assert (fetched == limit[0] || asked || (i1 && \dut.i1_ripe ) || i2 || late || in_rep);
    end

`ifndef PROPERTIES_ONLY
`include "f_retire_invariants.vh"
`endif

endmodule

`default_nettype wire
