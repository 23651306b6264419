// SPDX-License-Identifier: Apache-2.0
// cde_arm: arm state of every CQ; decides every callback.
//
// Purpose: two pipelines, publication (write responses, overflows) and doorbells (consumer index, arm, callback return,
//          control, moderation, acknowledged events), change one state, each one operation per cycle. Operations of one
//          cycle on one CQ are chained, publication first, so neither side ever waits for the other and no set meets a
//          clear. The state is split over three stages, counts (C), flags (F), ages (Z), each a loop of one cycle.
//          Between counts and flags stage Q compares and decodes, so that the loop of the flags finds single bits.
// Ports:   publication in (pub_*, never refused), doorbells in (db_*), acknowledged events (ack_*), control in (ct_*),
//          results (res_*), callbacks out (one push per pipeline), copies of the consumer index, trace lanes 1 and 2.
// Latency: operation accepted in cycle t; counts moved in t+3, flags decided in t+5; callback pushed in t+6; cause,
//          control result and trace in t+7. Settings and written index count as of t+2.
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_defs.vh"
`include "cde_event_records.vh"
`include "cde_mem.vh"

module cde_arm #(
    parameter CQ_W = 6,         // log2 of the number of CQs
    parameter EQ_W = 8,
    parameter PAGE_W = 12,
    parameter IDX_W = 16,
    parameter MOD_TICK = 256,
    parameter RETRY_W = `CDE_RETRY_W,   // bits carried through for the repetition of a failed EQE write
    parameter EV_W = `CDE_CALLBACK_W,   // bits of a callback
    parameter ECC = 1
) (
    input  wire               clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire               rst,
    input  wire               init,          // clearing walk after reset
    // Publication
    input  wire               pub_valid,
    input  wire [7:0]         pub_op,
    input  wire [CQ_W-1:0]    pub_cq,
    input  wire [1:0]         pub_count, pub_solicited,
    input  wire [1:0]         pub_quiet,     // satisfies no standing arm
    input  wire [1:0]         pub_status,
    input  wire               pub_give_up,
    input  wire [RETRY_W-1:0] pub_retry,
    // Doorbells
    input  wire               db_valid,
    output wire               db_ready,
    input  wire [7:0]         db_op,
    input  wire [7:0]         db_cause,      // refused already when decoded
    input  wire [CQ_W-1:0]    db_cq,
    input  wire [PAGE_W-1:0]  db_page,
    input  wire [IDX_W-1:0]   db_index,
    input  wire               db_arm,
    input  wire [1:0]         db_type,

    // Acknowledged events
    input  wire               ack_valid,
    output wire               ack_ready,
    input  wire [CQ_W-1:0]    ack_cq,
    // Control steps: CREATE, DESTROY, or any other code for a look at the state
    input  wire               ct_valid,
    output wire               ct_ready,
    input  wire [7:0]         ct_op,
    input  wire [CQ_W-1:0]    ct_cq,
    input  wire [IDX_W-1:0]   ct_index,

    // Results, in the order of acceptance
    output reg                res_db_valid,
    output reg  [7:0]         res_db_cause,
    output wire               res_ct_valid,
    output wire [95:0]        res_ct_state,  // trace encoding
    // Settings, written by control: not while cfg_hold, which is short
    input  wire               cfg_we,
    output wire               cfg_hold,
    input  wire [CQ_W-1:0]    cfg_cq,
    input  wire [`CDE_CFG_W-1:0] cfg_data,
    // Index after the last entry accepted by memory, written where entries are issued
    input  wire               wr_we,
    input  wire [CQ_W-1:0]    wr_cq,
    input  wire [IDX_W-1:0]   wr_index,

    // Consumer index for the producer side
    output wire               cons_we,
    output wire [CQ_W-1:0]    cons_cq,
    output wire [IDX_W-1:0]   cons_index,
    // A CQ goes into its error state, one cycle after stage C; a CQ is created, and leaves it
    output wire               dies, revives,
    output wire [CQ_W-1:0]    dies_cq, revives_cq,
    // Callbacks, one push port for each pipeline
    output wire               ev_pub_valid, ev_db_valid,
    output wire [EV_W-1:0]    ev_pub_data, ev_db_data,

    // Trace lanes 1 and 2
    output wire [1:0]         trace_valid,
    output wire [511:0]       trace_data
);
    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5;
`include "cde_arm_facts.vh"
`include "cde_arm_state.vh"

    localparam [31:0] LAST_CYCLE = MOD_TICK - 1;
    // A waiting control or moderation step takes a doorbell's slot after this many cycles: bounded both ways (ISO-04).
    localparam [3:0] PATIENCE = 4'd15;

    // ---------------------------------------------------------------- time
    reg [15:0] prescale;
    reg [17:0] now;
    always @(posedge clk) begin
        prescale <= prescale == LAST_CYCLE[15:0] ? 16'd0 : prescale + 16'd1;
        if (prescale == LAST_CYCLE[15:0]) now <= now + 18'd1;
        if (rst) begin
            prescale <= 16'd0;
            now <= 18'd0;
        end
    end

    // ---------------------------------------------------------------- stage A: choice of the doorbell side's operation
    reg  [3:0]        ct_age, look_age;
    reg               ct_last, look_last, ack_last;      // its age is PATIENCE; it has given way to a doorbell
    wire [CQ_W-1:0]   look_cq;
    wire              look_valid, look_ripe, looks_between, look_waits;
    wire              ct_force = ct_valid && ct_last, look_force = look_valid && look_last;
    // Acknowledgements and doorbells take turns when both wait.
    assign db_ready = !init && !ct_force && !look_force && !ack_last;
    wire db_take = db_valid && db_ready;
    // Which one has the slot if no doorbell does: db_valid is late.
    wire ack_turn = ack_valid && !ct_force && !look_force;
    wire ct_turn = ct_valid && (ct_force || !(look_force || ack_valid));
    assign ack_ready = !init && ack_turn && !db_take;
    assign ct_ready = !init && ct_turn && !db_take;
    wire look_take = !init && look_valid && !db_take && !ct_ready && !ack_ready;

    always @(posedge clk) begin
        if (!ct_valid || ct_ready) ct_age <= 4'd0;
        else if (!ct_last) ct_age <= ct_age + 4'd1;
        if (!look_valid || look_take) look_age <= 4'd0;
        else if (!look_last) look_age <= look_age + 4'd1;
        ct_last <= ct_valid && !ct_ready && ct_age >= PATIENCE - 4'd1;
        look_last <= look_valid && !look_take && look_age >= PATIENCE - 4'd1;
        ack_last <= ack_valid && !ack_ready && (db_take || ack_last);
        if (rst) {ct_age, look_age, ct_last, look_last, ack_last} <= 11'd0;
    end
    wire [CQ_W-1:0] da_cq = db_take ? db_cq : ct_turn ? ct_cq : ack_turn ? ack_cq : look_cq;

    // ---------------------------- operands, stages R, S (memory on its way), C, Q, F, Z
    // Publication; the CQ lies lowest in both.
    localparam P_OP = CQ_W, P_COUNT = P_OP + 8, P_SOLICITED = P_COUNT + 2, P_STATUS = P_SOLICITED + 2,
               P_GIVE_UP = P_STATUS + 2, P_QUIET = P_GIVE_UP + 1, P_RETRY = P_QUIET + 2, P_W = P_RETRY + RETRY_W;
    // Doorbell side, last who asks: a doorbell page, control. Else it is an acknowledgement or a look of moderation.
    localparam D_INDEX = CQ_W, D_OP = D_INDEX + IDX_W, D_CAUSE = D_OP + 8, D_TYPE = D_CAUSE + 8, D_ARM = D_TYPE + 2,
               D_PAGE = D_ARM + 1, D_HOST = D_PAGE + PAGE_W, D_CONTROL = D_HOST + 1, D_W = D_CONTROL + 1;
    localparam CF_W = `CDE_CFG_W;
    reg             rp_valid, sp_valid, cp_valid, qp_valid, fp_valid, zp_valid;
    reg  [P_W-1:0]  rp, sp, cp, qp, fp, zp;
    reg             rd_valid, sd_valid, cd_valid, qd_valid, fd_valid, zd_valid;
    reg  [D_W-1:0]  rd, sd, cd, qd, fd, zd;
    reg             c_chained, q_chained, f_chained, z_chained;     // both operations are about one CQ

    wire [P_W-1:0]  ap = {pub_retry, pub_quiet, pub_give_up, pub_status, pub_solicited, pub_count, pub_op, pub_cq};
    wire [D_W-1:0]  ad = {ct_ready, db_take, db_page, db_arm, db_type, db_take ? db_cause : 8'h00,
                          db_take ? db_op : ct_turn ? ct_op : ack_turn ? `CDE_TRC_EVENT_DONE : `CDE_TRC_MODERATION,
                          db_take ? db_index : ct_index, da_cq};
    wire [CQ_W-1:0] sp_cq = sp[CQ_W-1:0], cp_cq = cp[CQ_W-1:0], qp_cq = qp[CQ_W-1:0], fp_cq = fp[CQ_W-1:0],
                            zp_cq = zp[CQ_W-1:0];
    wire [CQ_W-1:0] sd_cq = sd[CQ_W-1:0], cd_cq = cd[CQ_W-1:0], qd_cq = qd[CQ_W-1:0], fd_cq = fd[CQ_W-1:0],
                            zd_cq = zd[CQ_W-1:0];
    wire            s_chained = sp_valid && sp_cq == sd_cq;

    always @(posedge clk) begin
        {zp_valid, fp_valid, qp_valid, cp_valid, sp_valid, rp_valid} <=
            {fp_valid, qp_valid, cp_valid, sp_valid, rp_valid, pub_valid} & {6{!rst}};
        {zd_valid, fd_valid, qd_valid, cd_valid, sd_valid, rd_valid} <=
            {fd_valid, qd_valid, cd_valid, sd_valid, rd_valid, db_take || ct_ready || ack_ready || look_take} &
            {6{!rst}};
        {zp, fp, qp, cp, sp, rp} <= {fp, qp, cp, sp, rp, ap};
        {zd, fd, qd, cd, sd, rd} <= {fd, qd, cd, sd, rd, ad};
        {z_chained, f_chained, q_chained, c_chained} <= {f_chained, q_chained, c_chained, s_chained};
    end

    // ---------------------------------------------------------------- settings, written index: known at stage C
    wire [CF_W-1:0]  cp_settings, cd_settings;
    reg  [CF_W-1:0]  qp_settings, fp_settings, zp_settings, qd_settings, fd_settings, zd_settings;
    wire [IDX_W-1:0] cd_written;
    wire             cd_owner = cd_settings[`CDE_CFG_PAGE +: PAGE_W] == cd[D_PAGE +: PAGE_W];
    reg              qd_owner, fd_owner, zd_owner;
    wire             unused_settings = &{1'b0, zp_settings};
    cde_ctx #(.W(CF_W), .AW(CQ_W), .ECC(ECC)) settings_pub_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(pub_cq),
        .rdata(cp_settings)
    );
    cde_ctx #(.W(CF_W), .AW(CQ_W), .ECC(ECC)) settings_db_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(da_cq),
        .rdata(cd_settings)
    );

    cde_ctx #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) written_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(wr_we), .waddr(wr_cq), .wdata(wr_index), .raddr(da_cq),
        .rdata(cd_written)
    );

    always @(posedge clk) begin
        {qp_settings, fp_settings, zp_settings} <= {cp_settings, qp_settings, fp_settings};
        {qd_settings, fd_settings, zd_settings} <= {cd_settings, qd_settings, fd_settings};
        {qd_owner, fd_owner, zd_owner} <= {cd_owner, qd_owner, fd_owner};
    end

    // ---------------------------------------------------------------- stage C: counts
    localparam STEP_W = 11;
    wire [X_W-1:0]    cp_x, cp_x_next, cd_x_mem, cd_x_next, cd_x_stays, cd_x_moves;
    wire              cd_legal, cd_moves, qp_open;
    wire [1:0]        cp_early, qp_live;
    reg  [STEP_W-1:0] cp_step, cd_before;
    reg               cd_bell, cd_create, cd_destroy, cd_clean;

    // Decoded a stage ahead
    wire [7:0]        sp_op = sp[P_OP +: 8], sd_op = sd[D_OP +: 8];
    wire              sp_error = sp_op == `CDE_TRC_CQ_ERROR;
    wire              sp_overflow = sp_error && sp[P_STATUS +: 2] == `CDE_CQST_BUFFER_OVERFLOW;
    wire [STEP_W-1:0] sp_step = {sp_op == `CDE_TRC_PUBLISH || sp_error, sp_op == `CDE_TRC_PUBLISH, sp_error,
                                 sp_overflow, sp_op == `CDE_TRC_EVENT_FAILED, sp[P_COUNT +: 2], sp[P_SOLICITED +: 2],
                                 sp[P_STATUS +: 2]};

    always @(posedge clk) begin
        cp_step <= sp_step;
        cd_before <= sp_step & {STEP_W{s_chained}};
        {cd_bell, cd_create, cd_destroy} <= {sd_op == `CDE_TRC_DOORBELL, sd_op == `CDE_TRC_CREATE,
                                             sd_op == `CDE_TRC_DESTROY};
        cd_clean <= sd[D_CAUSE +: 8] == 8'h00;
    end

    cde_ctx_2w #(.W(X_W), .AW(CQ_W), .ECC(ECC), .STEPS(3), .MASK(32'h55)) count_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4),
        .we0(cp_valid), .waddr0(cp_cq), .wdata0(cp_x_next), .we1(cd_valid), .waddr1(cd_cq), .wdata1(cd_x_stays),
        .late1(cd_moves), .alt1(cd_x_moves), .raddr0(pub_cq), .rdata0(cp_x), .raddr1(da_cq), .rdata1(cd_x_mem)
    );

    cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W), .STEP_BITS(STEP_W)) count_i (
        .p_step(cp_step), .p_x(cp_x), .p_x_next(cp_x_next), .p_early(cp_early),
        .d_before(cd_before), .d_bell(cd_bell), .d_create(cd_create), .d_destroy(cd_destroy),
        .d_clean(cd_clean && cd_owner), .d_index(cd[D_INDEX +: IDX_W]), .d_written(cd_written), .d_x_mem(cd_x_mem),
        .d_x_next(cd_x_next), .d_x_stays(cd_x_stays), .d_x_moves(cd_x_moves), .d_moves(cd_moves), .d_legal(cd_legal)
    );

    // ---------------------------------------------------------------- stage Q: facts
    reg  [X_W-1:0]    qp_x, qp_x_next, qd_x, qd_x_next;
    reg               qd_legal, qd_create;
    wire [7:0]        qp_op = qp[P_OP +: 8], qd_op = qd[D_OP +: 8];
    reg  [1:0]        qp_early, fp_live, zp_live;
    wire [FP_W-1:0]   qp_facts;
    wire [FD_W-1:0]   qd_facts;
    wire              qp_of_entries = qp_op == `CDE_TRC_PUBLISH ||
                                      (qp_op == `CDE_TRC_CQ_ERROR && qp[P_STATUS +: 2] == `CDE_CQST_INTERNAL_ERROR);
    wire [IDX_W-1:0]  qp_gap = qp_x_next[X_PROD +: IDX_W] - qp_x_next[X_CONS +: IDX_W];
    wire [IDX_W-1:0]  qd_gap = qd_x_next[X_PROD +: IDX_W] - qd_x_next[X_CONS +: IDX_W];
    wire              ripe_now, ended;        // callback of the CQ that moderation looks at

    cde_arm_facts #(.IDX_W(IDX_W), .X_BITS(X_W), .FP_BITS(FP_W), .FD_BITS(FD_W)) facts_i (
        .p_valid(qp_valid), .p_op(qp_op), .p_count(qp[P_COUNT +: 2]), .p_solicited(qp[P_SOLICITED +: 2]),
        .p_quiet(qp[P_QUIET +: 2]), .p_status(qp[P_STATUS +: 2]), .p_give_up(qp[P_GIVE_UP]),
        .p_moderated(qp_settings[`CDE_CFG_CNT_EN] || qp_settings[`CDE_CFG_INT_EN]), .p_x(qp_x), .p_early(qp_early),
        .p_err(qp_x_next[X_ERR +: 2]), .p_open(qp_open), .p_live(qp_live), .p_facts(qp_facts), .d_valid(qd_valid),
        .d_op(qd_op), .d_clean(qd[D_CAUSE +: 8] == 8'h00 && qd_owner), .d_legal(qd_legal), .d_arm(qd[D_ARM]),
        .d_type(qd[D_TYPE +: 2]), .d_index(qd[D_INDEX +: IDX_W]), .d_typed(qd_settings[`CDE_CFG_TYPED]),
        .d_rearm(qd_settings[`CDE_CFG_REARM]), .d_ripe(look_ripe && !ended), .d_x(qd_x), .d_facts(qd_facts),
        .d_moderated(qd_settings[`CDE_CFG_CNT_EN] || qd_settings[`CDE_CFG_INT_EN])
    );

    reg [CQ_W+IDX_W:0] cons_copy;    // two cycles ahead of the trace, which others' traces that build on it follow
    always @(posedge clk) cons_copy <= {qd_valid && !rst, qd_cq, qd_x_next[X_CONS +: IDX_W]};
    assign {cons_we, cons_cq, cons_index} = cons_copy;

    always @(posedge clk) {qp_x, qp_x_next, qd_x, qd_x_next, qd_legal, qd_create, qp_early} <=
        {cp_x, cp_x_next, c_chained ? cp_x_next : cd_x_mem, cd_x_next, cd_legal, cd_valid && cd_create && !rst,
         cp_early};

    assign {dies, dies_cq} = {qp_valid && qp_x_next[X_ERR +: 2] != `CDE_CQST_OK, qp_cq};
    assign {revives, revives_cq} = {qd_create, qd_cq};

    // ---------------------------------------------------------------- stage F: flags
    reg  [X_W-1:0]    fp_x, fp_x_next, fd_x, fd_x_next;
    reg  [FP_W-1:0]   fp_facts, fd_before;
    reg  [FD_W-1:0]   fd_facts;
    reg               fp_traced, fd_legal;
    reg  [IDX_W-1:0]  fp_call_mark, fd_call_mark;       // max(prod, cons)
    wire [Y_W-1:0]    fp_y, fp_y_next, fd_y_mem, fd_y_next;
    wire              fp_call, fd_call, fp_becomes_due, fd_becomes_due;

    cde_ctx_2w #(.W(Y_W), .AW(CQ_W), .ECC(ECC), .STEPS(3), .MASK(32'h33)) flag_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5),
        .we0(fp_valid), .waddr0(fp_cq), .wdata0(fp_y_next), .we1(fd_valid), .waddr1(fd_cq), .wdata1(fd_y_next),
        .late1(1'b0), .alt1({Y_W{1'b0}}), .raddr0(sp_cq), .rdata0(fp_y), .raddr1(sd_cq), .rdata1(fd_y_mem)
    );

    always @(posedge clk) begin
        {fp_x, fp_x_next, fd_x, fd_x_next} <= {qp_x, qp_x_next, qd_x, qd_x_next};
        {fp_facts, fd_before, fd_facts} <= {qp_facts, qp_facts & {FP_W{q_chained}}, qd_facts};
        fp_traced <= qp_valid && (!qp_of_entries || qp_open);
        {fp_live, fd_legal} <= {qp_live, qd_legal};
        fp_call_mark <= qp_gap[IDX_W-1] ? qp_x_next[X_CONS +: IDX_W] : qp_x_next[X_PROD +: IDX_W];
        fd_call_mark <= qd_gap[IDX_W-1] ? qd_x_next[X_CONS +: IDX_W] : qd_x_next[X_PROD +: IDX_W];
    end

    // A callback called after the first look is not the one that was ripe.
    cde_arm_flags #(.Y_BITS(Y_W), .FP_BITS(FP_W), .FD_BITS(FD_W)) flags_i (
        .p_facts(fp_facts), .p_y(fp_y), .p_y_next(fp_y_next), .p_call(fp_call), .p_becomes_due(fp_becomes_due),
        .d_before(fd_before), .d_facts(fd_facts & ~({{(FD_W-1){1'b0}}, ended} << FD_RIPE)), .d_y_mem(fd_y_mem),
        .d_y_next(fd_y_next), .d_call(fd_call), .d_becomes_due(fd_becomes_due)
    );

    // ---------------------------------------------------------------- stage Z: ages; callbacks; answers
    reg  [X_W-1:0] zp_x, zp_x_next, zd_x, zd_x_next;
    reg  [Y_W-1:0] zp_y, zp_y_next, zd_y_mem, zd_y_next;
    wire [Z_W-1:0] zp_z, zp_z_next, zd_z, zd_z_next;
    reg zp_call, zp_due, zp_traced, zp_retry, zp_event, zd_event, zd_call, zd_due, zd_legal;
    reg zd_bell, zd_return, zd_create, zd_destroy, zd_look, zd_over;
    reg  [IDX_W-1:0] zp_call_mark, zd_call_mark;
    wire [Y_W-1:0] zd_y = z_chained ? zp_y_next : zd_y_mem;
    wire [7:0]     zd_op = zd[D_OP +: 8];
    wire fp_retry = fp[P_OP +: 8] == `CDE_TRC_EVENT_FAILED && !fp[P_GIVE_UP];
    wire           zd_freed = zd_destroy && !zd_y_next[Y_EXISTS];
    wire           zd_effect = zd_bell || (zd_return && zd_y[Y_BUSY]) || zd_create || zd_destroy || zd_look || zd_over;
    wire           zd_traced = zd_effect && (!zd_look || zd_y_next != zd_y);
    wire [7:0]     zd_cause;

    always @(posedge clk) begin
        {zp_x, zp_x_next, zd_x, zd_x_next} <= {fp_x, fp_x_next, fd_x, fd_x_next};
        {zp_y, zp_y_next, zd_y_mem, zd_y_next} <= {fp_y, fp_y_next, fd_y_mem, fd_y_next};
        {zp_live, zp_call, zp_due, zp_traced, zp_call_mark} <= {fp_live, fp_call, fp_becomes_due,
                                                                fp_traced && fp_valid && !rst, fp_call_mark};
        {zd_call, zd_due, zd_legal, zd_call_mark} <= {fd_call, fd_becomes_due, fd_legal, fd_call_mark};
        {zd_over, zd_look, zd_destroy, zd_create, zd_return, zd_bell} <= {fd_facts[FD_OVER], fd_facts[FD_LOOK -: 5]} &
                                                                         {6{fd_valid && !rst}};
        zp_retry <= fp_retry;
        {zp_event, zd_event} <= {fp_valid && (fp_call || fp_retry), fd_valid && fd_call} & {2{!rst}};
        res_db_valid <= zd_valid && zd[D_HOST] && !rst;
        res_db_cause <= zd_cause;
    end

    assign ev_pub_valid = zp_event;
    assign ev_pub_data[`CDE_CALLBACK_CQ +: CQ_W] = zp_cq;
    assign ev_pub_data[`CDE_CALLBACK_EQ +: EQ_W] = zp_settings[`CDE_CFG_EQ +: EQ_W];
    assign ev_pub_data[`CDE_CALLBACK_STATUS +: 2] = zp_x_next[X_ERR +: 2];
    assign ev_pub_data[`CDE_CALLBACK_SNAP +: IDX_W] = zp_x_next[X_PROD +: IDX_W];
    assign ev_pub_data[`CDE_CALLBACK_RETRY] = zp_retry;
    assign ev_pub_data[`CDE_CALLBACK_DATA +: RETRY_W] = zp[P_RETRY +: RETRY_W];
    assign ev_db_valid = zd_event;
    assign ev_db_data[`CDE_CALLBACK_CQ +: CQ_W] = zd_cq;
    assign ev_db_data[`CDE_CALLBACK_EQ +: EQ_W] = zd_settings[`CDE_CFG_EQ +: EQ_W];
    assign ev_db_data[`CDE_CALLBACK_STATUS +: 2] = zd_x_next[X_ERR +: 2];
    assign ev_db_data[`CDE_CALLBACK_SNAP +: IDX_W] = zd_x_next[X_PROD +: IDX_W];
    assign ev_db_data[`CDE_CALLBACK_RETRY] = 1'b0;
    assign ev_db_data[`CDE_CALLBACK_DATA +: RETRY_W] = {RETRY_W{1'b0}};

    cde_arm_cause cause_i (
        .bell(zd_op == `CDE_TRC_DOORBELL), .cause_in(zd[D_CAUSE +: 8]), .exists(zd_y[Y_EXISTS]), .owner(zd_owner),
        .ready(zd_x[X_READY]), .legal(zd_legal), .busy(zd_y[Y_BUSY]), .cause(zd_cause)
    );

    cde_arm_age #(.CQ_W(CQ_W), .IDX_W(IDX_W), .Z_BITS(Z_W), .CF_BITS(CF_W), .ECC(ECC)) age_i (
        .clk(clk), .mem_i(mem5), .mem_o(mem_o), .now(now), .p_cq_ahead(cp_cq), .d_cq_ahead(cd_cq),
        .p_valid(zp_valid), .p_cq(zp_cq), .p_becomes_due(zp_due), .p_due(zp_y_next[Y_DUE]), .p_call(zp_call),
        .p_live(zp_live), .p_call_mark(zp_call_mark), .chained(z_chained),
        .d_valid(zd_valid), .d_cq(zd_cq), .d_doorbell(zd_bell), .d_clear(zd_create || zd_freed),
        .d_due(zd_y_next[Y_DUE]), .d_look(zd_look), .d_becomes_due(zd_due), .d_call(zd_call),
        .d_call_mark(zd_call_mark), .d_settings(zd_settings), .f_call_mark(fp_call_mark),
        .f_index(fd[D_INDEX +: IDX_W]), .f_prod(fd_x_next[X_PROD +: IDX_W]), .f_cons(fd_x[X_CONS +: IDX_W]), .p_z(zp_z),
        .p_z_next(zp_z_next), .d_z(zd_z), .d_z_next(zd_z_next), .d_ripe(ripe_now)
    );

    cde_flags #(.AW(CQ_W)) waiting_i (
        .clk(clk), .mem_i(mem_i), .we0(zp_valid), .waddr0(zp_cq), .wdata0(zp_y_next[Y_DUE] && !zp_y_next[Y_MATURE]),
        .we1(zd_valid), .waddr1(zd_cq), .wdata1(zd_y_next[Y_DUE] && !zd_y_next[Y_MATURE]), .raddr(look_cq),
        .rdata(look_waits)
    );

    cde_arm_look #(.CQ_W(CQ_W)) look_i (
        .clk(clk), .rst(rst || init), .waits(look_waits), .look_valid(look_valid), .look_taken(look_take),
        .look_cq(look_cq), .look_ripe(look_ripe), .ripe_now(ripe_now), .between(looks_between), .ended(ended)
    );

    assign ended = (zp_valid && zp_call && zp_cq == look_cq) || (zd_valid && (zd_call || zd_create) &&
                                                                 zd_cq == look_cq);

    assign cfg_hold = looks_between && look_cq == cfg_cq;   // what the first look found holds for its setting only

    cde_arm_trace #(.CQ_W(CQ_W), .IDX_W(IDX_W), .X_BITS(X_W), .Y_BITS(Y_W), .Z_BITS(Z_W)) trace_i (
        .clk(clk), .rst(rst), .p_traced(zp_traced), .p_op(zp[P_OP +: 8]), .p_cq(zp_cq), .p_call(zp_call),
        .p_count(zp[P_COUNT +: 2]), .p_solicited(zp[P_SOLICITED +: 2]), .p_status(zp[P_STATUS +: 2]),
        .p_give_up(zp[P_GIVE_UP]), .p_quiet(zp[P_QUIET +: 2]), .p_old({zp_z, zp_y, zp_x}),
        .p_new({zp_z_next, zp_y_next, zp_x_next}), .d_traced(zd_traced), .d_op(zd_op), .d_cq(zd_cq), .d_call(zd_call),
        .d_index(zd[D_INDEX +: IDX_W]), .d_arm(zd[D_ARM]), .d_type(zd[D_TYPE +: 2]),
        .d_typed(zd_settings[`CDE_CFG_TYPED]), .d_rearm(zd_settings[`CDE_CFG_REARM]), .d_freed(zd_freed),
        .d_old({zd_z, zd_y, zd_x}), .d_new({zd_z_next, zd_y_next, zd_x_next}), .d_control(zd_valid && zd[D_CONTROL]),
        .res_valid(res_ct_valid), .res_state(res_ct_state), .trace_valid(trace_valid), .trace_data(trace_data)
    );
`ifdef FORMAL
`include "cde_arm_props.vh"
`endif

endmodule

`default_nettype wire
