// SPDX-License-Identifier: Apache-2.0
// What the induction of f_receive needs: how memories and stages hold what the specification has counted. Included in
// the module.

// ------------------------------------------------------ for the induction: memories and stages hold what was counted
(* hierconn *) wire [2*IDX_W-1:0] \dut.taken_ram.words , \dut.done_ram.words , \rdone_i.reported_ram.words ,
    \rdone_i.taken_ram.words ;
(* hierconn *) wire [4*IDX_W-1:0] \dut.tail_ram.words ;
(* hierconn *) wire [2*(IDX_W+17)-1:0] \dut.line_ram.words ;
(* hierconn *) wire [9:0] \dut.settings_ram.words ;
(* hierconn *) wire [2*67-1:0] \rdone_i.settings_ram.words ;
(* hierconn *) wire [2*N*448-1:0] \dut.scatter_i.own_ram.words , \dut.scatter_i.shared_ram.words ;
(* hierconn *) wire [2*F*199-1:0] \rdone_i.record_ram.words ;
(* hierconn *) wire [1:0] \dut.tail_ram.raddr_1 , \dut.tail_ram.raddr_2 , \dut.tail_ram.raddr_3 ;
(* hierconn *) wire \dut.taken_ram.raddr_1 , \dut.taken_ram.raddr_2 , \dut.taken_ram.raddr_3 ,
    \dut.done_ram.raddr_1 , \dut.done_ram.raddr_2 , \dut.done_ram.raddr_3 ,
    \dut.line_ram.raddr_1 , \dut.line_ram.raddr_2 , \dut.line_ram.raddr_3 ,
    \dut.settings_ram.f_raddr ;
(* hierconn *) wire [Q_LOG2:0] \dut.scatter_i.own_ram.raddr_1 , \dut.scatter_i.own_ram.raddr_2 ,
    \dut.scatter_i.own_ram.raddr_3 , \dut.scatter_i.shared_ram.raddr_1 , \dut.scatter_i.shared_ram.raddr_2 ,
    \dut.scatter_i.shared_ram.raddr_3 ;
(* hierconn *) wire \dut.scatter_i.own_ram.none_1 , \dut.scatter_i.own_ram.none_2 , \dut.scatter_i.own_ram.none_3 ,
    \dut.scatter_i.shared_ram.none_1 , \dut.scatter_i.shared_ram.none_2 , \dut.scatter_i.shared_ram.none_3 ;
localparam E_QP = 264, E_INDEX = E_QP + 3, E_TWO = E_INDEX + IDX_W + 7, E_W = E_TWO + 1;
(* hierconn *) wire \rdone_i.reported_ram.raddr_1 , \rdone_i.reported_ram.raddr_2 , \rdone_i.reported_ram.raddr_3 ,
    \rdone_i.taken_ram.raddr_1 , \rdone_i.taken_ram.raddr_2 , \rdone_i.taken_ram.raddr_3 ,
    \rdone_i.settings_ram.raddr_1 , \rdone_i.settings_ram.raddr_2 , \rdone_i.settings_ram.raddr_3 ,
    \rdone_i.settings_ram.none_1 , \rdone_i.settings_ram.none_2 , \rdone_i.settings_ram.none_3 ,
    \rdone_i.record_ram.none_1 , \rdone_i.record_ram.none_2 , \rdone_i.record_ram.none_3 ;
(* hierconn *) wire [RX_LOG2:0] \rdone_i.record_ram.raddr_1 , \rdone_i.record_ram.raddr_2 ,
    \rdone_i.record_ram.raddr_3 ;
(* hierconn *) wire \rdone_i.t1_we , \rdone_i.t2_we , \rdone_i.t3_we , \rdone_i.t1_qp , \rdone_i.t2_qp ,
    \rdone_i.t3_qp ;
