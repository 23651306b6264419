// SPDX-License-Identifier: Apache-2.0
// Properties of cde_arm's pipeline, included at its end for proofs: every operation finds the state that the one before it on the same CQ has left, in
// each stage and in the memories. f_cq is any one CQ. With the macro PIPELINE_PROVEN the properties are left out: a fault must then be found by others.

(* anyconst *) reg [CQ_W-1:0] f_cq;
(* hierconn *) wire [(X_W << CQ_W) - 1:0] \count_ram.words ;
(* hierconn *) wire [(Y_W << CQ_W) - 1:0] \flag_ram.words ;
(* hierconn *) wire [(Z_W << CQ_W) - 1:0] \age_i.age_ram.words ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \settings_pub_ram.words ;
(* hierconn *) wire [(CF_W << CQ_W) - 1:0] \settings_db_ram.words ;
(* hierconn *) wire [(IDX_W << CQ_W) - 1:0] \written_ram.words ;
(* hierconn *) wire [CQ_W-1:0] \count_ram.r0_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \count_ram.r1_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \flag_ram.r0_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \flag_ram.r1_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \age_i.age_ram.r0_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \age_i.age_ram.r1_addr_q ;
(* hierconn *) wire [CQ_W-1:0] \settings_pub_ram.f_raddr ;
(* hierconn *) wire [CQ_W-1:0] \settings_db_ram.f_raddr ;
(* hierconn *) wire [CQ_W-1:0] \written_ram.f_raddr ;
(* hierconn *) wire [CQ_W-1:0] \age_i.p_cq_read ;
(* hierconn *) wire [CQ_W-1:0] \age_i.d_cq_read ;

wire [X_W-1:0] f_ram_x = \count_ram.words [f_cq * X_W +: X_W];
wire [Y_W-1:0] f_ram_y = \flag_ram.words [f_cq * Y_W +: Y_W];
wire [Z_W-1:0] f_ram_z = \age_i.age_ram.words [f_cq * Z_W +: Z_W];

wire f_rp = rp_valid && rp_cq == f_cq, f_rd = rd_valid && rd_cq == f_cq;
wire f_cp = cp_valid && cp_cq == f_cq, f_cd = cd_valid && cd_cq == f_cq;
wire f_fp = fp_valid && fp_cq == f_cq, f_fd = fd_valid && fd_cq == f_cq;
wire f_zp = zp_valid && zp[CQ_W-1:0] == f_cq, f_zd = zd_valid && zd[CQ_W-1:0] == f_cq;

// The state as it was before the operations in stage Z, and as each stage leaves it
wire [X_W-1:0] f_x = f_zp ? zp_x : f_zd ? zd_x : f_fp ? fp_x : f_fd ? fd_x : f_ram_x;
wire [Y_W-1:0] f_y = f_zp ? zp_y : f_zd ? zd_y : f_ram_y;
wire [X_W-1:0] f_x_z = f_zd ? zd_x_next : f_zp ? zp_x_next : f_x;
wire [X_W-1:0] f_x_f = f_fd ? fd_x_next : f_fp ? fp_x_next : f_x_z;
wire [Y_W-1:0] f_y_z = f_zd ? zd_y_next : f_zp ? zp_y_next : f_y;

reg [3:0] f_started = 4'd0;
wire [3:0] f_since = f_started;
always @(posedge clk) begin
    f_started <= {f_started[2:0], rst || f_started[0]};
`ifndef PIPELINE_PROVEN
    // Addresses that two registers keep
    if (f_started[3]) begin
        f_addresses: assert (\count_ram.r0_addr_q == rp_cq && \count_ram.r1_addr_q == rd_cq && \flag_ram.r0_addr_q == cp_cq && \flag_ram.r1_addr_q == cd_cq &&
            \settings_pub_ram.f_raddr == rp_cq && \settings_db_ram.f_raddr == rd_cq && \written_ram.f_raddr == rd_cq &&
            \age_i.age_ram.r0_addr_q == fp_cq && \age_i.age_ram.r1_addr_q == fd_cq && \age_i.p_cq_read == fp_cq && \age_i.d_cq_read == fd_cq);
        f_chain_c: assert (!cd_valid || c_chained == (cp_valid && cp_cq == cd_cq));
        f_chain_f: assert (!fd_valid || f_chained == (fp_valid && fp_cq == fd_cq));
    end
    // No operation is on its way while the memories are cleared.
    f_quiet: assert (!init || !(rp_valid || cp_valid || fp_valid || zp_valid || rd_valid || cd_valid || fd_valid || zd_valid));
    if (f_started[3] && !init) begin
        f_z_x: assert (!(f_zp && f_zd) || zd_x == zp_x_next);
        f_z_y: assert (!(f_zp && f_zd) || zd_y == zp_y_next);
        f_z_zp: assert (!f_zp || zp_z == f_ram_z);
        f_z_zd: assert (!f_zd || zd_z == (f_zp ? zp_z_next : f_ram_z));
        f_f_xp: assert (!f_fp || fp_x == f_x_z);
        f_f_xd: assert (!f_fd || fd_x == (f_fp ? fp_x_next : f_x_z));
        f_f_yp: assert (!f_fp || fp_y == f_ram_y);
        f_f_yd: assert (!f_fd || fd_y == (f_fp ? fp_y_next : f_ram_y));
        f_c_xp: assert (!f_cp || cp_x == f_ram_x);
        f_c_xd: assert (!f_cd || cd_x == (f_cp ? cp_x_next : f_ram_x));
        f_c_mem: assert (!f_cd || cd_x_mem == f_ram_x);
        f_f_mem: assert (!f_fd || fd_y_mem == f_ram_y);
        f_ram_x_is: assert (f_ram_x == f_x_f);
        f_ram_y_is: assert (f_ram_y == f_y_z);
    end
`endif
end

