// SPDX-License-Identifier: Apache-2.0
// What holds between the monitor's table and the pipeline, stage by stage; included at the end of f_arm_trace, proven
// with the rest.

// Layout of the state: cde_arm_state.vh
localparam X_W = 4 + 4 * IDX_W, Y_W = 10, Z_W = 3 * IDX_W + 17, CF_W = 40 + IDX_W;
localparam X_PROD = 4, X_CONS = 4 + IDX_W, X_SOLP = 4 + 2 * IDX_W, X_ACKP = 4 + 3 * IDX_W;
localparam P_W = 17 + CQ_W + RETRY_W, D_W = 33 + CQ_W + IDX_W;
localparam N = 1 << IDX_W;

(* hierconn *) wire [3:0] \dut.f_since ;
(* hierconn *) wire \dut.f_rp , \dut.f_sp , \dut.f_cp , \dut.f_qp , \dut.f_fp , \dut.f_zp ,
    \dut.f_rd , \dut.f_sd , \dut.f_cd , \dut.f_qd , \dut.f_fd , \dut.f_zd ,
    \dut.cd_owner , \dut.qd_owner , \dut.fd_owner , \dut.zd_owner , \dut.qd_legal , \dut.fd_legal , \dut.zd_legal ;
(* hierconn *) wire [X_W-1:0] \dut.f_x , \dut.f_ram_x ;
(* hierconn *) wire [Y_W-1:0] \dut.f_y , \dut.f_ram_y ;
(* hierconn *) wire [Z_W-1:0] \dut.f_ram_z ;
(* hierconn *) wire [P_W-1:0] \dut.rp , \dut.sp , \dut.cp , \dut.qp , \dut.fp , \dut.zp ;
(* hierconn *) wire [D_W-1:0] \dut.rd , \dut.sd , \dut.cd , \dut.qd , \dut.fd , \dut.zd ;
(* hierconn *) wire [CF_W-1:0] \dut.cp_settings , \dut.qp_settings , \dut.fp_settings , \dut.cd_settings ,
    \dut.qd_settings , \dut.fd_settings , \dut.zd_settings ;
(* hierconn *) wire [IDX_W-1:0] \dut.cd_written ;
(* hierconn *) wire [X_W-1:0] \dut.qd_x , \dut.fd_x , \dut.zd_x ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \dut.settings_pub_ram.words , \dut.settings_db_ram.words ;
(* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \dut.written_ram.words ;

// ---------------------------------------------------------------- operations and what they see, stage by stage
wire [CF_W-1:0] set_pub = \dut.settings_pub_ram.words [cq * CF_W +: CF_W],
                          set_db = \dut.settings_db_ram.words [cq * CF_W +: CF_W];

function [2:0] notified;
    input [CF_W-1:0] c;
    notified = {|c[3:2], c[1:0]};
endfunction

function [0:0] same_p;          // a late publication, and the pipeline's
    input [A_W-1:0]     a;
    input               valid;
    input [P_W-1:0]     p;
    same_p = a[A_W-1] == valid && (!valid || a[16:0] == p[CQ_W +: 17]);
endfunction

function [0:0] same_d;          // the timer's have no late one
    input [B_W-1:0]     b;
    input               valid;
    input [D_W-1:0]     d;
    reg                 asked, ack;
    begin
        asked = |d[CQ_W + IDX_W + 31 +: 2];
        ack = !asked && d[CQ_W + IDX_W +: 8] == `CDE_TRC_EVENT_DONE;
        // Only a port's operation is refused before.
        same_d = b[B_W-1] == (valid && (asked || ack)) && (!valid ||
            ((d[CQ_W + IDX_W + 31] || d[CQ_W + IDX_W + 8 +: 8] == 8'h00) && (asked || ack ?
                b[0 +: IDX_W + 19] == d[CQ_W +: IDX_W + 19] && b[IDX_W + 19] == d[CQ_W + IDX_W + 31] &&
                (ack || b[IDX_W + 19] != d[CQ_W + IDX_W + 32]) : d[CQ_W + IDX_W +: 8] == `CDE_TRC_MODERATION)));
    end
endfunction

reg     on_its_way;
integer v;
always @* begin
    on_its_way = 1'b0;
    for (v = 1; v <= LATE; v = v + 1) on_its_way = on_its_way || a_late[v*A_W-1] || b_late[v*B_W-1];