(* hierconn *) wire [IDX_W-1:0] \rdone_i.t1_total , \rdone_i.t2_total , \rdone_i.t3_total ;
(* hierconn *) wire \rdone_i.p1_valid , \rdone_i.p2_valid , \rdone_i.p3_valid , \rdone_i.d_valid , \rdone_i.p1_self ,
    \rdone_i.p2_self ,
    \rdone_i.p3_self , \rdone_i.d_self , \rdone_i.p2_bad , \rdone_i.p3_bad , \rdone_i.d_bad ;
(* hierconn *) wire [63:0] \rdone_i.p1 ;
(* hierconn *) wire [39:0] \rdone_i.p2 , \rdone_i.p3 , \rdone_i.d ;
(* hierconn *) wire [1:0] \rdone_i.q_in , \rdone_i.q_out , \rdone_i.under_way ;
(* hierconn *) wire \rdone_i.o_valid , \rdone_i.first , \rdone_i.loaded , \rdone_i.room ;
(* hierconn *) wire [E_W-1:0] \rdone_i.o ;
(* hierconn *) wire [4*E_W-1:0] \rdone_i.f_queue ;
(* hierconn *) wire \dut.b_req , \dut.s_req , \dut.t_req , \dut.r_req , \dut.c_req ,
    \dut.b_flush , \dut.s_flush , \dut.t_flush , \dut.r_flush , \dut.c_flush ,
    \dut.b_op , \dut.s_op , \dut.t_op , \dut.r_op , \dut.c_op ,
    \dut.b_qp , \dut.s_qp , \dut.t_qp , \dut.r_qp , \dut.c_qp ,
    \dut.s_shared , \dut.t_shared , \dut.r_shared , \dut.c_shared , \dut.d_shared , \dut.e_shared ,
    \dut.f_shared , \dut.g_shared ,
    \dut.s_srq , \dut.t_srq , \dut.r_srq , \dut.c_srq , \dut.d_srq , \dut.e_srq ,
    \dut.f_srq , \dut.g_srq ;
(* hierconn *) wire [1:0] \dut.c_asks , \dut.c_looks ;
(* hierconn *) wire [IDX_W-1:0] \dut.taken , \dut.tail , \dut.done , \dut.d_tag , \dut.e_tag , \dut.f_tag ,
    \dut.g_tag ;