// What a proof of callbacks looks at (f_callback): flags of f_cq, answers to its events and control steps on their way (R, C, F), and what stage F decides
wire f_exists = f_ram_y[Y_EXISTS], f_busy = f_ram_y[Y_BUSY], f_eqe = f_ram_y[Y_EQE];
wire f_nothing_due = !f_ram_y[Y_ARMED] && !f_ram_y[Y_DUE] && !f_ram_y[Y_MATURE] && !f_busy && !f_eqe;
wire [2:0] f_answers = {
    f_fp && (fp_op == `CDE_TRC_EVENT_DONE || fp_op == `CDE_TRC_EVENT_FAILED), f_cp && (cp_op == `CDE_TRC_EVENT_DONE || cp_op == `CDE_TRC_EVENT_FAILED),
    f_rp && (rp[CQ_W +: 8] == `CDE_TRC_EVENT_DONE || rp[CQ_W +: 8] == `CDE_TRC_EVENT_FAILED)};
wire [2:0] f_control = {f_fd && fd[CQ_W + IDX_W + 32], f_cd && cd[CQ_W + IDX_W + 32], f_rd && rd[CQ_W + IDX_W + 32]};
wire [2:0] f_creates = {f_fd && fd_op == `CDE_TRC_CREATE, f_cd && cd_op == `CDE_TRC_CREATE, f_rd && rd[CQ_W + IDX_W +: 8] == `CDE_TRC_CREATE};
// Every operation is one of a port, of control or of the timer.
function [0:0] f_kind;
    input [D_W-1:0] d;
    case (d[CQ_W + IDX_W + 31 +: 2])
        2'b00: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_MODERATION;
        2'b01: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_DOORBELL || d[CQ_W + IDX_W +: 8] == `CDE_TRC_CB_RETURN;
        2'b10: f_kind = d[CQ_W + IDX_W +: 8] == `CDE_TRC_CREATE || d[CQ_W + IDX_W +: 8] == `CDE_TRC_DESTROY || d[CQ_W + IDX_W +: 8] == 8'hff;
        default: f_kind = 1'b0;
    endcase
endfunction
function [0:0] f_sound;         // only a port's operation is refused before
    input [D_W-1:0] d;
    f_sound = f_kind(d) && (d[CQ_W + IDX_W + 31] || d[CQ_W + IDX_W + 8 +: 8] == 8'h00);
endfunction
wire f_kinds = (!f_rd || f_sound(rd)) && (!f_cd || f_sound(cd)) && (!f_fd || f_sound(fd));
wire f_returned = f_fd && fd_op == `CDE_TRC_CB_RETURN && fd_acts;
wire f_freed = f_fd && fd_freed;

// For two copies side by side (f_isolation): what each stage keeps of publications, of those of f_cq, and of doorbells besides the operation itself
wire [511:0] f_pub = {
    rp_valid, cp_valid, fp_valid, zp_valid, rp & {P_W{rp_valid}}, cp & {P_W{cp_valid}}, fp & {P_W{fp_valid}}, zp & {(CQ_W + 17){zp_valid}},
    cp_settings & {CF_W{cp_valid}}, fp_settings & {CF_W{fp_valid}}};
wire f_pub_any = rp_valid || cp_valid || fp_valid || zp_valid;
wire [511:0] f_pub_f = {fp_x_next, fp_live, fp_publish, fp_fail, fp_open};
wire [511:0] f_pub_z = {zp_x, zp_x_next, zp_y, zp_y_next, zp_live, zp_call, zp_due, zp_call_mark, zp_traced};
wire [511:0] f_db_c = {cd_settings, cd_ahead, cd_owner};
wire [511:0] f_db_f = {fd_settings, fd_owner};
wire [511:0] f_db_f_mine = {fd_x_next, fd_legal, fd_present, fd_sol_remains, fd_answered};
wire [511:0] f_db_z = {zd_settings};
wire [511:0] f_db_z_mine = {zd_x, zd_x_next, zd_y, zd_y_next, zd_call, zd_due, zd_effect, zd_freed, zd_traced, zd_call_mark};
// By stage (C, F, Z): no doorbell of f_cq, or one that changes nothing
wire [2:0] f_idle = {!f_zd || (zd_x_next == zd_x && zd_y_next == zd_y && !zd_call && !zd_due && !zd_effect && !zd_freed && !zd_traced),
    !f_fd || (!fd_owner && fd_x_next == fd_x), !f_cd || !cd_owner};
// No callback of any CQ is held back by moderation.
wire f_unmoderated = (!cp_valid || cp_settings[3:2] == 0) && (!fp_valid || (fp_settings[3:2] == 0 && fp_y[6:5] != 2'b01)) &&
    (!cd_valid || cd_settings[3:2] == 0) && (!fd_valid || (fd_settings[3:2] == 0 && fd_y_mem[6:5] != 2'b01)) &&
    (!zp_valid || zp_y_next[6:5] != 2'b01) && (!zd_valid || zd_y_next[6:5] != 2'b01);
