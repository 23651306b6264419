// SPDX-License-Identifier: Apache-2.0
// What holds between the requests of a QP and the stages, queue and memories; included in f_retire, proven with the
// rest.

// ---------------------------------------------------------------- for the induction: statuses
reg  [8*S-1:0]    of_slot = 0;                      // status of a report, by slot of its request
wire [7:0]        own [0:S-1];                      // of the request in a slot, if none before it fails
wire [S-1:0]      faulty;                           // by slot
wire              fails [0:S];                      // one before next + k has failed, by what was told of it
reg               broken_told = 1'b0, unsealed = 1'b0;      // one that completed: so; and an invalidation
wire [IDX_W-1:0]  untold_at = next + limit[0];
(* hierconn *) wire [6*IDX_W-1:0] \dut.count_ram.words ;
wire [3*IDX_W-1:0] count_word = q ? \dut.count_ram.words [3*IDX_W +: 3*IDX_W] : \dut.count_ram.words [0 +: 3*IDX_W];
wire [IDX_W-1:0]   judged_to = count_word[2*IDX_W +: IDX_W] - next;       // how many have passed G
wire [IDX_W-1:0]   g_at = next + judged_to;

// What G has said of requests, by slot
(* hierconn *) wire [7:0] \dut.g_status ;
(* hierconn *) wire \dut.g_failed ;
reg  [9*S-1:0]    verdict = 0;
wire [S-1:0]      failed_before, failed_fits, of_slot_fits, verdict_fits;
assign fails[0] = broken_told;
generate
    for (k = 0; k < S; k = k + 1) begin : g_verdict
        wire [IDX_W-1:0]   at = next + k;
        wire [SQ_LOG2-1:0] s = at[SQ_LOG2-1:0];
        wire [IDX_W-1:0]   tag = gone + before[k];
        wire [SQ_LOG2-1:0] t = tag[SQ_LOG2-1:0];
        wire [SQ_LOG2-1:0] behind = k - next[SQ_LOG2-1:0];
        assign of_slot_fits[k] = !(remote[k] && before[k] < untold) || of_slot[8*s +: 8] == reported[8*t +: 8];
        assign failed_fits[k] = k >= judged_to || failed_before[s] == fails[k];
        assign fails[k+1] = failed_before[s] || faulty[s];
        // of slot k
        assign own[k] = !is_done[k] ? `CDE_CQESTATUS_CANCELED : is_local[k] ? outcome[8*k +: 8] : of_slot[8*k +: 8];
        assign faulty[k] = own[k] != 8'h00;
        assign failed_before[k] = verdict[9*k + 8];
        assign verdict_fits[k] = behind >= judged_to || verdict[9*k +: 8] == (failed_before[k] ?
            `CDE_CQESTATUS_CANCELED : own[k]);
    end
endgenerate

