// SPDX-License-Identifier: Apache-2.0
// What holds between the specification's state, the operations on their way and the design's registers; included at the end of f_arm. An
// induction needs it, and it is proven with the rest. Bundle k of the monitor is in the stage k cycles after R; 4 is at the trace port.

localparam B = CQ_W + IDX_W;
localparam N = 1 << IDX_W;
localparam D_W = 36 + 2 * IDX_W;
`define IX(V) [V * IDX_W +: IDX_W]
`include "cde_arm_state.vh"

(* hierconn *) wire [X_W-1:0] \dut.f_x , \dut.f_x_z , \dut.f_ram_x ;
(* hierconn *) wire [Y_W-1:0] \dut.f_y , \dut.f_ram_y ;
(* hierconn *) wire [Z_W-1:0] \dut.f_ram_z ;
(* hierconn *) wire [CF_W-1:0] \dut.rp_settings , \dut.cp_settings , \dut.fp_settings , \dut.rd_settings , \dut.cd_settings , \dut.fd_settings ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \dut.settings_pub_ram.words , \dut.settings_db_ram.words ;
(* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \dut.written_ram.words ;
(* hierconn *) wire [IDX_W-1:0] \dut.rd_written , \dut.cd_ahead ;
(* hierconn *) wire \dut.cd_owner , \dut.fd_owner , \dut.f_zd_owner ;
(* hierconn *) wire [CF_W-1:0] \dut.zd_settings , \dut.f_zp_settings ;
(* hierconn *) wire [IDX_W-1:0] \dut.f_fd_ahead , \dut.f_zd_ahead ;
(* hierconn *) wire \dut.f_rp , \dut.f_cp , \dut.f_fp , \dut.f_zp , \dut.f_rd , \dut.f_cd , \dut.f_fd , \dut.f_zd ;
(* hierconn *) wire [17+CQ_W:0] \dut.rp , \dut.cp , \dut.fp ;
(* hierconn *) wire [16+CQ_W:0] \dut.zp ;
(* hierconn *) wire [33+B:0] \dut.rd , \dut.cd , \dut.fd , \dut.zd ;
(* hierconn *) wire [15:0] \monitor.settings ;
(* hierconn *) wire [94:0] \monitor.p_line ;
(* hierconn *) wire [5*D_W-1:0] \monitor.d_line ;

// ---------------------------------------------------------------- the specification's fields, after this cycle's steps
wire [1:0]       n_life = s_next[1:0];
wire [IDX_W-1:0] n_prod = s_next[12 +: IDX_W], n_cons = s_next[12+IDX_W +: IDX_W], n_mark = s_next[12+2*IDX_W +: IDX_W];
wire [IDX_W-1:0] n_answered = s_next[12+3*IDX_W +: IDX_W];
wire [N-1:0]     n_new = s_next[12+4*IDX_W +: N], n_sol = s_next[12+4*IDX_W+N +: N];

// ---------------------------------------------------------------- operations on their way, oldest first
reg [1:0]       life [0:5];
reg [IDX_W-1:0] prod [0:5], ack [0:5], cons [0:5];
reg             frozen [0:5];
reg [18:0]      pk;
reg [D_W-1:0]   dk;
reg [IDX_W-1:0] dk_written, dk_index;
reg [4:0]       is_ct, is_create, is_destroy, d_ok, p_done, p_again, p_entries, ok_p, ok_d;
reg [IDX_W-1:0] d_written [0:4], d_index [0:4];
reg [4:0]       known_then;        // the CQ's settings and written index were set when it was accepted
reg [4:0]       d_is;
integer         q;

always @* begin
    life[5] = s[1:0];
    frozen[5] = s[4];
    prod[5] = s[12 +: IDX_W];
    cons[5] = s[12+IDX_W +: IDX_W];
    ack[5] = s[12+3*IDX_W +: IDX_W];
    for (q = 4; q >= 0; q = q - 1) begin
        pk = \monitor.p_line [q * 19 +: 19];
        dk = \monitor.d_line [q * D_W +: D_W];
        life[q] = life[q+1];
        frozen[q] = frozen[q+1];
        prod[q] = prod[q+1];
        cons[q] = cons[q+1];
        ack[q] = ack[q+1];
        // {op 8, count 2, solicited 2, quiet 2, status 2, give_up, moderated, valid}
        p_entries[q] = pk[0] && (pk[18:11] == `CDE_TRC_PUBLISH || (pk[18:11] == `CDE_TRC_CQ_ERROR && pk[4:3] == `CDE_CQST_INTERNAL_ERROR));
        p_done[q] = pk[0] && (pk[18:11] == `CDE_TRC_EVENT_DONE || (pk[18:11] == `CDE_TRC_EVENT_FAILED && pk[2]));
        p_again[q] = pk[0] && pk[18:11] == `CDE_TRC_EVENT_FAILED && !pk[2];
        if (p_entries[q]) begin
            if (pk[18:11] == `CDE_TRC_PUBLISH && !frozen[q] && life[q] == `CDE_LIFE_READY) prod[q] = prod[q] + pk[10:9];
            ack[q] = ack[q] + pk[10:9];
            if (pk[18:11] == `CDE_TRC_CQ_ERROR && life[q] == `CDE_LIFE_READY) frozen[q] = 1'b1;
        end
        if (pk[0] && pk[18:11] == `CDE_TRC_EVENT_FAILED) frozen[q] = 1'b1;
        // {written, index, op 8, cause 8, owner, arm, type 2, moderated, rearm, typed, host, valid}
        d_is[q] = dk[0];
        dk_written = dk[25 + IDX_W +: IDX_W];
        dk_index = dk[25 +: IDX_W];
        d_written[q] = dk_written;
        d_index[q] = dk_index;
        is_ct[q] = dk[0] && !dk[1];
        is_create[q] = is_ct[q] && dk[24:17] == `CDE_TRC_CREATE;
        is_destroy[q] = is_ct[q] && dk[24:17] == `CDE_TRC_DESTROY;
        d_ok[q] = dk[0] && dk[1] && dk[24:17] == `CDE_TRC_DOORBELL && dk[16:9] == 8'h00 && dk[8] && life[q] == `CDE_LIFE_READY &&
            dk_index - cons[q] <= dk_written - cons[q];
        if (d_ok[q]) cons[q] = dk_index;
        if (is_create[q]) begin
            life[q] = `CDE_LIFE_READY;
            frozen[q] = 1'b0;
            {prod[q], cons[q], ack[q]} = 0;
        end
        ok_p[q] = !pk[0] || (p_entries[q] ? pk[10:9] == 2'd1 || pk[10:9] == 2'd2 : pk[10:9] == 2'd0 && (p_done[q] || p_again[q] ||
            (pk[18:11] == `CDE_TRC_CQ_ERROR && pk[4:3] == `CDE_CQST_BUFFER_OVERFLOW)));
        ok_d[q] = !dk[0] || (dk[1] ? dk[24:17] == `CDE_TRC_DOORBELL || dk[24:17] == `CDE_TRC_CB_RETURN
                                   : dk[16:9] == 8'h00 && (dk[24:17] == `CDE_TRC_CREATE || dk[24:17] == `CDE_TRC_DESTROY || dk[24:17] == 8'hff)) &&
            (dk[16:9] != 8'h00 || dk[6:5] != 2'd3 || !dk[1]);
        // Whether it is freed is decided by its time at the trace port.
        if (is_destroy[q]) life[q] = `CDE_LIFE_DESTROYING;
    end
end

// ---------------------------------------------------------------- what the environment knows at once
reg [IDX_W-1:0] e_prod;
reg             e_frozen, known;
reg [4:0]       known_line;
initial {e_prod, e_frozen, known_line} = 0;
wire            known_now = configured && cleared_once;

always @(posedge clk) begin
    known_line <= {known_line[3:0], known_now};
    if (entries && pub_op == `CDE_TRC_PUBLISH && !e_frozen) e_prod <= e_prod + pub_count;
    if ((entries && pub_op == `CDE_TRC_CQ_ERROR) || (pub && pub_op == `CDE_TRC_EVENT_FAILED)) e_frozen <= 1'b1;
    if (create) {e_prod, e_frozen} <= 0;
    if (!up) {e_prod, e_frozen, known_line} <= 0;
end

// A CQ in its error state takes no further completions, so few entries are written behind a hole.
wire [IDX_W-1:0] e_lead = wr_index - e_prod;
always @* if (wr_we && wr_cq == cq && live) assume (e_lead <= RING + UNDER_WAY);

// ---------------------------------------------------------------- invariants
wire [IDX_W-1:0] ahead = n_prod - n_cons, behind = n_cons - n_prod, newer = n_prod - n_mark, mark_cons = n_mark - n_cons;
wire             present = ahead != 0 && !ahead[IDX_W-1];
wire [IDX_W-1:0] last = n_prod - 1'b1;
wire [X_W-1:0]   xx = \dut.f_x ;
wire [Y_W-1:0]   yy = \dut.f_y ;
wire [IDX_W-1:0] solp = xx[X_SOLP +: IDX_W], solp_1 = solp - 1'b1;
reg              table_ok, sol_ok;
reg [4:0]        ok_window, ok_steps, ok_create, ok_destroy, ok_range, ok_lead, ok_old, ok_entries;
reg [IDX_W-1:0]  w, wc;
integer          j;

always @* begin
    table_ok = 1'b1;
    sol_ok = 1'b1;
    for (j = 0; j < RING; j = j + 1) begin
        w = n_cons + j;
        wc = n_prod - w;
        if (present && wc != 0 && !wc[IDX_W-1]) begin
            if (n_new[w] != (w - n_mark < RING)) table_ok = 1'b0;
            // Behind the newest solicited one there is none.
            if (n_new[w] && n_sol[w] && (!yy[Y_SOL] || solp - w > RING || solp == w)) sol_ok = 1'b0;
        end
    end
    if (yy[Y_SOL] && !(present && solp - n_mark <= newer && solp != n_mark && n_new[solp_1] && n_sol[solp_1])) sol_ok = 1'b0;
    for (j = 0; j < 5; j = j + 1) begin
        ok_window[j] = life[j] == `CDE_LIFE_FREE || ((prod[j] - cons[j] <= RING || cons[j] - prod[j] <= (frozen[j] ? RING + UNDER_WAY : UNDER_WAY)) &&
            (ack[j] - cons[j] <= RING || cons[j] - ack[j] <= UNDER_WAY));
        // Control: one step at a time
        ok_steps[j] = !is_ct[j] || steps == 6 - j;
        ok_create[j] = !is_create[j] || (live && cleared && s[1:0] == `CDE_LIFE_FREE && written == 0 && known_line[j]);
        ok_destroy[j] = !is_destroy[j] || (!live && s[1:0] != `CDE_LIFE_FREE && d_index[j] == written);
        ok_range[j] = !(d_is[j] && life[j+1] == `CDE_LIFE_READY) || d_written[j] - cons[j+1] <= RING;
        ok_lead[j] = !(d_is[j] && life[j+1] == `CDE_LIFE_READY) || d_written[j] - prod[j] <= (frozen[j] ? RING + UNDER_WAY : UNDER_WAY);
        ok_old[j] = !(d_is[j] && life[j+1] == `CDE_LIFE_READY) || j > 2 || d_written[j] - cons[j+1] <= written - cons[j+1];
        ok_entries[j] = life[j+1] != `CDE_LIFE_FREE || !(p_entries[j] || p_done[j] || p_again[j]);
    end
end

(* hierconn *) wire [3:0] \dut.f_since ;
always @(posedge clk) if (!rst) begin
    i_age: assert (age <= NUM_CQ + 1 || age == 1 << (CQ_W + 1));
    i_started: assert (\dut.f_since == (age > 3 ? 4'hf : (1 << age) - 1));
    i_nothing_yet: assert (up || {written, answered, consumed, event_out, repeating, steps, configured, cleared, cleared_once, live, e_prod, e_frozen, known_line} == 0);
    i_nothing_under_way: assert (up || (s == 0 && d_is == 0 && !\monitor.p_line [0] && !\monitor.p_line [19] && !\monitor.p_line [38] && !\monitor.p_line [57] &&
        !\monitor.p_line [76]));
    i_words_cleared: assert (up || age == 1 || {\dut.f_ram_x , \dut.f_ram_y , \dut.f_ram_z } == 0);
end

always @(posedge clk) if (up) begin
    // The design's state is the specification's.
    if (n_life == `CDE_LIFE_FREE) begin
        i_free: assert (yy == 0 && !xx[X_READY] && s_next[11:5] == 7'd0);
    end else begin
        i_flags: assert (yy[Y_EXISTS] && {yy[Y_EQE], yy[Y_MATURE], yy[Y_DUE], yy[Y_BUSY], yy[Y_TYPE +: 2], yy[Y_ARMED]} == s_next[11:5]);
        i_counts: assert (xx[X_READY] == (n_life == `CDE_LIFE_READY) && xx[X_FROZEN] == s_next[4] && xx[X_ERR +: 2] == s_next[3:2]);
        i_index: assert (xx[X_PROD +: IDX_W] == n_prod && xx[X_CONS +: IDX_W] == n_cons && xx[X_ACKP +: IDX_W] == n_answered);
        i_mark: assert (\dut.f_ram_z [Z_MARK +: IDX_W] == n_mark);
        i_since: assert (!present || yy[Y_SINCE] == n_new[last]);
        i_table: assert (table_ok);
        i_sol: assert (sol_ok);
        i_mark_range: assert (present ? mark_cons <= ahead : mark_cons == 0);
        i_window: assert (ahead <= RING || behind <= (s_next[4] ? RING + UNDER_WAY : UNDER_WAY));
        i_prod: assert (s_next[4] || n_life != `CDE_LIFE_READY || n_prod == n_answered);
        i_error: assert ((s_next[3:2] == 0 || s_next[3:2] == 1 || s_next[3:2] == 2) && (!s_next[4] || s_next[3:2] != 0));
    end
    i_life: assert (n_life != 2'd3);
    i_released: assert (n_life == `CDE_LIFE_FREE || !(s_next[9] && s_next[3:2] != `CDE_CQST_OK && !s_next[10]));
    i_called: assert (!(s_next[10] && !s_next[8] && !s_next[11]));
    i_arm: assert ((s_next[5] || s_next[7:6] == 0) && s_next[7:6] != 2'd3 && (!s_next[9] || s_next[5]) && (!s_next[10] || s_next[9]));
    i_destroying: assert (n_life == `CDE_LIFE_READY || !s_next[5]);
    // Settings and written index, once they are set
    i_known: assert (known_line[4:1] == (known_line[4:1] & known_line[3:0]) && (!known_line[0] || known_now));
    i_known_life: assert (known_line[4] || s[1:0] == `CDE_LIFE_FREE);
    i_settings_p: assert (!configured || {\dut.settings_pub_ram.words [cq * CF_W + CF_PAGE +: 12],
        |\dut.settings_pub_ram.words [cq * CF_W + CF_CNT_EN +: 2], \dut.settings_pub_ram.words [cq * CF_W +: 2]} == \monitor.settings [14:0]);
    i_settings_d: assert (!configured || {\dut.settings_db_ram.words [cq * CF_W + CF_PAGE +: 12],
        |\dut.settings_db_ram.words [cq * CF_W + CF_CNT_EN +: 2], \dut.settings_db_ram.words [cq * CF_W +: 2]} == \monitor.settings [14:0]);
    i_written: assert (!cleared_once || \dut.written_ram.words `IX(cq) == written);
    // The bundles are what is in the stages.
    i_p0: assert (\dut.f_rp == \monitor.p_line [0] && (!\dut.f_rp || \monitor.p_line [18:2] ==
        {\dut.rp [CQ_W +: 8], \dut.rp [CQ_W+8 +: 2], \dut.rp [CQ_W+10 +: 2], \dut.rp [CQ_W+15 +: 2], \dut.rp [CQ_W+12 +: 2], \dut.rp [CQ_W+14]}));
    i_p1: assert (\dut.f_cp == \monitor.p_line [19] && (!\dut.f_cp || \monitor.p_line [37:21] ==
        {\dut.cp [CQ_W +: 8], \dut.cp [CQ_W+8 +: 2], \dut.cp [CQ_W+10 +: 2], \dut.cp [CQ_W+15 +: 2], \dut.cp [CQ_W+12 +: 2], \dut.cp [CQ_W+14]}));
    i_p2: assert (\dut.f_fp == \monitor.p_line [38] && (!\dut.f_fp || \monitor.p_line [56:40] ==
        {\dut.fp [CQ_W +: 8], \dut.fp [CQ_W+8 +: 2], \dut.fp [CQ_W+10 +: 2], \dut.fp [CQ_W+15 +: 2], \dut.fp [CQ_W+12 +: 2], \dut.fp [CQ_W+14]}));
    i_p3: assert (\dut.f_zp == \monitor.p_line [57] && (!\dut.f_zp || \monitor.p_line [75:59] ==
        {\dut.zp [CQ_W +: 8], \dut.zp [CQ_W+8 +: 2], \dut.zp [CQ_W+10 +: 2], \dut.zp [CQ_W+15 +: 2], \dut.zp [CQ_W+12 +: 2], \dut.zp [CQ_W+14]}));
    i_p_set: assert ((!\dut.f_rp || !known_line[0] || \monitor.p_line [1] == |\dut.rp_settings [CF_CNT_EN +: 2]) &&
        (!\dut.f_cp || !known_line[1] || \monitor.p_line [20] == |\dut.cp_settings [CF_CNT_EN +: 2]) &&
        (!\dut.f_fp || !known_line[2] || \monitor.p_line [39] == |\dut.fp_settings [CF_CNT_EN +: 2]) &&
        (!\dut.f_zp || !known_line[3] || \monitor.p_line [58] == |\dut.f_zp_settings [CF_CNT_EN +: 2]));
    i_d0: assert (d_is[0] == (\dut.f_rd && |\dut.rd [B+31 +: 2]) && (!d_is[0] || same(\monitor.d_line [0 +: D_W], \dut.rd , \dut.rd_settings , \dut.rd_settings [CF_PAGE +: 12] == \dut.rd [B+19 +: 12], known_line[0])));
    i_d1: assert (d_is[1] == (\dut.f_cd && |\dut.cd [B+31 +: 2]) && (!d_is[1] || same(\monitor.d_line [D_W +: D_W], \dut.cd , \dut.cd_settings , \dut.cd_owner , known_line[1])));
    i_d2: assert (d_is[2] == (\dut.f_fd && |\dut.fd [B+31 +: 2]) && (!d_is[2] || same(\monitor.d_line [2*D_W +: D_W], \dut.fd , \dut.fd_settings , \dut.fd_owner , known_line[2])));
    i_d3: assert (d_is[3] == (\dut.f_zd && |\dut.zd [B+31 +: 2]) && (!d_is[3] || same(\monitor.d_line [3*D_W +: D_W], \dut.zd , \dut.zd_settings , \dut.f_zd_owner , known_line[3])));
    i_looks: assert ((!\dut.f_rd || look_is_one(\dut.rd )) && (!\dut.f_cd || look_is_one(\dut.cd )) && (!\dut.f_fd || look_is_one(\dut.fd )) && (!\dut.f_zd || look_is_one(\dut.zd )));
    i_d_written: assert ((!d_is[0] || !known_line[0] || d_written[0] == \dut.rd_written ) &&
        (!d_is[1] || !known_line[1] || \dut.cd_ahead == d_written[1] - d_index[1]) && (!d_is[2] || !known_line[2] || \dut.f_fd_ahead == d_written[2] - d_index[2]) &&
        (!d_is[3] || !known_line[3] || \dut.f_zd_ahead == d_written[3] - d_index[3]));
    i_operations: assert (&ok_p && &ok_d);
    i_steps: assert (&ok_steps);
    i_windows: assert (&ok_window);
    i_create: assert (&ok_create);
    i_destroy: assert (&ok_destroy);
    i_d_range: assert (&ok_range);
    i_d_lead: assert (&ok_lead);
    i_d_old: assert (&ok_old);
    i_no_entries: assert (&ok_entries);
    i_live: assert (|is_create || |is_destroy || live == (s[1:0] == `CDE_LIFE_READY));
    i_cleared_life: assert (!(cleared && !live) || (written == 0 && answered == 0 && s[1:0] == `CDE_LIFE_FREE && !|is_destroy));
    i_cleared: assert ((!live || cleared) && (!cleared || cleared_once));
    if (life[0] == `CDE_LIFE_READY) begin
        i_live_ready: assert (live);
        i_answered: assert (answered == ack[0] && e_prod == prod[0] && e_frozen == frozen[0]);
        i_unanswered: assert (unanswered <= UNDER_WAY && written - e_prod <= RING + UNDER_WAY && (e_frozen || e_prod == answered));
        i_cons: assert (written - cons[0] <= RING && written - cons[3] <= RING || life[3] != `CDE_LIFE_READY);
    end
    if (life[0] == `CDE_LIFE_DESTROYING && !|is_destroy) i_leaving: assert (answered == ack[0] && !live && unanswered <= UNDER_WAY);
    if (life[0] == `CDE_LIFE_DESTROYING) i_leaving_range: assert (written - cons[0] <= RING);
    if (|is_destroy) i_leaving_soon: assert (answered == ack[0] && unanswered <= UNDER_WAY);
    if (s[1:0] == `CDE_LIFE_FREE) i_idle: assert (unanswered == 0 && (!cleared || written == 0));
    if (life[3] == `CDE_LIFE_READY) i_consumed: assert (consumed == cons[3]);
    // Events
    i_event: assert (3'd0 + event_out + repeating + p_done[0] + p_done[1] + p_done[2] == \dut.f_ram_y [Y_EQE]);
    i_again: assert (3'd0 + p_again[0] + p_again[1] + p_again[2] == repeating);
end

function [0:0] look_is_one;
    input [33+B:0] x;
    look_is_one = |x[B+31 +: 2] || x[B +: 8] == `CDE_TRC_MODERATION && x[B+8 +: 8] == 8'h00;
endfunction

function [0:0] same;
    input [D_W-1:0]  m;
    input [33+B:0]   x;
    input [CF_W-1:0] settings;
    input            owner;
    input            with_settings;
    same = m[25 +: IDX_W] == x[CQ_W +: IDX_W] && m[24:17] == x[B +: 8] && m[16:9] == x[B+8 +: 8] && m[7] == x[B+18] && m[6:5] == x[B+16 +: 2] &&
        m[1] == x[B+31] && (!with_settings || (m[8] == owner || !m[1]) && m[4:2] == {|settings[CF_CNT_EN +: 2], settings[1:0]});
endfunction
