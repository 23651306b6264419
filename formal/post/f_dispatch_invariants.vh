// SPDX-License-Identifier: Apache-2.0
// What holds between the requests of a QP and the stages and memories; included in f_dispatch, proven with the rest.

// ---------------------------------------------------------------- for the induction
(* hierconn *) wire [4*E_W-1:0] \dut.f_queue ;
(* hierconn *) wire [1:0] \dut.q_in , \dut.q_out , \dut.under_way , \dut.back ;
(* hierconn *) wire \dut.first_qp , \dut.o_valid , \dut.o_qp , \dut.o_offer , \dut.o_sent , \dut.o_doomed ,
    \dut.o_stale ,
    \dut.o_executes , \dut.loaded , \dut.room ,
                    \dut.g_skip , \dut.g_after ;
(* hierconn *) wire [E_W-1:0] \dut.o ;
(* hierconn *) wire \dut.count_ram.raddr_3 , \dut.count_ram.raddr_2 , \dut.count_ram.raddr_1 ;
(* hierconn *) wire \dut.retired_ram.raddr_3 , \dut.retired_ram.raddr_2 , \dut.retired_ram.raddr_1 ;
(* hierconn *) wire [SQ_LOG2:0] \dut.post_ram.raddr_3 , \dut.post_ram.raddr_2 , \dut.post_ram.raddr_1 ;
(* hierconn *) wire \dut.post_ram.none_3 , \dut.post_ram.none_2 , \dut.post_ram.none_1 ;
localparam [9:0]  E_KIND = E_QP + 1;
wire [3:0]        o_post = posts[o_index[SQ_LOG2-1:0]];
wire              o = \dut.o_valid && \dut.o_qp == q;
wire [IDX_W-1:0]  o_index = \dut.o [E_INDEX +: IDX_W];
wire [SQ_LOG2-1:0] last = tail[SQ_LOG2-1:0] - 1'b1;
wire [3:0]        last_post = posts[last];
wire              o_live = o && !\dut.o_stale ;
wire              o_stale = o && \dut.o_stale ;
wire              back = \dut.back [q];
wire [1:0]        level = \dut.q_in - \dut.q_out ;