always @(posedge clk) begin
    if (g) verdict[9*g_at[SQ_LOG2-1:0] +: 9] <= {\dut.g_failed , \dut.g_status };
    if (reports) of_slot[8*untold_at[SQ_LOG2-1:0] +: 8] <= p[39:32];
    if (completes && faulty[slot]) broken_told <= 1'b1;
    if (completes && unkeyed && unkey_status != 8'h00) unsealed <= 1'b1;
    if (fresh && fresh_qp == q && up) {broken_told, unsealed} <= 2'b00;
end

// ---------------------------------------------------------------- ... what memories hold of q
localparam E_INDEX = 209, E_STATUS = E_INDEX + 2 * IDX_W, E_QP = E_STATUS + 8, E_DONE = E_QP + 1,
    E_SILENT = E_DONE + 2, E_FAILED = E_SILENT + 1,
           E_UNKEYS = E_FAILED + 1, E_GOOD = E_UNKEYS + 1, E_W = E_GOOD + 1;
(* hierconn *) wire [2*IDX_W-1:0] \done_i.reported_ram.words , \done_i.indicated_ram.words ;
(* hierconn *) wire [2*66-1:0] \dut.settings_ram.words ;
(* hierconn *) wire [2*(IDX_W+8)-1:0] \dut.bad_ram.words ;
(* hierconn *) wire [2*S*148-1:0] \dut.request_ram.words ;
(* hierconn *) wire [2*S*9-1:0] \dut.done_ram.words ;
(* hierconn *) wire [2*S*IDX_W-1:0] \done_i.ripe_ram.words ;
(* hierconn *) wire \done_i.reported_ram.f_raddr , \done_i.indicated_ram.f_raddr , \done_i.j_valid ;
(* hierconn *) wire [SQ_LOG2:0] \done_i.ripe_ram.f_raddr ;
(* hierconn *) wire [63:0] \done_i.j ;
(* hierconn *) wire \dut.count_ram.raddr_1 , \dut.count_ram.raddr_2 , \dut.count_ram.raddr_3 ,
    \dut.settings_ram.raddr_1 , \dut.settings_ram.raddr_2 ,
                    \dut.settings_ram.raddr_3 , \dut.bad_ram.raddr_1 , \dut.bad_ram.raddr_2 , \dut.bad_ram.raddr_3 ;
(* hierconn *) wire [SQ_LOG2:0] \dut.request_ram.raddr_1 , \dut.request_ram.raddr_2 , \dut.request_ram.raddr_3 ,
    \dut.done_ram.raddr_1 ,
                    \dut.done_ram.raddr_2 , \dut.done_ram.raddr_3 ;
(* hierconn *) wire \dut.request_ram.none_1 , \dut.request_ram.none_2 , \dut.request_ram.none_3 ;
(* hierconn *) wire [1:0] \dut.failed , \dut.unsealed , \dut.owed , \dut.q_in , \dut.q_out , \dut.under_way ;
(* hierconn *) wire \dut.first_qp , \dut.o_valid , \dut.o_offer , \dut.o_unkeys , \dut.o_failed ,
    \dut.o_good , \dut.loaded ,
    \dut.room ;
(* hierconn *) wire [7:0] \dut.o_status ;
(* hierconn *) wire [E_W-1:0] \dut.o ;
(* hierconn *) wire [4*E_W-1:0] \dut.f_queue ;
function [IDX_W-1:0] of_q;
    input [2*IDX_W-1:0] words;
    of_q = q ? words[IDX_W +: IDX_W] : words[0 +: IDX_W];
endfunction
wire [65:0]        settings_word = q ? \dut.settings_ram.words [66 +: 66] : \dut.settings_ram.words [0 +: 66];
wire [IDX_W+7:0]   bad_stored = q ? \dut.bad_ram.words [IDX_W+8 +: IDX_W+8] : \dut.bad_ram.words [0 +: IDX_W+8];
wire               in_bad = \dut.in_bad && \dut.in_rep_qp == q;
wire [IDX_W+7:0]   bad_word = in_bad ? {\dut.in_bad_tag , \dut.in_bad_status } : bad_stored;
wire [IDX_W-1:0]   first_bad = bad_word[8 +: IDX_W] - gone;
wire [IDX_W-1:0]   judged_tags = count_word[IDX_W +: IDX_W] - gone;
wire               in_o = \dut.o_valid && \dut.o [E_QP] == q;
wire [1:0]         level = \dut.q_in - \dut.q_out ;
wire               here = age > {1'b0, q} + 2'd1;
wire [IDX_W-1:0]   n_before = n - (i1 ? ONE : 0);   // indicated before the newest one
wire [IDX_W-1:0]   in_ripe = \dut.in_ripe - next;
wire [IDX_W-1:0]   late_bound = \dut.late_bound - next;
wire [IDX_W-1:0]   i2_next = \dut.i2_next - next;
wire               owed = \dut.owed [q];
wire               owed_next = (i1 && !\dut.i1_ripe ) || (owed && !(in_rep && \dut.in_total == \dut.in_tags ));
wire [IDX_W-1:0]   known = i1 && \dut.i1_ripe && told == tags ? n : i2 && !owed ? i2_next : in_rep ? in_ripe :
    late ? late_bound : bound;
wire [IDX_W-1:0]   p1_at = next + fetched - ONE;
wire [IDX_W-1:0]   p2_at = next + judged_to + (g ? ONE : 0);

// The queue, of q: in its order, which requests; by place, what is said of them
wire [2:0]         e_mine, e_index;
wire [IDX_W-1:0]   e_want [0:3];                    // distance of the next one
wire [3:0]         e_within, e_told, e_asks, e_post;
assign e_want[0] = in_o ? ONE : 0;
generate
    for (i = 0; i < 3; i = i + 1) begin : g_entry
        wire [1:0]     place = \dut.q_out + i[1:0];
        wire [E_W-1:0] entry = \dut.f_queue [place * E_W +: E_W];
        wire [IDX_W-1:0] at = next + e_want[i];
        assign e_mine[i] = i < level && entry[E_QP] == q;
        assign e_want[i+1] = e_want[i] + (e_mine[i] ? ONE : 0);
        assign e_index[i] = !e_mine[i] || entry[E_INDEX +: IDX_W] == at;
    end
    for (i = 0; i < 4; i = i + 1) begin : g_place
        wire [E_W-1:0] entry = \dut.f_queue [i * E_W +: E_W];
        wire [1:0]     order = i[1:0] - \dut.q_out ;
        wire           mine = order < level && entry[E_QP] == q;
        wire [SQ_LOG2-1:0] s = entry[E_INDEX +: SQ_LOG2];
        wire [IDX_W-1:0] far = entry[E_INDEX +: IDX_W] - next;
        assign e_within[i] = !mine || (far < judged_to && far >= e_want[0]);
        assign e_told[i] = !mine || ({entry[E_FAILED], entry[E_STATUS +: 8]} == verdict[9*s +: 9] &&
            entry[E_GOOD] == (entry[E_STATUS +: 8] == 8'h00));
        assign e_asks[i] = !mine || entry[E_UNKEYS] == (entry[E_STATUS +: 8] == 8'h00 && unkeys[s] && guard);
        assign e_post[i] = !mine || (entry[E_SILENT] == silent[s] && entry[63:0] == {60'd0, context[4*s +: 4]});
    end
endgenerate

wire [2:0]         looking = {2'd0, \dut.looks_i.l1_valid } + {2'd0, \dut.looks_i.l2_valid } + {2'd0,
    \dut.looks_i.l3_valid };

always @* begin
    if (here) begin
        counts: assert (of_q(\done_i.reported_ram.words ) == told && of_q(\done_i.indicated_ram.words ) == tags &&
            settings_word[65] == guard);
    end
    if (!rst && !up) nothing_yet: assert (!\dut.p1_valid && !\dut.p2_valid && !\dut.g_valid && !\dut.o_valid &&
        !\dut.o_offer && !\dut.o_unkeys &&
        !\dut.looks_i.offer_valid && !\dut.looks_i.l1_valid && !\dut.looks_i.l2_valid && !\dut.looks_i.l3_valid &&
            !\dut.looks_i.f_valid &&
        \dut.looks_i.want == 0 && \dut.looks_i.busy == 0 && \dut.looks_i.told == 0 &&
            \dut.looks_i.asked == 0 && \dut.looks_i.done == 0 && \dut.looks_i.at_work == 0 &&
            \dut.looks_i.n_count == 0 && \dut.looks_i.n_in == 0 &&
            \dut.looks_i.n_out == 0 &&
        level == 0 && \dut.under_way == 0 && !\dut.loaded && !\dut.room && !\dut.in_acc && !\dut.in_rep &&
            !\dut.in_bad && !\dut.i1_valid &&
        !\dut.i2_ripe && !\dut.move_late && \dut.owed == 0 && \dut.failed == 0 && \dut.unsealed == 0 &&
            !\done_i.j_valid && bad == 0);
    if (!up) zero_yet: assert (tail == 0 && ind == 0 && next == 0 && tags == 0 && told == 0 && gone == 0 &&
        !broken && !broken_told && !unsealed &&
                               !unkeyed && !p_valid && !guard && !waits);
    if (age >= 1) look_1: assert (\dut.looks_i.index_ram.raddr_1 == \dut.looks_i.two.bound_ram.r0_addr_1 &&
                        (!\dut.looks_i.l1_valid || \dut.looks_i.index_ram.raddr_1 == \dut.looks_i.l1_qp ));
    if (age >= 2) look_2: assert (\dut.looks_i.index_ram.raddr_2 == \dut.looks_i.two.bound_ram.r0_addr_2 &&
                        (!\dut.looks_i.l2_valid || \dut.looks_i.index_ram.raddr_2 == \dut.looks_i.l2_qp ));
    if (age >= 3) look_3: assert (\dut.looks_i.index_ram.raddr_3 == \dut.looks_i.two.bound_ram.r0_addr_3 &&
                        (!\dut.looks_i.l3_valid || \dut.looks_i.index_ram.raddr_3 == \dut.looks_i.l3_qp ));
    if (age >= 1) reads_1: assert (\dut.count_ram.raddr_1 == \dut.settings_ram.raddr_1 &&
        \dut.count_ram.raddr_1 == \dut.bad_ram.raddr_1 &&
                         \dut.done_ram.raddr_1 == \dut.request_ram.raddr_1 && (!\dut.p1_valid ||
                             \dut.count_ram.raddr_1 == \dut.p1_qp ));
    if (age >= 2) reads_2: assert (\dut.count_ram.raddr_2 == \dut.settings_ram.raddr_2 &&
        \dut.count_ram.raddr_2 == \dut.bad_ram.raddr_2 &&
                         \dut.done_ram.raddr_2 == \dut.request_ram.raddr_2 && (!\dut.p2_valid ||
                             \dut.count_ram.raddr_2 == \dut.p2_qp ));
    if (age >= 3) reads_3: assert (\dut.count_ram.raddr_3 == \dut.settings_ram.raddr_3 &&
        \dut.count_ram.raddr_3 == \dut.bad_ram.raddr_3 &&
                         \dut.done_ram.raddr_3 == \dut.request_ram.raddr_3 && (!\dut.g_valid ||
                             \dut.count_ram.raddr_3 == \dut.g_qp ));
    window: assert (n <= present && present <= S && flying == before[S] && untold <= flying);
    if (up) begin
        judging: assert (\done_i.j_valid == p_valid);
        if (p_valid) j_is_p: assert (\done_i.j == p && \done_i.reported_ram.f_raddr == p[0] &&
            \done_i.indicated_ram.f_raddr == p[0] &&
                                     \done_i.ripe_ram.f_raddr == {p[0], p[16 +: SQ_LOG2]});
        // How far requests may go
        if (i1) i1_is_newest: assert (\dut.i1_next == ind && n != 0 && \dut.i1_ripe == !remote[n - ONE] &&
            (\dut.i1_ripe || told != tags));
        if (i2) i2_is_before: assert (i2_next == n_before && n_before != 0);
        if (in_rep) in_is_told: assert (\dut.in_total == told && \dut.in_tags == (i1 && !\dut.i1_ripe ? tags - ONE :
            tags) && owed && untold != 0);
        owes: assert (owed_next == (told != tags));
        if (!owed) all_ripe: assert (limit[0] >= n_before);
        bounds: assert (fetched <= bound && bound <= n_before && bound <= limit[0]);
        if (in_rep) to_ripe: assert (in_ripe <= n_before && in_ripe <= limit[0] && bound <= in_ripe);
        if (late) to_late: assert (late_bound <= n_before && late_bound <= limit[0] && bound <= late_bound &&
            (!in_rep || late_bound <= in_ripe));
        all_known: assert (known == limit[0]);
        looked_for: assert (fetched == bound || asked);
        // Looks
        if (f) runs: assert (\dut.looks_i.f_index - next == fetched && fetched < \dut.looks_i.f_bound - next &&
            \dut.looks_i.f_bound - next <= bound &&
                             (\dut.looks_i.f_bound - next == bound || want));
        if (in_line) in_line_runs: assert (nn_index - next == fetched && fetched < nn_bound - next &&
            nn_bound - next <= bound && (nn_bound - next == bound || want));
        one_at_a_time: assert ({2'd0, offer} + {2'd0, l1_asked} + {2'd0, l2_asked} + {2'd0, l3} + {2'd0,
            in_line} + {2'd0, f} == {2'd0, busy});
        // What happened in the cycle before; the choice
        if (\dut.looks_i.done [q]) was_at_work: assert (\dut.looks_i.busy [q]);
        if (busy && !(\dut.looks_i.busy [q] && !\dut.looks_i.done [q])) is_launched: assert (!\dut.looks_i.want [q] &&
            !\dut.looks_i.busy [q]);
        ask: assert (\dut.looks_i.pick_i.asks == (\dut.looks_i.want & ~\dut.looks_i.busy ) &&
            (\dut.looks_i.pick_i.after & ~\dut.looks_i.pick_i.asks ) == 0);
        ask_groups: assert (\dut.looks_i.pick_i.group_any == (\dut.looks_i.pick_i.asks != 0) &&
            \dut.looks_i.pick_i.group_after == (\dut.looks_i.pick_i.after != 0));
        if (level != 0) first_in_queue: assert (\dut.first_qp == \dut.f_queue [\dut.q_out * E_W + E_QP]);
        if (\dut.looks_i.n_valid ) first_in_line: assert (\dut.looks_i.head ==
            \dut.looks_i.f_line [\dut.looks_i.n_out * L_W +: L_W]);
        one_in_line: assert ((n_at & (n_at - 4'd1)) == 0);
        line: assert (\dut.looks_i.n_count <= 3'd4 && \dut.looks_i.n_valid == (\dut.looks_i.n_count != 0) &&
            \dut.looks_i.n_count [1:0] == \dut.looks_i.n_in - \dut.looks_i.n_out &&
                      {1'b0, looking} + {1'b0, \dut.looks_i.n_count } <= 4'd4);
        if (offer || l1_asked || l2_asked || l3 || l1_new || l2_new) l_none: assert (!p1);
        if (l1_new || l2_new) l_alone: assert (!busy && !want && !\dut.looks_i.told [q]);
        // Requests on their way
        on_their_way: assert (judged_to + g + p2 + p1 == fetched && judged_tags == before[judged_to]);
        if (p1) p1_reads: assert (\dut.request_ram.raddr_1 == {q, p1_at[SQ_LOG2-1:0]} && !\dut.request_ram.none_1 );
        if (p2) p2_reads: assert (\dut.request_ram.raddr_2 == {q, p2_at[SQ_LOG2-1:0]} && !\dut.request_ram.none_2 );
        if (g) g_reads: assert (\dut.request_ram.raddr_3 == {q, g_at[SQ_LOG2-1:0]} && !\dut.request_ram.none_3 );
        if (\dut.in_acc &&
            \dut.in_slot [SQ_LOG2] == q) accepted: assert (\dut.in_slot [SQ_LOG2-1:0] == tail[SQ_LOG2-1:0] - 1'b1 &&
            n != present);
        if (g) knows_failure: assert (\dut.g_bad == bad[q] || (in_bad && !\dut.g_bad ));
        if (in_bad) fails_now: assert (in_rep && bad[q] && first_bad == untold - ONE && !(g && \dut.g_bad ));
        if (g) failure_before: assert (\dut.g_failed == \dut.failed [q]);
        // Judged, and not completed
        queued: assert (&e_index && e_want[3] == judged_to);
        as_told: assert (&verdict_fits);
        failed_in_order: assert (&failed_fits);
        queued_within: assert (&e_within);
        queued_told: assert (&e_told);
        queued_asks: assert (&e_asks);
        queued_post: assert (&e_post);
        counted: assert ({1'b0, \dut.under_way } == {2'd0, \dut.p1_valid } + {2'd0, \dut.p2_valid } + {2'd0,
            \dut.g_valid } + {1'b0, level} + {2'd0, \dut.loaded });
        if (\dut.room ) room: assert (\dut.under_way != 2'd3);
        offers: assert ((\dut.o_offer || \dut.o_unkeys ) == \dut.o_valid && !(\dut.o_offer && \dut.o_unkeys ));
        if (in_o) begin
            oldest: assert (\dut.o [E_INDEX +: IDX_W] == next && \dut.o_failed == broken &&
                \dut.o_status == (unkeyed ? unkey_status : judged) &&
                            \dut.o [63:0] == {60'd0, context[4*slot +: 4]} && \dut.o [E_SILENT] == silent[slot] &&
                                \dut.o_unkeys == (asks && !unkeyed));
            if (\dut.o_offer ) good: assert (\dut.o_good == (\dut.o_status == 8'h00));
        end
        if (unkeyed) answered: assert (in_o && asks);
        failures: assert (\dut.failed [q] == fails[judged_to] && broken == (broken_told || unsealed) &&
                          \dut.unsealed [q] == (unsealed || (unkeyed && unkey_status != 8'h00)));
        if (waits) o_waits: assert (in_o && \dut.o_offer );
        if (bad[q] && !broken_told) first_failure: assert (first_bad < untold && bad_word[7:0] != 8'h00);
    end
end

wire [S-1:0] request_fits, done_fits, ripe_fits, newest_fits, bad_fits;
generate
    for (k = 0; k < S; k = k + 1) begin : g_slots
        wire [SQ_LOG2-1:0] behind = k - next[SQ_LOG2-1:0];
        wire [SQ_LOG2-1:0] since = k - gone[SQ_LOG2-1:0];
        wire               coming = \dut.in_acc && \dut.in_slot == {q, k[SQ_LOG2-1:0]};
        wire [147:0]       request = coming ? \dut.in_post : q ? \dut.request_ram.words [148*(S+k) +: 148] :
            \dut.request_ram.words [148*k +: 148];
        wire [8:0]         done = q ? \dut.done_ram.words [9*(S+k) +: 9] : \dut.done_ram.words [9*k +: 9];
        // of the remote request at next + k
        wire [IDX_W-1:0]   tag = gone + before[k];
        wire [SQ_LOG2-1:0] t = tag[SQ_LOG2-1:0];
        wire [2*S*IDX_W-1:0] ripes = \done_i.ripe_ram.words >> (IDX_W * ({q, t}));
        assign request_fits[k] = behind >= present || (request[147] == unkeys[k] && request[114] == silent[k] &&
            request[113] == is_local[k] &&
                                                       request[63:0] == {60'd0, context[4*k +: 4]});
        assign done_fits[k] = behind >= n || done == {outcome[8*k +: 8], is_done[k]};
        assign ripe_fits[k] = !(remote[k] && before[k] >= untold) || ripes[0 +: IDX_W] == next + ends[k];
        assign newest_fits[k] = !(in_rep && remote[k] && before[k] + ONE == untold) || (k >= bound && (!late ||
            k >= late_bound) && in_ripe > k);
        assign bad_fits[k] = since >= untold || (bad[q] && (broken_told || since > first_bad)) ||
                             reported[8*k +: 8] == (bad[q] && since == first_bad ? bad_word[7:0] : 8'h00);
    end
endgenerate

always @* if (up) request_of_slot: assert (&request_fits);
always @* if (up) status_of_slot: assert (&of_slot_fits);
always @* if (up) done_of_slot: assert (&done_fits);
always @* if (up) ripe_of_tag: assert (&ripe_fits);
always @* if (up) ripe_of_newest: assert (&newest_fits);
always @* if (up) failure_of_tag: assert (&bad_fits);