end
wire [C_W-1:0] c1 = c_late[0 +: C_W], c2 = c_late[C_W +: C_W], c3 = c_late[2*C_W +: C_W], c4 = c_late[3*C_W +: C_W];

function [0:0] legal;           // index between cons and written
    input [X_W-1:0]   x;
    input [C_W-1:0]   c;
    input [D_W-1:0]   d;
    reg   [IDX_W-1:0] advance, ahead;
    begin
        advance = d[CQ_W +: IDX_W] - x[X_CONS +: IDX_W];
        ahead = c[IDX_W-1:0] - d[CQ_W +: IDX_W];
        legal = !advance[IDX_W-1] && !ahead[IDX_W-1];
    end
endfunction

always @(posedge clk) if (!rst) begin
    i_age: assert (age <= NUM_CQ + 1 || age == 1 << (CQ_W + 1));
    i_since: assert (\dut.f_since == (age > 3 ? 4'hf : (1 << age) - 1));
    i_nothing_yet: assert (up || (s == 0 && last == 0 && !on_its_way && c_late == 0 && page == 0 && settings == 0 &&
        written == 0));
    i_publications: assert (same_p(a_late[0*A_W +: A_W], \dut.f_rp , \dut.rp ) &&
        same_p(a_late[1*A_W +: A_W], \dut.f_sp , \dut.sp ) &&
        same_p(a_late[2*A_W +: A_W], \dut.f_cp , \dut.cp ) &&
        same_p(a_late[3*A_W +: A_W], \dut.f_qp , \dut.qp ) &&
        same_p(a_late[4*A_W +: A_W], \dut.f_fp , \dut.fp ) &&
        same_p(a_late[5*A_W +: A_W], \dut.f_zp , \dut.zp ));
    i_requests: assert (same_d(b_late[0*B_W +: B_W], \dut.f_rd , \dut.rd ) &&
        same_d(b_late[1*B_W +: B_W], \dut.f_sd , \dut.sd ) &&
        same_d(b_late[2*B_W +: B_W], \dut.f_cd , \dut.cd ) &&
        same_d(b_late[3*B_W +: B_W], \dut.f_qd , \dut.qd ) &&
        same_d(b_late[4*B_W +: B_W], \dut.f_fd , \dut.fd ) &&
        same_d(b_late[5*B_W +: B_W], \dut.f_zd , \dut.zd ));
    if (age > 1) begin
        i_settings: assert ({notified(set_pub), set_pub[CF_PAGE +: 12]} == {settings, page} &&
            {notified(set_db), set_db[CF_PAGE +: 12]} == {settings, page});
        i_written_ram: assert (\dut.written_ram.words [cq * IDX_W +: IDX_W] == written);
    end
    i_seen: assert (c1 == {settings, written});
    i_pages: assert ((!\dut.f_rd || page_1 == \dut.rd [CQ_W + IDX_W + 19 +: 12]) &&
        (!\dut.f_sd || page_2 == \dut.sd [CQ_W + IDX_W + 19 +: 12]) &&
        (!\dut.f_cd || o_late[0] == (page == \dut.cd [CQ_W + IDX_W + 19 +: 12])));
    i_owner: assert ((!\dut.f_qd || o_late[1] == \dut.qd_owner ) && (!\dut.f_fd || o_late[2] == \dut.fd_owner ) &&
        (!\dut.f_zd || o_late[3] == \dut.zd_owner ));
    i_seen_p: assert ((!\dut.f_qp || notified(\dut.qp_settings ) == c2[IDX_W +: 3]) &&
        (!\dut.f_fp || notified(\dut.fp_settings ) == c3[IDX_W +: 3]));
    i_seen_d: assert ((!\dut.f_qd || notified(\dut.qd_settings ) == c2[IDX_W +: 3]) &&
        (!\dut.f_fd || notified(\dut.fd_settings ) == c3[IDX_W +: 3]) &&
        (!\dut.f_zd || notified(\dut.zd_settings ) == c4[IDX_W +: 3]));
    i_legal: assert ((!\dut.f_qd || \dut.qd_legal == legal(\dut.qd_x , c2, \dut.qd )) &&
        (!\dut.f_fd || \dut.fd_legal == legal(\dut.fd_x , c3, \dut.fd )) &&
        (!\dut.f_zd || \dut.zd_legal == legal(\dut.zd_x , c4, \dut.zd )));
end

// ---------------------------- the table and the state after stage Z (as in f_rules)
wire [X_W-1:0]   x = \dut.f_x ;
wire [Y_W-1:0]   y = \dut.f_y ;
wire [1:0]       n_life = s_next[1:0];
wire             n_frozen = s_next[4];
wire [IDX_W-1:0] n_prod = s_next[12 +: IDX_W], n_cons = s_next[12+IDX_W +: IDX_W], n_mark = s_next[12+2*IDX_W +: IDX_W];
wire [N-1:0]     is_new = s_next[12+4*IDX_W +: N], is_sol = s_next[12+4*IDX_W+N +: N];
wire [IDX_W-1:0] ahead = n_prod - n_cons, behind = n_cons - n_prod, newer = n_prod - n_mark,
                         mark_cons = n_mark - n_cons, newest_row = n_prod - 1'b1;
wire             some = ahead != 0 && !ahead[IDX_W-1];
wire [IDX_W-1:0] solp = x[X_SOLP +: IDX_W], solp_1 = solp - 1'b1, sol_new = solp - n_mark;
wire [IDX_W-1:0] n_unanswered = w - done_next, in_ring = w - n_cons, in_lead = w - n_prod;
reg              table_ok, sol_ok;
reg [IDX_W-1:0]  row, left, from_mark, to_sol;
integer          j;

always @* begin
    table_ok = 1'b1;
    sol_ok = 1'b1;
    for (j = 0; j < (1 << (IDX_W - 2)); j = j + 1) begin
        row = n_cons + j;
        left = n_prod - row;
        from_mark = row - n_mark;
        to_sol = solp - row;
        if (some && left != 0 && !left[IDX_W-1]) begin
            if (is_new[row] != (from_mark < RING)) table_ok = 1'b0;
            if (is_new[row] && is_sol[row] && (!y[9] || to_sol > RING || to_sol == 0)) sol_ok = 1'b0;
        end
    end
    if (y[9] && !(some && sol_new <= newer && sol_new != 0 && is_new[solp_1] && is_sol[solp_1])) sol_ok = 1'b0;
end

always @(posedge clk) if (age > 1) begin
    i_last: assert (last_next[79:0] == shown(s_next) && (n_life == `CDE_LIFE_FREE ? last_next == 0 :
                                                         last_next[95:80] == {{(16-IDX_W){1'b0}},
                                                                              \dut.f_ram_z [IDX_W +: IDX_W]}));
    if (n_life == `CDE_LIFE_FREE) begin
        i_free: assert (y == 0 && !x[0] && s_next[11:5] == 7'd0);
    end else begin
        i_flags: assert (y[0] && {y[7], y[6], y[5], y[4], y[3:2], y[1]} == s_next[11:5]);
        i_counts: assert (x[0] == (n_life == `CDE_LIFE_READY) && x[1] == n_frozen && x[3:2] == s_next[3:2]);
        i_index: assert (x[X_PROD +: IDX_W] == n_prod && x[X_CONS +: IDX_W] == n_cons &&
            x[X_ACKP +: IDX_W] == done_next);
        i_ages: assert (\dut.f_ram_z [0 +: IDX_W] == n_mark && (y[5] || \dut.f_ram_z [IDX_W +: IDX_W] == 0));
        i_row: assert (!some || y[8] == is_new[newest_row]);
        i_table: assert (table_ok);
        i_sol: assert (sol_ok);
        i_mark: assert (some ? mark_cons <= ahead : mark_cons == 0);
        i_window: assert (some ? ahead <= RING : behind <= (n_frozen ? HALF : UNDER_WAY));
        i_error: assert (s_next[3:2] != 2'd3 && (!n_frozen || s_next[3:2] != 0) && !(s_next[9] &&
            s_next[3:2] != 0 && !s_next[10]));
        i_under_way: assert (n_unanswered <= UNDER_WAY);
        i_typed: assert (typed_next == was_typed_next && rearm_next == was_rearm_next);
        if (n_life == `CDE_LIFE_READY) i_written: assert (in_ring <= RING &&
            in_lead <= (n_frozen ? HALF : UNDER_WAY) && (n_frozen || n_prod == done_next));
    end
    i_life: assert (n_life != 2'd3 && (n_life == `CDE_LIFE_READY || !s_next[5]));
    i_arm: assert ((s_next[5] || s_next[7:6] == 0) && s_next[7:6] != 2'd3 && (!s_next[9] || s_next[5]) &&
        (!s_next[10] || s_next[9]) &&
        !(s_next[10] && !s_next[8] && !s_next[11]));
end