// The queue in its order: of q, first what is to be discarded, then the requests from the oldest that is not
// indicated on
wire [2:0]        e_live, e_stale, e_right, e_discarded, e_behind;
wire [IDX_W-1:0]  e_index [0:2];
wire [IDX_W-1:0]  e_want [0:3];     // of the next that lives
assign e_want[0] = base + (o_live ? ONE : 0);
generate
    for (i = 0; i < 3; i = i + 1) begin : g_entry
        wire [1:0]     place = \dut.q_out + i[1:0];
        wire [E_W-1:0] entry = \dut.f_queue [place * E_W +: E_W];
        wire           mine = i < level && entry[E_QP] == q;
        wire           stale = back && !entry[E_AFTER];
        wire [3:0]     queued_post = posts[entry[E_INDEX +: SQ_LOG2]];
        assign e_index[i] = entry[E_INDEX +: IDX_W];
        assign e_live[i] = mine && !stale;
        assign e_stale[i] = mine && stale;
        assign e_want[i+1] = e_want[i] + (e_live[i] ? ONE : 0);
        assign e_right[i] = !e_live[i] || (e_index[i] == e_want[i] && {entry[E_KIND +: 2],
            entry[`CDE_POST_CONTEXT_LSB +: 2]} == queued_post);
        assign e_discarded[i] = !e_stale[i] || (e_want[i] == base && !o_live && e_index[i] != base &&
            e_index[i] - base < known - base);
        assign e_behind[i] = !mine || !entry[E_AFTER] || (back && entry[E_SKIP]);
    end
endgenerate

// Each post that waits is in memory, but for one that has just come.
wire [(1 << SQ_LOG2) - 1:0] same;
generate
    for (i = 0; i < (1 << SQ_LOG2); i = i + 1) begin : g_slot
        wire [3:0] word = {q ? \dut.post_ram.words [((1 << SQ_LOG2) + i) * 514 + 512 +: 2] :
            \dut.post_ram.words [i * 514 + 512 +: 2],
                           q ? \dut.post_ram.words [((1 << SQ_LOG2) + i) * 514 + `CDE_POST_CONTEXT_LSB +: 2]
                             : \dut.post_ram.words [i * 514 + `CDE_POST_CONTEXT_LSB +: 2]};
        assign same[i] = word == posts[i] ||
                         (\dut.in_acc && \dut.in_qp == q && \dut.in_slot == i);
    end
endgenerate

wire [2:0]        looking = {2'd0, \dut.looks_i.l1_valid } + {2'd0, \dut.looks_i.l2_valid } + {2'd0,
    \dut.looks_i.l3_valid };

always @(posedge clk) begin
    if (age > {1'b0, q} + 2'd1) begin
        index_is_at: assert (\dut.looks_i.index_ram.words [q * P_W +: P_W] == at[P_W-1:0]);
        bound_is_known: assert (\dut.looks_i.one.bound_ram.words [q * P_W +: P_W] == known[P_W-1:0]);
    end
    capacity: assert (present <= (1 << SQ_LOG2) && left <= present && known - next <= left);
    if (!rst && !up) nothing_yet: assert (!\dut.p1_valid && !\dut.p2_valid && !\dut.g_valid && !\dut.k_valid &&
        !\dut.o_valid && !\dut.o_offer &&
        !\dut.o_sent && !\dut.o_doomed && !\dut.looks_i.offer_valid && !\dut.looks_i.l1_valid &&
            !\dut.looks_i.l2_valid && !\dut.looks_i.l3_valid &&
        !\dut.looks_i.f_valid && \dut.looks_i.want == 0 && \dut.looks_i.busy == 0 && \dut.looks_i.told == 0 &&
            \dut.looks_i.asked == 0 && \dut.looks_i.done == 0 && \dut.looks_i.at_work == 0 &&
            \dut.looks_i.n_count == 0 &&
            \dut.looks_i.n_in == 0 &&
        \dut.looks_i.n_out == 0 && level == 0 && \dut.under_way == 0 && !\dut.loaded && \dut.back == 0 &&
            !\dut.in_rel && !\dut.in_move && !\dut.in_acc &&
        !\dut.in_read && !\dut.in_retired && !ind_valid && !\dut.room );
    if (!up) zero_yet: assert (posts[0] == 0 && posts[1] == 0 && posts[2] == 0 && posts[3] == 0 &&
        next == 0 && released == 0 && tail == 0 && known == 0 && !sent && !waits && !stopped && retired == 0 &&
            !leaves);
    if (up) begin
        // What dispatch has been told
        if (in_move) told_bound: assert (\dut.in_bound == released[P_W-1:0] && told);
        if (!in_move) nothing_told: assert (known == released);
        leaves_is_told: assert (leaves == told);
        if (\dut.in_acc && \dut.in_qp == q) accepted: assert (\dut.in_slot == tail[SQ_LOG2-1:0] - 1'b1 &&
            present != 0 && tail != known &&
            {\dut.in_post [513:512], \dut.in_post [`CDE_POST_CONTEXT_LSB +: 2]} == last_post);
        if (\dut.in_retired && \dut.in_rr_qp == q) total: assert (\dut.in_total == retired &&
            (told_read || retired == \dut.retired_ram.words [q * P_W +: P_W]));
        else total_is_kept: assert (retired == \dut.retired_ram.words [q * P_W +: P_W]);

        stored: assert (&same);

        // What is dispatched and not indicated
        between: assert (done <= open && open <= (1 << SQ_LOG2));
        if (o_live) oldest: assert (o_index == base && {\dut.o [E_KIND +: 2],
            \dut.o [`CDE_POST_CONTEXT_LSB +: 2]} == o_post);
        if (o_stale) discards: assert (o_index != base && o_index - base < known - base);
        newest: assert (e_want[3] == at);
        queued: assert (&e_right && &e_discarded && &e_behind);
        offers: assert (!\dut.o_offer || (\dut.o_valid && !\dut.o [E_SKIP] && !\dut.o_stale && !\dut.o_doomed &&
            !\dut.o_sent ));
        executes: assert (!\dut.o_sent || (\dut.o_valid && !\dut.o [E_SKIP] && !\dut.o_stale && !\dut.o_doomed &&
            \dut.o_executes ));
        doomed: assert (!\dut.o_doomed || (\dut.o_valid && !\dut.o [E_SKIP] && !\dut.o_stale ));
        if (\dut.o_valid ) ends_somehow: assert (\dut.o_offer || \dut.o_sent || \dut.o_stale || \dut.o [E_SKIP] ||
            \dut.o_doomed );
        sent_is_held: assert (sent == ((\dut.o_sent && o) || (indicated && ind_done)));
        if (waits) offered: assert (\dut.o_offer && o);
        if (o && \dut.o_doomed ) is_stopped: assert (stop[q] || tail == next);
        if (back) back_is_stopped: assert (stop[q] || tail == next);
        counted: assert ({1'b0, \dut.under_way } == {2'd0, \dut.p1_valid } + {2'd0, \dut.p2_valid } + {2'd0,
            \dut.g_valid } + {2'd0, \dut.k_valid } +
                         {1'b0, level} + {2'd0, \dut.loaded });
        if (\dut.room ) room: assert (\dut.under_way != 2'd3);

        // Requests on their way
        reads_p1: assert (\dut.count_ram.raddr_1 == \dut.retired_ram.raddr_1 && (!\dut.p1_valid ||
            (\dut.count_ram.raddr_1 == \dut.p1_qp &&
                          \dut.post_ram.raddr_1 == {\dut.p1_qp , \dut.p1_index [SQ_LOG2-1:0]})));
        reads_p2: assert (\dut.count_ram.raddr_2 == \dut.retired_ram.raddr_2 && (!\dut.p2_valid ||
            (\dut.count_ram.raddr_2 == \dut.p2_qp &&
                          \dut.post_ram.raddr_2 == {\dut.p2_qp , \dut.p2_index [SQ_LOG2-1:0]})));
        reads_g: assert (\dut.count_ram.raddr_3 == \dut.retired_ram.raddr_3 && (!\dut.g_valid ||
            (\dut.count_ram.raddr_3 == \dut.g_qp &&
                         \dut.post_ram.raddr_3 == {\dut.g_qp , \dut.g_index [SQ_LOG2-1:0]})));
        if (p1) p1_released: assert ({1'b0, p1_far} < rest && !\dut.post_ram.none_1 );
        if (p2) p2_released: assert ({1'b0, p2_far} < rest && !\dut.post_ram.none_2 );
        if (g) g_released: assert ({1'b0, g_far} < rest && !\dut.post_ram.none_3 );
        if (f) f_released: assert ({1'b0, f_far} < rest && \dut.looks_i.f_bound == known[P_W-1:0]);
        if (n) n_released: assert ({1'b0, n_far} < rest && nn_bound == known[P_W-1:0]);
        if (g && p2) rises_g_p2: assert (g_far < p2_far);
        if (g && p1) rises_g_p1: assert (g_far < p1_far);
        if (p2 && p1) rises_p2_p1: assert (p2_far < p1_far);
        if (f) rises_f: assert (!(g && g_far >= f_far) && !(p2 && p2_far >= f_far) && !(p1 && p1_far >= f_far));
        if (n) rises_n: assert (!(g && g_far >= n_far) && !(p2 && p2_far >= n_far) && !(p1 && p1_far >= n_far));
        if (g && !\dut.g_after && back) not_next: assert (g_far != 0);
        if (g && \dut.g_after ) after: assert (back && \dut.g_skip );
        if (o_live) after_back: assert (\dut.o [E_AFTER] ? \dut.o [E_SKIP] : !back);
        if (k) dropped: assert (chain == 0 && !(f && f_far == 0) && !(n && n_far == 0));
        if (chain != 0) goes_on: assert (follows || asked);

        // One look or run at a time
        one_at_a_time: assert ({2'd0, offer} + {2'd0, l1_asked} + {2'd0, l2_asked} + {2'd0, l3} + {2'd0, n} + {2'd0,
            f} == {2'd0, busy});
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
        if (offer) o_none: assert (!p1);
        if (l1_asked) l1_none: assert (!p1 && !p2);
        if (l2_asked) l2_none: assert (!p1 && !p2 && !g);
        if (l3) l3_none: assert (!p1 && !p2 && !g);
        if (l1_new) l1_alone: assert (!p1);
        if (l1_new || l2_new) l_alone: assert (!busy && !want && !\dut.looks_i.told [q]);
        if (l2_new) l2_alone: assert (!p1 && !p2);
        look_1: assert (\dut.looks_i.index_ram.raddr_1 == \dut.looks_i.one.bound_ram.raddr_1 &&
                        (!\dut.looks_i.l1_valid || \dut.looks_i.index_ram.raddr_1 == \dut.looks_i.l1_qp ));
        look_2: assert (\dut.looks_i.index_ram.raddr_2 == \dut.looks_i.one.bound_ram.raddr_2 &&
                        (!\dut.looks_i.l2_valid || \dut.looks_i.index_ram.raddr_2 == \dut.looks_i.l2_qp ));
        look_3: assert (\dut.looks_i.index_ram.raddr_3 == \dut.looks_i.one.bound_ram.raddr_3 &&
                        (!\dut.looks_i.l3_valid || \dut.looks_i.index_ram.raddr_3 == \dut.looks_i.l3_qp ));
    end
end
