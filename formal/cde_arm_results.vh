// SPDX-License-Identifier: Apache-2.0
// Included by cde_arm_props.vh for the proof of the trace port (macro ARM_TRACE): what stages F and Z keep of the decisions made before is computed once more
// from the operands that came along, and must be the same. So an induction need not look back to where it was decided.

reg [IDX_W-1:0] f_fd_ahead, f_zd_ahead;
reg [X_W-1:0]   f_fd_x_mem, f_zd_x_mem;
reg [Y_W-1:0]   f_zd_y_mem;
reg [CF_W-1:0]  f_zp_settings;
reg             f_zd_owner, f_z_chained;
always @(posedge clk) begin
    {f_fd_ahead, f_zd_ahead} <= {cd_ahead, f_fd_ahead};
    {f_fd_x_mem, f_zd_x_mem} <= {cd_x_mem, f_fd_x_mem};
    {f_zd_y_mem, f_zp_settings, f_zd_owner, f_z_chained} <= {fd_y_mem, fp_settings, fd_owner, f_chained};
end

wire [X_W-1:0] f_f_px, f_f_dx, f_f_dx_next, f_z_px, f_z_dx, f_z_dx_next;
wire [1:0]     f_f_live, f_z_live;
wire           f_f_publish, f_f_fail, f_f_open, f_f_legal, f_f_present, f_f_sol, f_f_answered;
wire           f_z_publish, f_z_fail, f_z_open, f_z_legal, f_z_present, f_z_sol, f_z_answered;
wire [7:0]     f_zp_op = zp[CQ_W +: 8];

cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W)) f_count_f (
    .p_op(fp_op), .p_count(fp[CQ_W + 8 +: 2]), .p_solicited(fp[CQ_W + 10 +: 2]), .p_status(fp[CQ_W + 12 +: 2]),
    .p_x(fp_x), .p_x_next(f_f_px), .p_live(f_f_live), .p_publish(f_f_publish), .p_fail(f_f_fail), .p_open(f_f_open),
    .chained(f_chained), .d_doorbell(fd_op == `CDE_TRC_DOORBELL), .d_create(fd_op == `CDE_TRC_CREATE), .d_destroy(fd_op == `CDE_TRC_DESTROY),
    .d_clean(fd[CQ_W + IDX_W + 8 +: 8] == 8'h00 && fd_owner), .d_index(fd[CQ_W +: IDX_W]), .d_ahead(f_fd_ahead), .d_x_mem(f_fd_x_mem),
    .d_x(f_f_dx), .d_x_next(f_f_dx_next), .d_legal(f_f_legal), .d_present(f_f_present), .d_sol_remains(f_f_sol), .d_answered(f_f_answered)
);

cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W)) f_count_z (
    .p_op(f_zp_op), .p_count(zp[CQ_W + 8 +: 2]), .p_solicited(zp[CQ_W + 10 +: 2]), .p_status(zp[CQ_W + 12 +: 2]),
    .p_x(zp_x), .p_x_next(f_z_px), .p_live(f_z_live), .p_publish(f_z_publish), .p_fail(f_z_fail), .p_open(f_z_open),
    .chained(f_z_chained), .d_doorbell(zd_op == `CDE_TRC_DOORBELL), .d_create(zd_op == `CDE_TRC_CREATE), .d_destroy(zd_op == `CDE_TRC_DESTROY),
    .d_clean(zd[CQ_W + IDX_W + 8 +: 8] == 8'h00 && f_zd_owner), .d_index(zd[CQ_W +: IDX_W]), .d_ahead(f_zd_ahead), .d_x_mem(f_zd_x_mem),
    .d_x(f_z_dx), .d_x_next(f_z_dx_next), .d_legal(f_z_legal), .d_present(f_z_present), .d_sol_remains(f_z_sol), .d_answered(f_z_answered)
);

wire [Y_W-1:0] f_z_py, f_z_dy, f_z_dy_next;
wire           f_z_pcall, f_z_pdue, f_z_acts, f_z_dcall, f_z_ddue, f_z_freed;
wire [7:0]     f_z_cause;

cde_arm_flags #(.Y_BITS(Y_W)) f_flags_z (
    .p_op(f_zp_op), .p_live(zp_live), .p_solicited(zp[CQ_W + 10 +: 2]), .p_quiet(zp[CQ_W + 15 +: 2]), .p_publish(f_z_publish), .p_fail(f_z_fail),
    .p_give_up(zp[CQ_W + 14]), .p_prompt(!(f_zp_settings[CF_CNT_EN] || f_zp_settings[CF_INT_EN]) || zp_x_next[X_ERR +: 2] != `CDE_CQST_OK),
    .p_y(zp_y), .p_y_next(f_z_py), .p_call(f_z_pcall), .p_becomes_due(f_z_pdue),
    .chained(f_z_chained), .d_op(zd_op), .d_host(zd[CQ_W + IDX_W + 31]), .d_cause_in(zd[CQ_W + IDX_W + 8 +: 8]), .d_owner(f_zd_owner),
    .d_ready(zd_x[X_READY]), .d_legal(f_z_legal), .d_arm(zd[CQ_W + IDX_W + 18]), .d_type(zd[CQ_W + IDX_W + 16 +: 2]), .d_present(f_z_present),
    .d_sol_remains(f_z_sol), .d_answered(f_z_answered), .d_typed(zd_settings[CF_TYPED]), .d_rearm(zd_settings[CF_REARM]),
    .d_prompt(!(zd_settings[CF_CNT_EN] || zd_settings[CF_INT_EN]) || zd_x_next[X_ERR +: 2] != `CDE_CQST_OK), .d_ripe(zd[CQ_W + IDX_W + 33]),
    .d_y_mem(f_zd_y_mem), .d_y(f_z_dy), .d_y_next(f_z_dy_next), .d_cause(f_z_cause), .d_acts(f_z_acts), .d_call(f_z_dcall),
    .d_becomes_due(f_z_ddue), .d_freed(f_z_freed)
);