(* hierconn *) wire [16+IDX_W:0] \dut.line ;
(* hierconn *) wire [63:0] \dut.scatter_i.cookie ;
(* hierconn *) wire [4:0] \dut.owed , \dut.out_fifo.level , \dut.out_fifo.wr_ptr , \dut.out_fifo.rd_ptr ;
(* hierconn *) wire \dut.out_fifo.q_valid , \dut.out_fifo.many ;
(* hierconn *) wire \dut.settings_ram.f_fresh ;
(* hierconn *) wire [4:0] \rdone_i.self_fifo.level , \rdone_i.self_fifo.wr_ptr , \rdone_i.self_fifo.rd_ptr ;
(* hierconn *) wire \rdone_i.self_fifo.q_valid , \rdone_i.self_fifo.many ;
wire [1:0] waiting = \rdone_i.q_in - \rdone_i.q_out ;
reg  up_1 = 1'b0;
always @(posedge clk) up_1 <= up;
// A tail, and a buffer with it, is written in the cycle after its post.
(* hierconn *) wire [IDX_W+2:0] \dut.w_tail ;
(* hierconn *) wire \dut.scatter_i.own_we , \dut.scatter_i.shared_we ;
(* hierconn *) wire [1:0] \dut.scatter_i.w_queue ;
(* hierconn *) wire [IDX_W-1:0] \dut.scatter_i.w_index ;
(* hierconn *) wire [447:0] \dut.scatter_i.w_data ;
reg  [IDX_W-1:0] tail_w = 0, tail_s_w = 0;
always @(posedge clk) {tail_w, tail_s_w} <= {tail, tail_s};
wire writes_tail = \dut.w_tail [IDX_W +: 3] == {2'b10, q}, writes_tail_s = \dut.w_tail [IDX_W +: 3] == {2'b11, s};
wire writes = \dut.scatter_i.own_we && \dut.scatter_i.w_queue == {1'b0, q};
wire writes_s = \dut.scatter_i.shared_we && \dut.scatter_i.w_queue == {1'b1, s};
wire [IDX_W-1:0] newest = tail - ONE, newest_s = tail_s - ONE;
wire [IDX_W-1:0] in_ram = tail_w - done, in_ram_s = tail_s_w - taken_s;
wire idle = !\dut.b_req && !\dut.s_req && !\dut.t_req && !\dut.r_req && !\dut.c_req && !\dut.d_req && !\dut.e_req &&
            !\dut.f_req && !\dut.g_req &&
            !\dut.b_flush && !\dut.s_flush && !\dut.t_flush && !\dut.r_flush && !\dut.c_flush && !\dut.d_flush &&
                !\dut.e_flush && !\dut.f_flush && !\dut.g_flush &&
            !\rdone_i.p1_valid && !\rdone_i.p2_valid && !\rdone_i.p3_valid && !\rdone_i.d_valid && !\rdone_i.o_valid &&
            !\rdone_i.t1_we && !\rdone_i.t2_we && !\rdone_i.t3_we && \rdone_i.under_way == 0 && waiting == 0 &&
                !\rdone_i.loaded && !\rdone_i.room && !done_we &&
            !err_valid && !ends && level == 0 && stored == 0 && \rdone_i.self_fifo.level == 0 && stored_self == 0 &&
                !\rdone_i.self_fifo.q_valid && !\rdone_i.self_fifo.many &&
                !\dut.out_fifo.q_valid && !\dut.out_fifo.many ;
function [IDX_W-1:0] pick;
    input [2*IDX_W-1:0] words;
    input               at;
    pick = at ? words[IDX_W +: IDX_W] : words[0 +: IDX_W];
endfunction
wire [IDX_W-1:0] own_word = pick(\dut.tail_ram.words [0 +: 2*IDX_W], q);
wire [IDX_W-1:0] shared_word = pick(\dut.tail_ram.words [2*IDX_W +: 2*IDX_W], s);
wire [16+IDX_W:0] line_word = s ? \dut.line_ram.words [17+IDX_W +: 17+IDX_W] : \dut.line_ram.words [0 +: 17+IDX_W];
wire [4:0]        setting = q ? \dut.settings_ram.words [9:5] : \dut.settings_ram.words [4:0];
wire              d_s = \dut.d_req && \dut.d_take && \dut.d_shared && \dut.d_srq == s;
wire              e_s = \dut.e_req && \dut.e_take && \dut.e_shared && \dut.e_srq == s;
wire              f_s = \dut.f_req && \dut.f_take && \dut.f_shared && \dut.f_srq == s;
wire              g_s = \dut.g_req && \dut.g_take && \dut.g_shared && \dut.g_srq == s;
wire [IDX_W-1:0]  f_index = taken + (g_q ? ONE : 0), f_index_s = taken_s + (g_s ? ONE : 0);
wire [IDX_W-1:0]  e_index_q = f_index + (f_q ? ONE : 0), e_index_s = f_index_s + (f_s ? ONE : 0);
wire [IDX_W-1:0]  d_index = e_index_q + (e_q ? ONE : 0), d_index_s = e_index_s + (e_s ? ONE : 0);
wire [IDX_W-1:0]  head = d_index_s + (d_s ? ONE : 0);
wire              in_s = (\dut.s_req || \dut.s_flush ) && \dut.s_qp == q;
wire              in_t = (\dut.t_req || \dut.t_flush ) && \dut.t_qp == q;
wire              in_r = (\dut.r_req || \dut.r_flush ) && \dut.r_qp == q;
wire              in_c = (\dut.c_req || \dut.c_flush ) && \dut.c_qp == q;
wire [4:0]        stored = \dut.out_fifo.wr_ptr - \dut.out_fifo.rd_ptr ;
wire [4:0]        stored_self = \rdone_i.self_fifo.wr_ptr - \rdone_i.self_fifo.rd_ptr ;
wire [3:0]        looks = \dut.b_flush + \dut.s_flush + \dut.t_flush + \dut.r_flush + \dut.c_flush + \dut.d_flush +
    \dut.e_flush + \dut.f_flush + \dut.g_flush ;
wire [5:0]        level = {1'b0, \dut.out_fifo.level };
wire [3:0]        asked = \dut.b_req + \dut.s_req + \dut.t_req + \dut.r_req + \dut.c_req + \dut.d_req + \dut.e_req +
    \dut.f_req + \dut.g_req ;
wire [IDX_W-1:0]  flying = taken_now - done, behind = tail - taken_now;

// Reports on their way through cde_rdone, of q
function odd;                                      // may no report be so?
    input [63:0] r;
    odd = r[63:40] != 0 || r[15:1] != 0;
endfunction
function names;                                    // may it be of a buffer that is not reported, before upto?
    input [63:0]      r;
    input [IDX_W-1:0] upto;
    reg [IDX_W-1:0]   ahead;
    begin
        ahead = upto - r[16 +: IDX_W];
        names = ahead != 0 && ahead <= upto - told;
    end
endfunction
wire              t1 = \rdone_i.t1_we && \rdone_i.t1_qp == q;
wire              t2 = \rdone_i.t2_we && \rdone_i.t2_qp == q;
wire              t3 = \rdone_i.t3_we && \rdone_i.t3_qp == q;
wire              in_o = \rdone_i.o_valid && \rdone_i.o [E_QP] == q;
wire [3:0]        asks_room = r_valid[1] + r_valid[2] + r_valid[3] + r_valid[4] + {2'd0,
    waiting} + \rdone_i.loaded + err_valid;
// In the order of the queue: how many of q are in front or before the place; by place, what it holds of q
wire [IDX_W-1:0]  e_want [0:3];
wire [2:0]        e_index;
wire [3:0]        e_fits;
genvar            i;
assign e_want[0] = in_o ? ONE : 0;
generate
    for (i = 0; i < 3; i = i + 1) begin : g_entry
        wire [1:0]        place = \rdone_i.q_out + i[1:0];
        wire              mine = i < waiting && \rdone_i.f_queue [place * E_W + E_QP] == q;
        wire [IDX_W-1:0]  index = \rdone_i.f_queue [place * E_W + E_INDEX +: IDX_W];
        wire [IDX_W-1:0]  at = left + e_want[i];
        assign e_want[i+1] = e_want[i] + (mine ? ONE : 0);
        assign e_index[i] = !mine || index == at;
    end
    for (i = 0; i < 4; i = i + 1) begin : g_place
        wire [E_W-1:0]    entry = \rdone_i.f_queue [i * E_W +: E_W];
        wire [1:0]        order = i[1:0] - \rdone_i.q_out ;
        wire              mine = order < waiting && entry[E_QP] == q;
        wire [RX_LOG2-1:0] slot = entry[E_INDEX +: RX_LOG2];
        wire [IDX_W-1:0]  ahead = entry[E_INDEX +: IDX_W] - left;
        assign e_fits[i] = !mine || (ahead < told - left && ahead >= e_want[0] &&
            entry[63:0] == flight[64*slot +: 64] && entry[E_TWO] == two);
    end
endgenerate

always @* begin
    if (age > q + 3'd1) begin
        of_q: assert (pick(\dut.taken_ram.words , q) == taken_now && pick(\dut.done_ram.words , q) == done &&
            setting[3:1] == {two, shared, srq} &&
                      pick(\rdone_i.reported_ram.words , q) == told && pick(\rdone_i.taken_ram.words , q) == taken_3 &&
                      (q ? \rdone_i.settings_ram.words [67+66] : \rdone_i.settings_ram.words [66]) == two);
    end
    if (age > s + 3'd1) of_s: assert (line_word[0 +: IDX_W] == head);
    age_is_legal: assert (age <= 5);
    if (age > q + 3'd1) tail_of_q: assert (own_word == tail_w);
    if (age > s + 3'd3) tail_of_s: assert (shared_word == tail_s_w);
    if (!up) nothing_yet: assert (tail == 0 && tail_s == 0 && tail_w == 0 && tail_s_w == 0 &&
                                  taken == 0 && taken_s == 0 && done == 0 && born == 0 &&
        !known_1 && !open_1 && r_valid == 0 &&
                                  told == 0 && left == 0 && taken_1 == 0 && taken_2 == 0 && taken_3 == 0 && !j_valid &&
                                      !j_good && !j_ends && !second && !left_1 &&
                                  !waits && !waits_s && owed == 0 && !shared && !srq && !two);
    if (!rst && !up_1) empty_yet: assert (idle && \dut.owed == 0 && !\dut.w_tail [IDX_W+2] && !\dut.scatter_i.own_we &&
        !\dut.scatter_i.shared_we && !\dut.b_op && !\dut.s_op && !\dut.t_op && !\dut.r_op && !\dut.c_op );
    if (age > 0) one_of_c: assert ((\dut.c_asks == 0 || (\dut.c_req && \dut.c_asks == 2'd1 << \dut.c_qp )) &&
        (\dut.c_looks == 0 || (\dut.c_flush && !\dut.c_shared && \dut.c_looks == 2'd1 << \dut.c_qp )));
    if (age > 0) reads_1: assert (\dut.taken_ram.raddr_1 == \dut.t_qp && \dut.done_ram.raddr_1 == \dut.t_qp &&
        \dut.line_ram.raddr_1 == \dut.t_srq &&
                               \dut.tail_ram.raddr_1 == {\dut.t_shared , \dut.t_shared ? \dut.t_srq : \dut.t_qp });
    if (age > 1) reads_2: assert (\dut.taken_ram.raddr_2 == \dut.r_qp && \dut.done_ram.raddr_2 == \dut.r_qp &&
        \dut.line_ram.raddr_2 == \dut.r_srq &&
                               \dut.tail_ram.raddr_2 == {\dut.r_shared , \dut.r_shared ? \dut.r_srq : \dut.r_qp });
    if (age > 2) reads_3: assert (\dut.taken_ram.raddr_3 == \dut.c_qp && \dut.done_ram.raddr_3 == \dut.c_qp &&
        \dut.line_ram.raddr_3 == \dut.c_srq &&
                               \dut.tail_ram.raddr_3 == {\dut.c_shared , \dut.c_shared ? \dut.c_srq : \dut.c_qp });
    if (up_1) fresh_reads: assert (up && \dut.settings_ram.f_fresh );
    if (up) begin
        windows: assert (flying <= F && recorded <= flying && posted_s <= N && in_ram_s <= posted_s &&
                         (head - taken_s) <= in_ram_s);
        if (!shared && born == 0) own_window: assert (posted <= N && in_ram <= posted && flying <= in_ram);
        born_is_short: assert (born == 0 || (!known_1 && taken_now == done));
        if (born == 7) started: assert (tail == taken_now);
        written: assert (writes_tail ? \dut.w_tail [IDX_W-1:0] == tail : tail_w == tail);
        written_s: assert (writes_tail_s == writes_s &&
            (writes_s ? \dut.w_tail [IDX_W-1:0] == tail_s && tail_s_w == newest_s : tail_s_w == tail_s));
        if (writes) posted_own: assert (writes_tail && tail_w == newest && \dut.scatter_i.w_index == newest &&
            \dut.scatter_i.w_data [447:384] == context[64*newest[Q_LOG2-1:0] +: 64]);
        if (writes_tail && !writes) starts_own: assert (born == 7);
        if (writes_s) posted_shared: assert (\dut.scatter_i.w_index == newest_s &&
            \dut.scatter_i.w_data [447:384] == context_s[64*newest_s[Q_LOG2-1:0] +: 64]);
        of_one_kind: assert ((!\dut.scatter_i.own_we || !\dut.scatter_i.w_queue [1]) &&
            (!\dut.scatter_i.shared_we || \dut.scatter_i.w_queue [1]));
        once_known: assert (!open_1 || known_1);
        one_each: assert (!(\dut.b_req && \dut.b_flush ) &&
                          !(\dut.s_req && \dut.s_flush ) &&
                          !(\dut.t_req && \dut.t_flush ) &&
                          !(\dut.r_req && \dut.r_flush ) &&
                          !(\dut.c_req && \dut.c_flush ) &&
                          !(\dut.d_req && \dut.d_flush ) &&
                          !(\dut.e_req && \dut.e_flush ) &&
                          !(\dut.f_req && \dut.f_flush ) &&
                          !(\dut.g_req && \dut.g_flush ));
        ops_alone: assert (!(\dut.b_op && (\dut.b_req || \dut.b_flush )) &&
                           !(\dut.s_op && (\dut.s_req || \dut.s_flush )) &&
                           !(\dut.t_op && (\dut.t_req || \dut.t_flush )) &&
                           !(\dut.r_op && (\dut.r_req || \dut.r_flush )) &&
                           !(\dut.c_op && (\dut.c_req || \dut.c_flush )));
        own_flush: assert (!(\dut.d_flush && \dut.d_shared ) && !(\dut.e_flush && \dut.e_shared ) &&
                           !(\dut.f_flush && \dut.f_shared ) && !(\dut.g_flush && \dut.g_shared ));
        reads: assert (\dut.settings_ram.f_raddr == \dut.b_qp );
        if (in_s && born != 1) mode_s: assert (\dut.s_shared == shared && (!shared || \dut.s_srq == srq));
        if (in_t && born != 1 && born != 2) mode_t: assert (\dut.t_shared == shared && (!shared || \dut.t_srq == srq));
        if (in_r && born != 1 && born != 2 && born != 3) mode_r: assert (\dut.r_shared == shared && (!shared ||
            \dut.r_srq == srq));
        if (in_c && born != 1 && born != 2 && born != 3 && born != 4) mode_c: assert (\dut.c_shared == shared &&
            (!shared || \dut.c_srq == srq));
        if (in_c) begin
            of_q_c: assert (\dut.taken == taken_now && \dut.done == done);
            if (!\dut.c_shared ) tail_c: assert (\dut.tail == tail_w);
        end
        if ((\dut.c_req || \dut.c_flush ) && \dut.c_shared && \dut.c_srq == s) of_s_c: assert (\dut.tail == tail_s_w &&
            \dut.line [0 +: IDX_W] == head);
        if (\dut.c_op && \dut.c_srq == s) op_c: assert (\dut.line [0 +: IDX_W] == head);
        if (d_q) d_of_q: assert (\dut.d_tag == d_index && \dut.d_shared == shared && (!shared || \dut.d_srq == srq) &&
            known_1);
        if (e_q) e_of_q: assert (\dut.e_tag == e_index_q && \dut.e_shared == shared &&
            (!shared || \dut.e_srq == srq) && known_1);
        if (f_q) f_of_q: assert (\dut.f_tag == f_index && \dut.f_shared == shared && (!shared || \dut.f_srq == srq) &&
            known_1);
        if (g_q) g_of_q: assert (\dut.g_tag == taken && \dut.g_shared == shared && (!shared || \dut.g_srq == srq) &&
            known_1);
        // The buffer is read while nothing is written of it.
        if (d_q && !shared) d_own: assert (\dut.scatter_i.own_ram.raddr_1 == {q, d_index[Q_LOG2-1:0]} &&
            !\dut.scatter_i.own_ram.none_1 );
        if (e_q && !shared) e_own: assert (\dut.scatter_i.own_ram.raddr_2 == {q, e_index_q[Q_LOG2-1:0]} &&
            !\dut.scatter_i.own_ram.none_2 );
        if (f_q && !shared) f_own: assert (\dut.scatter_i.own_ram.raddr_3 == {q, f_index[Q_LOG2-1:0]} &&
            !\dut.scatter_i.own_ram.none_3 );
        if (g_q && !shared) g_own: assert (\dut.scatter_i.cookie == context[64*taken[Q_LOG2-1:0] +: 64]);
        if (d_s) d_shared: assert (\dut.scatter_i.shared_ram.raddr_1 == {s, d_index_s[Q_LOG2-1:0]} &&
            !\dut.scatter_i.shared_ram.none_1 );
        if (e_s) e_shared: assert (\dut.scatter_i.shared_ram.raddr_2 == {s, e_index_s[Q_LOG2-1:0]} &&
            !\dut.scatter_i.shared_ram.none_2 );
        if (f_s) f_shared: assert (\dut.scatter_i.shared_ram.raddr_3 == {s, f_index_s[Q_LOG2-1:0]} &&
            !\dut.scatter_i.shared_ram.none_3 );
        if (g_s) g_shared: assert (\dut.scatter_i.cookie == context_s[64*taken_s[Q_LOG2-1:0] +: 64]);
        judging: assert ({\rdone_i.d_valid , \rdone_i.p3_valid , \rdone_i.p2_valid , \rdone_i.p1_valid } == r_valid);
        if (r_valid[1]) p1_is_r1: assert (\rdone_i.p1 == r1 && \rdone_i.p1_self == r_self[1]);
        if (r_valid[2]) p2_is_r2: assert (\rdone_i.p2 == r2[39:0] && \rdone_i.p2_self == r_self[2] &&
            \rdone_i.p2_bad == odd(r2) &&
            \rdone_i.reported_ram.raddr_1 == r2[0] && \rdone_i.taken_ram.raddr_1 == r2[0] &&
                \rdone_i.settings_ram.raddr_1 == r2[0] &&
            \rdone_i.record_ram.raddr_1 == {r2[0], r2[16 +: RX_LOG2]});
        if (r_valid[3]) p3_is_r3: assert (\rdone_i.p3 == r3[39:0] && \rdone_i.p3_self == r_self[3] &&
            \rdone_i.p3_bad == odd(r3) &&
            \rdone_i.reported_ram.raddr_2 == r3[0] && \rdone_i.taken_ram.raddr_2 == r3[0] &&
                \rdone_i.settings_ram.raddr_2 == r3[0] &&
            \rdone_i.record_ram.raddr_2 == {r3[0], r3[16 +: RX_LOG2]});
        if (r_valid[4]) d_is_r4: assert (\rdone_i.d == r4[39:0] && \rdone_i.d_self == r_self[4] &&
            \rdone_i.d_bad == odd(r4) &&
            \rdone_i.reported_ram.raddr_3 == r4[0] && \rdone_i.taken_ram.raddr_3 == r4[0] &&
                \rdone_i.settings_ram.raddr_3 == r4[0] &&
            \rdone_i.record_ram.raddr_3 == {r4[0], r4[16 +: RX_LOG2]});
        // What was taken is told in the order of the records, and three cycles later.
        told_1: assert (taken - taken_1 == {{(IDX_W-1){1'b0}}, t1} && (!t1 || \rdone_i.t1_total == taken));
        told_2: assert (taken_1 - taken_2 == {{(IDX_W-1){1'b0}}, t2} && (!t2 || \rdone_i.t2_total == taken_1));
        told_3: assert (taken_2 - taken_3 == {{(IDX_W-1){1'b0}}, t3} && (!t3 || \rdone_i.t3_total == taken_2));
        counted: assert ((taken_3 - told) <= (taken - told) && (taken - told) <= (taken - left) &&
            (taken - left) <= recorded &&
                         left - done == {{(IDX_W-1){1'b0}}, left_1});
        // Nothing is written of a buffer that the report may name while that is read.
        if (r_valid[2] && r2[0] == q) begin
            unread_1: assert (!\rdone_i.record_ram.none_1 || !names(r2, taken_1));
            unset_1: assert (!\rdone_i.settings_ram.none_1 || told == taken_1);
        end
        if (r_valid[3] && r3[0] == q) begin
            unread_2: assert (!\rdone_i.record_ram.none_2 || !names(r3, taken_2));
            unset_2: assert (!\rdone_i.settings_ram.none_2 || told == taken_2);
        end
        if (r_valid[4] && r4[0] == q) begin
            unread_3: assert (!\rdone_i.record_ram.none_3 || !names(r4, taken_3));
            unset_3: assert (!\rdone_i.settings_ram.none_3 || told == taken_3);
        end
        under_way: assert ({2'd0, \rdone_i.under_way } == asks_room && asks_room <= 3 && (!\rdone_i.room ||
            asks_room <= 2));
        queued: assert (waiting == 0 || \rdone_i.o_valid );
        in_queue: assert (e_want[3] == told - left && (&e_index));
        entries: assert (&e_fits);
        if (in_o) in_front: assert (\rdone_i.o [E_INDEX +: IDX_W] == left &&
            \rdone_i.o [63:0] == flight[64*left[RX_LOG2-1:0] +: 64] &&
                                    \rdone_i.o [E_TWO] == two && \rdone_i.first == !last);
        if (!in_o) first_of_two: assert (!second);
        if (reports) done_is_left: assert (done_total == left);
        said: assert (reports == left_1);
        judged: assert (j_valid || !err_valid);
        if (waits) cpl_waits: assert (in_o);
        levels: assert (stored <= 16 && \dut.out_fifo.level == stored + \dut.out_fifo.q_valid &&
            (\dut.out_fifo.q_valid || stored == 0) && \dut.out_fifo.many == (stored != 0));
        room: assert (level + asked <= 16 && owed == level + asked && {1'b0, \dut.owed } == owed);
        levels_self: assert (stored_self <= 16 &&
            \rdone_i.self_fifo.level == stored_self + \rdone_i.self_fifo.q_valid &&
            (\rdone_i.self_fifo.q_valid || stored_self == 0) && \rdone_i.self_fifo.many == (stored_self != 0));
        room_self: assert (\rdone_i.self_fifo.level + {1'b0, looks} <= 16);
        if (waits_s) offered: assert (\dut.out_fifo.q_valid );
    end
end

wire [N-1:0] own_fits, shared_fits;
wire [F-1:0] record_fits;
genvar k;
generate
    for (k = 0; k < N; k = k + 1) begin : g_slots
        wire [Q_LOG2-1:0] since = k - taken[Q_LOG2-1:0];
        wire [Q_LOG2-1:0] since_s = k - taken_s[Q_LOG2-1:0];
        wire [IDX_W-1:0]  left = tail_w - taken;
        wire [63:0]       own = q ? \dut.scatter_i.own_ram.words [448*(N+k)+384 +: 64]
            : \dut.scatter_i.own_ram.words [448*k+384 +: 64];
        wire [63:0]       common = s ? \dut.scatter_i.shared_ram.words [448*(N+k)+384 +: 64]
            : \dut.scatter_i.shared_ram.words [448*k+384 +: 64];
        assign own_fits[k] = shared || born != 0 || since >= left || own == context[64*k +: 64];
        assign shared_fits[k] = since_s >= in_ram_s || common == context_s[64*k +: 64];
    end
    for (k = 0; k < F; k = k + 1) begin : g_flights
        wire [RX_LOG2-1:0] since = k - done[RX_LOG2-1:0];
        wire [198:0]       record = q ? \rdone_i.record_ram.words [199*(F+k) +: 199]
            : \rdone_i.record_ram.words [199*k +: 199];
        assign record_fits[k] = since >= recorded || (record[63:0] == flight[64*k +: 64] && record[133] == flushed[k]);
    end
endgenerate
always @* if (up) own_buffers: assert (&own_fits);
always @* if (up) shared_buffers: assert (&shared_fits);
always @* if (up) records_in_flight: assert (&record_fits);
