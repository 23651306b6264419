// SPDX-License-Identifier: Apache-2.0
// Properties of cde_arm's pipeline, included at its end for proofs: every operation finds the state that the one before
// it on the same CQ has left, in each stage and in the memories. f_cq is any one CQ. With the macro PIPELINE_PROVEN the
// properties are left out: a fault must then be found by others.

(* anyconst *) reg [CQ_W-1:0] f_cq;
(* hierconn *) wire [(X_W << CQ_W) - 1:0] \count_ram.words ;
(* hierconn *) wire [(Y_W << CQ_W) - 1:0] \flag_ram.words ;
(* hierconn *) wire [(Z_W << CQ_W) - 1:0] \age_i.age_ram.words ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \settings_pub_ram.words ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \settings_db_ram.words ;
(* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \written_ram.words ;
(* hierconn *) wire [CQ_W-1:0] \count_ram.r0_addr_1 , \count_ram.r0_addr_2 , \count_ram.r0_addr_3 ,
    \count_ram.r1_addr_1 , \count_ram.r1_addr_2 , \count_ram.r1_addr_3 ;
(* hierconn *) wire [CQ_W-1:0] \flag_ram.r0_addr_1 , \flag_ram.r0_addr_2 , \flag_ram.r0_addr_3 , \flag_ram.r1_addr_1 ,
    \flag_ram.r1_addr_2 , \flag_ram.r1_addr_3 ;
(* hierconn *) wire [CQ_W-1:0] \age_i.age_ram.r0_addr_1 , \age_i.age_ram.r0_addr_2 , \age_i.age_ram.r0_addr_3 ;
(* hierconn *) wire [CQ_W-1:0] \age_i.age_ram.r1_addr_1 , \age_i.age_ram.r1_addr_2 , \age_i.age_ram.r1_addr_3 ;
(* hierconn *) wire [CQ_W-1:0] \settings_pub_ram.raddr_1 , \settings_pub_ram.raddr_2 , \settings_pub_ram.raddr_3 ;
(* hierconn *) wire [CQ_W-1:0] \settings_db_ram.raddr_1 , \settings_db_ram.raddr_2 , \settings_db_ram.raddr_3 ;
(* hierconn *) wire [CQ_W-1:0] \written_ram.raddr_1 , \written_ram.raddr_2 , \written_ram.raddr_3 ;
(* hierconn *) wire [IDX_W-1:0] \age_i.d_index , \age_i.d_prod , \age_i.d_fresh_call , \age_i.d_fresh_index ;
(* hierconn *) wire [IDX_W-2:0] \age_i.d_found ;
(* hierconn *) wire \age_i.d_behind_call , \age_i.d_any ;

wire [X_W-1:0] f_ram_x = \count_ram.words [f_cq * X_W +: X_W];
wire [Y_W-1:0] f_ram_y = \flag_ram.words [f_cq * Y_W +: Y_W];
wire [Z_W-1:0] f_ram_z = \age_i.age_ram.words [f_cq * Z_W +: Z_W];

wire [CQ_W-1:0] rp_cq = rp[CQ_W-1:0], rd_cq = rd[CQ_W-1:0];
wire f_rp = rp_valid && rp_cq == f_cq, f_rd = rd_valid && rd_cq == f_cq;
wire f_sp = sp_valid && sp_cq == f_cq, f_sd = sd_valid && sd_cq == f_cq;
wire f_cp = cp_valid && cp_cq == f_cq, f_cd = cd_valid && cd_cq == f_cq;
wire f_qp = qp_valid && qp_cq == f_cq, f_qd = qd_valid && qd_cq == f_cq;
wire f_fp = fp_valid && fp_cq == f_cq, f_fd = fd_valid && fd_cq == f_cq;
wire f_zp = zp_valid && zp_cq == f_cq, f_zd = zd_valid && zd_cq == f_cq;

// The state as it was before the operations in stage Z, and as each stage leaves it
wire [X_W-1:0] f_x = f_zp ? zp_x : f_zd ? zd_x : f_fp ? fp_x : f_fd ? fd_x : f_qp ? qp_x : f_qd ? qd_x : f_ram_x;
wire [Y_W-1:0] f_y = f_zp ? zp_y : f_zd ? zd_y : f_ram_y;
wire [X_W-1:0] f_x_z = f_zd ? zd_x_next : f_zp ? zp_x_next : f_x;
wire [X_W-1:0] f_x_f = f_fd ? fd_x_next : f_fp ? fp_x_next : f_x_z;
wire [X_W-1:0] f_x_q = f_qd ? qd_x_next : f_qp ? qp_x_next : f_x_f;
wire [Y_W-1:0] f_y_z = f_zd ? zd_y_next : f_zp ? zp_y_next : f_y;

// What is decoded and compared a stage early
function [STEP_W-1:0] f_step;
    input [P_W-1:0] p;
    f_step = {p[P_OP +: 8] == `CDE_TRC_PUBLISH ||
        p[P_OP +: 8] == `CDE_TRC_CQ_ERROR, p[P_OP +: 8] == `CDE_TRC_PUBLISH, p[P_OP +: 8] == `CDE_TRC_CQ_ERROR,
        p[P_OP +: 8] == `CDE_TRC_CQ_ERROR && p[P_STATUS +: 2] == `CDE_CQST_BUFFER_OVERFLOW,
            p[P_OP +: 8] == `CDE_TRC_EVENT_FAILED,
        p[P_COUNT +: 2], p[P_SOLICITED +: 2], p[P_STATUS +: 2]};
endfunction
function [IDX_W-1:0] f_mark;            // max(prod, cons)
    input [X_W-1:0] x;
    reg [IDX_W-1:0] gap;
    begin
        gap = x[X_PROD +: IDX_W] - x[X_CONS +: IDX_W];
        f_mark = gap[IDX_W-1] ? x[X_CONS +: IDX_W] : x[X_PROD +: IDX_W];
    end
endfunction
wire [IDX_W-1:0] f_ahead = zp_call_mark - zd[D_INDEX +: IDX_W],
    f_found = zd_x_next[X_PROD +: IDX_W] - zd_x[X_CONS +: IDX_W],
    f_fresh = zd_x_next[X_PROD +: IDX_W] - zd[D_INDEX +: IDX_W],
    f_fresh_call = zd_x_next[X_PROD +: IDX_W] - zp_call_mark;

// What stage Q has found, worked out again of what the later stages keep
wire [FP_W-1:0] f_facts_fp, f_unused_zp;
wire [FD_W-1:0] f_facts_fd, f_facts_zd;
wire            f_open_fp, f_unused_open;
wire [1:0]      f_live_fp, f_live_zp;
function [1:0] f_early;                 // entries that the host consumed before: one, none
    input [X_W-1:0] x;
    reg [IDX_W-1:0] lead;
    begin
        lead = x[X_CONS +: IDX_W] - x[X_PROD +: IDX_W];
        f_early = {lead == 1, lead[IDX_W-1] || lead == 0};
    end
endfunction
cde_arm_facts #(.IDX_W(IDX_W), .X_BITS(X_W), .FP_BITS(FP_W), .FD_BITS(FD_W)) f_facts_f (
    .p_valid(fp_valid), .p_op(fp[P_OP +: 8]), .p_count(fp[P_COUNT +: 2]), .p_solicited(fp[P_SOLICITED +: 2]),
    .p_quiet(fp[P_QUIET +: 2]),
    .p_status(fp[P_STATUS +: 2]), .p_give_up(fp[P_GIVE_UP]), .p_moderated(|fp_settings[3:2]), .p_x(fp_x),
        .p_early(f_early(fp_x)),
    .p_err(fp_x_next[X_ERR +: 2]),
    .p_open(f_open_fp), .p_live(f_live_fp), .p_facts(f_facts_fp), .d_valid(fd_valid), .d_op(fd[D_OP +: 8]),
    .d_clean(fd[D_CAUSE +: 8] == 8'h00 && fd_owner), .d_legal(fd_legal), .d_arm(fd[D_ARM]),
    .d_type(fd[D_TYPE +: 2]), .d_index(fd[D_INDEX +: IDX_W]),
    .d_typed(fd_settings[`CDE_CFG_TYPED]), .d_rearm(fd_settings[`CDE_CFG_REARM]), .d_moderated(|fd_settings[3:2]),
    .d_ripe(fd_facts[FD_RIPE]),
    .d_x(fd_x), .d_facts(f_facts_fd)
);
cde_arm_facts #(.IDX_W(IDX_W), .X_BITS(X_W), .FP_BITS(FP_W), .FD_BITS(FD_W)) f_facts_z (
    .p_valid(zp_valid), .p_op(zp[P_OP +: 8]), .p_count(zp[P_COUNT +: 2]), .p_solicited(zp[P_SOLICITED +: 2]),
    .p_quiet(zp[P_QUIET +: 2]),
    .p_status(zp[P_STATUS +: 2]), .p_give_up(zp[P_GIVE_UP]), .p_moderated(1'b0), .p_x(zp_x), .p_early(f_early(zp_x)),
    .p_err(zp_x_next[X_ERR +: 2]),
    .p_open(f_unused_open), .p_live(f_live_zp), .p_facts(f_unused_zp), .d_valid(zd_valid), .d_op(zd[D_OP +: 8]),
    .d_clean(zd[D_CAUSE +: 8] == 8'h00 && zd_owner), .d_legal(zd_legal), .d_arm(zd[D_ARM]),
    .d_type(zd[D_TYPE +: 2]), .d_index(zd[D_INDEX +: IDX_W]),
    .d_typed(zd_settings[`CDE_CFG_TYPED]), .d_rearm(zd_settings[`CDE_CFG_REARM]), .d_moderated(1'b0), .d_ripe(1'b0),
    .d_x(zd_x), .d_facts(f_facts_zd)
);
// What stage C has moved, worked out again of what stage Q keeps; whether the index written reached d_index is told by
// qd_legal alone
wire [X_W-1:0]   f_count_p, f_count_d;
wire [IDX_W-1:0] f_written = qd[D_INDEX +: IDX_W] - !qd_legal;
wire             f_legal_q;
wire [1:0]       f_early_q;
reg [X_W-1:0] qd_x_mem;      // before the publication of its cycle
always @(posedge clk) qd_x_mem <= cd_x_mem;
cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W), .STEP_BITS(STEP_W)) f_count_q (
    .p_step(f_step(qp)), .p_x(qp_x), .p_x_next(f_count_p), .p_early(f_early_q),
    .d_before(q_chained ? f_step(qp) : {STEP_W{1'b0}}),
    .d_bell(qd_op == `CDE_TRC_DOORBELL),
    .d_create(qd_op == `CDE_TRC_CREATE), .d_destroy(qd_op == `CDE_TRC_DESTROY),
    .d_clean(qd[D_CAUSE +: 8] == 8'h00 && qd_owner),
    .d_index(qd[D_INDEX +: IDX_W]), .d_written(f_written), .d_x_mem(qd_x_mem), .d_x_next(f_count_d), .d_legal(f_legal_q)
);
function [0:0] f_entries;               // an answer to entries, which the state may ignore
    input [P_W-1:0] p;
    f_entries = p[P_OP +: 8] == `CDE_TRC_PUBLISH ||
        (p[P_OP +: 8] == `CDE_TRC_CQ_ERROR && p[P_STATUS +: 2] == `CDE_CQST_INTERNAL_ERROR);
endfunction

reg [3:0] f_started = 4'd0;
wire [3:0] f_since = f_started;
always @(posedge clk) begin
    f_started <= rst ? 4'd1 : {f_started[2:0], f_started[0]};
`ifndef PIPELINE_PROVEN
    // Addresses that two registers keep
    if (f_started[3]) begin
        f_addresses_p: assert ((!rp_valid || (\count_ram.r0_addr_1 == rp_cq && \settings_pub_ram.raddr_1 == rp_cq)) &&
            (!sp_valid || (\count_ram.r0_addr_2 == sp_cq && \settings_pub_ram.raddr_2 == sp_cq)) &&
            (!cp_valid || (\count_ram.r0_addr_3 == cp_cq && \settings_pub_ram.raddr_3 == cp_cq &&
                \flag_ram.r0_addr_1 == cp_cq)) &&
            (!qp_valid || (\flag_ram.r0_addr_2 == qp_cq && \age_i.age_ram.r0_addr_1 == qp_cq)) &&
            (!fp_valid || (\flag_ram.r0_addr_3 == fp_cq && \age_i.age_ram.r0_addr_2 == fp_cq)) && (!zp_valid ||
                \age_i.age_ram.r0_addr_3 == zp_cq));
        f_addresses_d: assert ((!rd_valid || (\count_ram.r1_addr_1 == rd_cq && \settings_db_ram.raddr_1 == rd_cq &&
            \written_ram.raddr_1 == rd_cq)) &&
            (!sd_valid || (\count_ram.r1_addr_2 == sd_cq && \settings_db_ram.raddr_2 == sd_cq &&
                \written_ram.raddr_2 == sd_cq)) &&
            (!cd_valid ||
                (\count_ram.r1_addr_3 == cd_cq && \settings_db_ram.raddr_3 == cd_cq && \written_ram.raddr_3 == cd_cq &&
                \flag_ram.r1_addr_1 == cd_cq)) && (!qd_valid ||
                    (\flag_ram.r1_addr_2 == qd_cq && \age_i.age_ram.r1_addr_1 == qd_cq)) &&
            (!fd_valid || (\flag_ram.r1_addr_3 == fd_cq && \age_i.age_ram.r1_addr_2 == fd_cq)) && (!zd_valid ||
                \age_i.age_ram.r1_addr_3 == zd_cq));
        f_chain_c: assert (!cd_valid || c_chained == (cp_valid && cp_cq == cd_cq));
        f_chain_q: assert (!qd_valid || q_chained == (qp_valid && qp_cq == qd_cq));
        f_chain_f: assert (!fd_valid || f_chained == (fp_valid && fp_cq == fd_cq));
        f_chain_z: assert (!zd_valid || z_chained == (zp_valid && zp_cq == zd_cq));
        f_decoded_p: assert (!cp_valid || cp_step == f_step(cp));
        f_decoded_d: assert (!cd_valid || (cd_bell == (cd[D_OP +: 8] == `CDE_TRC_DOORBELL) &&
            cd_create == (cd[D_OP +: 8] == `CDE_TRC_CREATE) &&
            cd_destroy == (cd[D_OP +: 8] == `CDE_TRC_DESTROY) && cd_clean == (cd[D_CAUSE +: 8] == 8'h00)));
        f_before_c: assert (!cd_valid || cd_before == (c_chained ? cp_step : 0));
        f_before_f: assert (!fd_valid || fd_before == (f_chained ? fp_facts : 0));
        f_facts: assert (fp_facts == f_facts_fp && fd_facts == f_facts_fd && (!fp_valid || fp_live == f_live_fp) &&
            (!zp_valid || zp_live == f_live_zp) &&
            {zd_over, zd_look, zd_destroy, zd_create, zd_return, zd_bell} ==
            {f_facts_zd[FD_OVER], f_facts_zd[FD_LOOK -: 5]});
        f_traced: assert (fp_traced == (fp_valid && (!f_entries(fp) || f_open_fp)) &&
            zp_traced == (zp_valid && (!f_entries(zp) || (zp_x[X_READY] && !zp_x[X_FROZEN]))));
        f_repeats: assert (!zp_valid || zp_retry == (zp[P_OP +: 8] == `CDE_TRC_EVENT_FAILED && !zp[P_GIVE_UP]));
        f_counts: assert ((!qp_valid || (qp_x_next == f_count_p && qp_early == f_early_q)) && (!qd_valid ||
            (qd_x_next == f_count_d &&
            qd_legal == f_legal_q)));
        f_marks: assert ((!fp_valid || fp_call_mark == f_mark(fp_x_next)) &&
            (!fd_valid || fd_call_mark == f_mark(fd_x_next)) &&
            (!zp_valid || zp_call_mark == f_mark(zp_x_next)) && (!zd_valid || zd_call_mark == f_mark(zd_x_next)));
        f_ages: assert (!zd_valid || (\age_i.d_index == zd[D_INDEX +: IDX_W] &&
            \age_i.d_prod == zd_x_next[X_PROD +: IDX_W] &&
            \age_i.d_fresh_index == (f_fresh[IDX_W-1] ? 0 : f_fresh) &&
                \age_i.d_any == (!f_found[IDX_W-1] && f_found != 0) &&
            \age_i.d_found == (f_found[IDX_W-1] ? 0 : f_found[IDX_W-2:0])));
        f_ages_chained: assert (!zd_valid || !z_chained || (\age_i.d_behind_call == f_ahead[IDX_W-1] &&
            \age_i.d_fresh_call == (f_fresh_call[IDX_W-1] ? 0 : f_fresh_call)));
    end
    // No operation is on its way while the memories are cleared.
    f_quiet: assert (!init || !(rp_valid || sp_valid || cp_valid || qp_valid || fp_valid || zp_valid || rd_valid ||
        sd_valid || cd_valid || qd_valid ||
        fd_valid || zd_valid));
    if (f_started[3] && !init) begin
        f_z_x: assert (!(f_zp && f_zd) || zd_x == zp_x_next);
        f_z_y: assert (!(f_zp && f_zd) || (zd_y == zp_y_next && zd_y_mem == zp_y));
        f_z_zp: assert (!f_zp || zp_z == f_ram_z);
        f_z_zd: assert (!f_zd || zd_z == (f_zp ? zp_z_next : f_ram_z));
        f_f_xp: assert (!f_fp || fp_x == f_x_z);
        f_f_xd: assert (!f_fd || fd_x == (f_fp ? fp_x_next : f_x_z));
        f_f_yp: assert (!f_fp || fp_y == f_ram_y);
        f_f_mem: assert (!f_fd || fd_y_mem == f_ram_y);
        f_q_xp: assert (!f_qp || qp_x == f_x_f);
        f_q_xd: assert (!f_qd || qd_x == (f_qp ? qp_x_next : f_x_f));
        f_q_mem: assert (!f_qd || qd_x_mem == f_x_f);
        f_c_xp: assert (!f_cp || cp_x == f_ram_x);
        f_c_mem: assert (!f_cd || cd_x_mem == f_ram_x);
        f_ram_x_is: assert (f_ram_x == f_x_q);
        f_ram_y_is: assert (f_ram_y == f_y_z);
    end
`endif
end

// What a proof of callbacks looks at (f_callback): flags of f_cq, failed and acknowledged events and control steps on
// their way (R, S, C, Q, F), and what stage Z tells
wire f_exists = f_ram_y[Y_EXISTS], f_busy = f_ram_y[Y_BUSY], f_eqe = f_ram_y[Y_EQE];
wire f_nothing_due = !f_ram_y[Y_ARMED] && !f_ram_y[Y_DUE] && !f_ram_y[Y_MATURE] && !f_busy && !f_eqe;
// A CQ that is READY exists, in step with its operations.
function [0:0] f_stays_ready;
    input [D_W-1:0] d;
    input           was, is;
    f_stays_ready = is == (d[D_OP +: 8] == `CDE_TRC_CREATE || (d[D_OP +: 8] != `CDE_TRC_DESTROY && was));
endfunction
wire f_lives = (f_exists || !f_x_z[X_READY]) && (!f_qp || qp_x_next[X_READY] == qp_x[X_READY]) &&
    (!f_fp || fp_x_next[X_READY] == fp_x[X_READY]) &&
    (!f_qd || f_stays_ready(qd, qd_x[X_READY], qd_x_next[X_READY])) && (!f_fd ||
        f_stays_ready(fd, fd_x[X_READY], fd_x_next[X_READY]));
// Flags are settled: a callback that could be called was; nothing but what is due is released.
wire f_settled = !(f_ram_y[Y_MATURE] && (!f_ram_y[Y_DUE] || !(f_busy || f_eqe))) &&
    (f_ram_y[Y_ARMED] || f_ram_y[Y_TYPE +: 2] == 2'd0);
// What is not due has counted nothing.
wire f_counted = f_y[Y_DUE] || f_ram_z[Z_MCNT +: IDX_W] == 0;
function [0:0] f_answer;
    input [P_W-1:0] p;
    f_answer = p[P_OP +: 8] == `CDE_TRC_EVENT_FAILED;
endfunction
wire [4:0] f_answers = {f_fp && f_answer(fp), f_qp && f_answer(qp), f_cp && f_answer(cp), f_sp &&
    f_answer(sp), f_rp && f_answer(rp)};
function [0:0] f_ack;
    input [D_W-1:0] d;
    f_ack = d[D_OP +: 8] == `CDE_TRC_EVENT_DONE;
endfunction
wire [4:0] f_acks = {f_fd && f_ack(fd), f_qd && f_ack(qd), f_cd && f_ack(cd), f_sd && f_ack(sd), f_rd && f_ack(rd)};
wire [4:0] f_control = {f_fd && fd[D_CONTROL], f_qd && qd[D_CONTROL], f_cd && cd[D_CONTROL], f_sd &&
    sd[D_CONTROL], f_rd && rd[D_CONTROL]};
wire [4:0] f_creates = {f_fd && fd[D_OP +: 8] == `CDE_TRC_CREATE, f_qd && qd[D_OP +: 8] == `CDE_TRC_CREATE, f_cd &&
    cd[D_OP +: 8] == `CDE_TRC_CREATE,
    f_sd && sd[D_OP +: 8] == `CDE_TRC_CREATE, f_rd && rd[D_OP +: 8] == `CDE_TRC_CREATE};
// Every operation is one of a port, of control, an acknowledgement or the timer's.
function [0:0] f_kind;
    input [D_W-1:0] d;
    case (d[CQ_W + IDX_W + 31 +: 2])
        2'b00: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_MODERATION || f_ack(d);
        2'b01: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_DOORBELL || d[CQ_W + IDX_W +: 8] == `CDE_TRC_CB_RETURN;
        2'b10: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_CREATE || d[CQ_W + IDX_W +: 8] == `CDE_TRC_DESTROY ||
            d[CQ_W + IDX_W +: 8] == 8'hff;
        default: f_kind = 1'b0;
    endcase
endfunction
function [0:0] f_sound;         // only a port's operation is refused before
    input [D_W-1:0] d;
    f_sound = f_kind(d) && (d[CQ_W + IDX_W + 31] || d[CQ_W + IDX_W + 8 +: 8] == 8'h00);
endfunction
wire f_kinds = (!f_rd || f_sound(rd)) && (!f_sd || f_sound(sd)) && (!f_cd || f_sound(cd)) &&
    (!f_qd || f_sound(qd)) && (!f_fd || f_sound(fd));
wire f_returned = f_zd && zd_return && zd_y[Y_BUSY];
wire f_freed = f_zd && zd_freed;

// For two copies side by side (f_isolation): what each stage keeps of publications, of those of f_cq, and of doorbells
// besides the operation itself
wire [511:0] f_pub = {
    rp_valid, sp_valid, cp_valid, qp_valid, fp_valid, zp_valid, rp & {P_W{rp_valid}}, sp & {P_W{sp_valid}},
        cp & {P_W{cp_valid}}, qp & {P_W{qp_valid}},
    fp & {P_W{fp_valid}}, zp & {P_W{zp_valid}}, qp_settings & {CF_W{qp_valid}}, fp_settings & {CF_W{fp_valid}},
        zp_settings & {CF_W{zp_valid}}};
wire f_pub_any = rp_valid || sp_valid || cp_valid || qp_valid || fp_valid || zp_valid;
wire f_db_any = rd_valid || sd_valid || cd_valid || qd_valid || fd_valid || zd_valid;
wire [511:0] f_pub_q = {qp_x, qp_x_next};
wire [511:0] f_pub_f = {fp_x, fp_x_next, fp_facts, fp_live, fp_traced, fp_call_mark};
wire [511:0] f_pub_z = {zp_x, zp_x_next, zp_y, zp_y_next, zp_live, zp_call, zp_due, zp_retry, zp_call_mark, zp_traced};
wire [511:0] f_db_q = {qd_settings, qd_owner};
wire [511:0] f_db_q_mine = {qd_x, qd_x_next, qd_legal};
wire [511:0] f_db_f = {fd_settings, fd_owner};
wire [511:0] f_db_f_mine = {fd_x, fd_x_next, fd_legal, fd_facts & ~({{(FD_W-2){1'b0}},
    {2{!fd_facts[FD_ARM]}}} << FD_TYPE), fd_call_mark};
wire [511:0] f_db_z = {zd_settings, zd_owner};
wire [511:0] f_db_z_mine = {zd_x, zd_x_next, zd_y, zd_y_next, zd_call, zd_due, zd_legal, zd_call_mark, zd_look,
    zd_destroy, zd_create, zd_return, zd_bell, zd_over};
// By stage (C, Q, F, Z): no doorbell of f_cq, or one that changes nothing
wire [3:0] f_idle = {!f_zd || (!zd_owner && zd_x_next == zd_x && zd_y_next == zd_y && !zd_call && !zd_due),
    !f_fd || (!fd_owner && fd_x_next == fd_x), !f_qd || (!qd_owner && qd_x_next == qd_x), !f_cd || !cd_owner};
// No callback of any CQ is held back by moderation.
wire f_unmoderated = (!cp_valid || cp_settings[3:2] == 0) && (!qp_valid || qp_settings[3:2] == 0) &&
    (!fp_valid || (fp_settings[3:2] == 0 && fp_y[6:5] != 2'b01)) &&
    (!cd_valid || cd_settings[3:2] == 0) && (!qd_valid || qd_settings[3:2] == 0) && (!fd_valid ||
        (fd_settings[3:2] == 0 && fd_y_mem[6:5] != 2'b01)) &&
    (!zp_valid || zp_y_next[6:5] != 2'b01) && (!zd_valid || zd_y_next[6:5] != 2'b01);