wire [IDX_W-1:0] f_zp_gap = zp_x_next[X_PROD +: IDX_W] - zp_x_next[X_CONS +: IDX_W], f_zd_gap = zd_x_next[X_PROD +: IDX_W] - zd_x_next[X_CONS +: IDX_W];
wire             f_z_entries = f_zp_op == `CDE_TRC_PUBLISH || (f_zp_op == `CDE_TRC_CQ_ERROR && zp[CQ_W + 12 +: 2] == `CDE_CQST_INTERNAL_ERROR);

always @(posedge clk) if (f_started[3] && !init) begin
    f_kept_fp: assert (!fp_valid || {fp_x_next, fp_live, fp_publish, fp_fail, fp_open} == {f_f_px, f_f_live, f_f_publish, f_f_fail, f_f_open});
    f_kept_fd: assert (!fd_valid || {fd_x, fd_x_next, fd_legal, fd_present, fd_sol_remains, fd_answered} ==
        {f_f_dx, f_f_dx_next, f_f_legal, f_f_present, f_f_sol, f_f_answered});
    f_kept_zp: assert (!zp_valid || ({zp_x_next, zp_live, zp_y_next, zp_call, zp_due} == {f_z_px, f_z_live, f_z_py, f_z_pcall, f_z_pdue} &&
        zp_traced == (!f_z_entries || f_z_open) && zp_call_mark == (f_zp_gap[IDX_W-1] ? zp_x_next[X_CONS +: IDX_W] : zp_x_next[X_PROD +: IDX_W])));
    f_kept_zd: assert (!zd_valid || ({zd_x, zd_x_next, zd_y, zd_y_next, zd_call, zd_due, zd_effect, zd_freed} ==
        {f_z_dx, f_z_dx_next, f_z_dy, f_z_dy_next, f_z_dcall, f_z_ddue, f_z_acts, f_z_freed} &&
        zd_call_mark == (f_zd_gap[IDX_W-1] ? zd_x_next[X_CONS +: IDX_W] : zd_x_next[X_PROD +: IDX_W])));
    f_kept_traced: assert ((zp_valid || !zp_traced) && zd_traced == (zd_valid && f_z_acts && (zd_op != `CDE_TRC_MODERATION || f_z_dy_next != f_z_dy)));
    f_kept_chain: assert (!zd_valid || f_z_chained == (zp_valid && zp[CQ_W-1:0] == zd[CQ_W-1:0]));
    f_kept_mem: assert ((!f_fd || f_fd_x_mem == f_x_z) && (!f_zd || (f_zd_x_mem == f_x && f_zd_y_mem == f_y)));
    f_kept_cause: assert (res_db_valid == (zd_valid && zd[CQ_W + IDX_W + 31]) && (!res_db_valid || res_db_cause == f_z_cause));
end
