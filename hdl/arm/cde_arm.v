// SPDX-License-Identifier: Apache-2.0
// cde_arm: arm state of every CQ; decides every callback.
//
// Purpose: two pipelines, publication (write responses, overflows) and doorbells (consumer index, arm, callback return, control,
//          moderation), change one state, each one operation per cycle. Operations of one cycle on one CQ are chained,
//          publication first, so neither side ever waits for the other and no set meets a clear. The state is split over
//          three stages, counts (C), flags (F), ages (Z), each a loop of one cycle with forwarding.
// Ports:   publication in (pub_*, never refused), doorbells in (db_*), control in (ct_*), results (res_*), callbacks out
//          (one FIFO push per pipeline), copies of the consumer index for the producer side, trace lanes 1 and 2.
// Latency: operation accepted in cycle t; callback pushed in t+3, cause registered in t+4; control result and trace in t+5.
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_defs.vh"
`include "cde_event_records.vh"
`include "cde_mem.vh"

module cde_arm #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,         // log2 NUM_CQ
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
    input  wire [1:0]         pub_count,
    input  wire [1:0]         pub_solicited,
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
    output reg                cons_we,
    output reg  [CQ_W-1:0]    cons_cq,
    output reg  [IDX_W-1:0]   cons_index,
    output reg  [NUM_CQ-1:0]  dead,          // CQ is in its error state

    // Callbacks, one push port for each pipeline
    output wire               ev_pub_valid,
    output wire [EV_W-1:0]    ev_pub_data,
    output wire               ev_db_valid,
    output wire [EV_W-1:0]    ev_db_data,

    // Trace lanes 1 and 2
    output wire [1:0]         trace_valid,
    output wire [511:0]       trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4, mem5;

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
    reg  [NUM_CQ-1:0] waiting;
    reg  [3:0]        ct_age;
    reg  [3:0]        look_age;
    wire              look_valid;
    wire [CQ_W-1:0]   look_cq;
    wire              look_ripe;
    wire              looks_between;
    wire              ct_force = ct_valid && ct_age == PATIENCE;
    wire              look_force = look_valid && look_age == PATIENCE;

    assign db_ready = !init && !ct_force && !look_force;
    wire db_take = db_valid && db_ready;
    assign ct_ready = !init && (ct_force || (!db_valid && !look_force));
    wire ct_take = ct_valid && ct_ready;
    wire look_take = !init && look_valid && !db_take && !ct_take;

    always @(posedge clk) begin
        if (!ct_valid || ct_take) ct_age <= 4'd0;
        else if (ct_age != PATIENCE) ct_age <= ct_age + 4'd1;
        if (!look_valid || look_take) look_age <= 4'd0;
        else if (look_age != PATIENCE) look_age <= look_age + 4'd1;
        if (rst) begin
            ct_age <= 4'd0;
            look_age <= 4'd0;
        end
    end

    wire [CQ_W-1:0] da_cq = db_take ? db_cq : ct_take ? ct_cq : look_cq;

    // ---------------------------------------------------------------- operands, stages R (memory out), C, F, Z, T
    // Publication; the CQ lies lowest in both.
    localparam P_OP = CQ_W, P_COUNT = P_OP + 8, P_SOLICITED = P_COUNT + 2, P_STATUS = P_SOLICITED + 2, P_GIVE_UP = P_STATUS + 2,
               P_QUIET = P_GIVE_UP + 1, P_RETRY = P_QUIET + 2, P_W = P_RETRY + RETRY_W;
    // Doorbell side, last who asks: a doorbell page, control, moderation whose callback is ripe.
    localparam D_INDEX = CQ_W, D_OP = D_INDEX + IDX_W, D_CAUSE = D_OP + 8, D_TYPE = D_CAUSE + 8, D_ARM = D_TYPE + 2, D_PAGE = D_ARM + 1,
               D_HOST = D_PAGE + PAGE_W, D_CONTROL = D_HOST + 1, D_RIPE = D_CONTROL + 1, D_W = D_RIPE + 1;
    localparam CF_W = `CDE_CFG_W;

    reg             rp_valid, cp_valid, fp_valid, zp_valid;
    reg  [P_W-1:0]  rp, cp, fp;
    reg  [P_RETRY-1:0] zp;
    reg             rd_valid, cd_valid, fd_valid, zd_valid;
    reg  [D_W-1:0]  rd, cd, fd, zd;

    wire [P_W-1:0]  ap = {pub_retry, pub_quiet, pub_give_up, pub_status, pub_solicited, pub_count, pub_op, pub_cq};
    wire [D_W-1:0]  ad = {look_take && look_ripe, ct_take, db_take, db_page, db_arm, db_type,
                          db_take ? db_cause : 8'h00,
                          db_take ? db_op : ct_take ? ct_op : `CDE_TRC_MODERATION,
                          db_take ? db_index : ct_index, da_cq};

    always @(posedge clk) begin
        {rp_valid, cp_valid, fp_valid, zp_valid} <= rst ? 4'd0 : {pub_valid, rp_valid, cp_valid, fp_valid};
        {rd_valid, cd_valid, fd_valid, zd_valid} <= rst ? 4'd0 : {db_take || ct_take || look_take, rd_valid, cd_valid, fd_valid};
        {rp, cp, fp, zp} <= {ap, rp, cp, fp[P_RETRY-1:0]};
        {rd, cd, fd, zd} <= {ad, rd, cd, fd};
    end

    wire [CQ_W-1:0]    rp_cq = rp[CQ_W-1:0];
    wire [CQ_W-1:0]    rd_cq = rd[CQ_W-1:0];

    // ---------------------------------------------------------------- settings, written index: known at stage C
    wire [CF_W-1:0]  rp_settings, rd_settings;
    reg  [CF_W-1:0]  cp_settings, cd_settings, fp_settings, fd_settings, zd_settings;
    wire [IDX_W-1:0] rd_written;
    reg  [IDX_W-1:0] cd_ahead;
    reg              cd_owner, fd_owner;
    wire             unused_settings = &{1'b0, fp_settings};

    cde_ram #(.W(CF_W), .AW(CQ_W), .ECC(ECC)) settings_pub_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(pub_cq), .rdata(rp_settings)
    );

    cde_ram #(.W(CF_W), .AW(CQ_W), .ECC(ECC)) settings_db_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(da_cq), .rdata(rd_settings)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W), .ECC(ECC)) written_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(wr_we), .waddr(wr_cq), .wdata(wr_index), .raddr(da_cq), .rdata(rd_written)
    );

    always @(posedge clk) begin
        {cp_settings, fp_settings} <= {rp_settings, cp_settings};
        {cd_settings, fd_settings, zd_settings} <= {rd_settings, cd_settings, fd_settings};
        cd_ahead <= rd_written - rd[D_INDEX +: IDX_W];
        cd_owner <= rd_settings[`CDE_CFG_PAGE +: PAGE_W] == rd[D_PAGE +: PAGE_W];
        fd_owner <= cd_owner;
    end

    // ---------------------------------------------------------------- stage C: counts
    wire [CQ_W-1:0]    cp_cq = cp[CQ_W-1:0];
    wire [CQ_W-1:0]    cd_cq = cd[CQ_W-1:0];
    wire [7:0]         cp_op = cp[P_OP +: 8];
    wire [7:0]         cd_op = cd[D_OP +: 8];
    wire [X_W-1:0]     rp_x, rd_x, cp_x_next, cd_x, cd_x_next;
    reg  [X_W-1:0]     cp_x, cd_x_mem;
    wire [1:0]         cp_live;
    wire               cp_publish, cp_fail, cp_open, cd_legal, cd_present, cd_sol_remains, cd_answered;
    reg                c_chained, f_chained;

    cde_ram_2w #(.W(X_W), .AW(CQ_W), .ECC(ECC)) count_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4),
        .we0(cp_valid), .waddr0(cp_cq), .wdata0(cp_x_next),
        .we1(cd_valid), .waddr1(cd_cq), .wdata1(cd_x_next),
        .raddr0(pub_cq), .rdata0(rp_x), .raddr1(da_cq), .rdata1(rd_x)
    );

    always @(posedge clk) begin
        cp_x <= cd_valid && cd_cq == rp_cq ? cd_x_next : cp_valid && cp_cq == rp_cq ? cp_x_next : rp_x;
        cd_x_mem <= cd_valid && cd_cq == rd_cq ? cd_x_next : cp_valid && cp_cq == rd_cq ? cp_x_next : rd_x;
        c_chained <= rp_valid && rp_cq == rd_cq;
        f_chained <= c_chained;
    end

    cde_arm_count #(.IDX_W(IDX_W), .X_BITS(X_W)) count_i (
        .p_op(cp_op), .p_count(cp[P_COUNT +: 2]), .p_solicited(cp[P_SOLICITED +: 2]), .p_status(cp[P_STATUS +: 2]),
        .p_x(cp_x), .p_x_next(cp_x_next), .p_live(cp_live), .p_publish(cp_publish), .p_fail(cp_fail), .p_open(cp_open),
        .chained(c_chained),
        .d_doorbell(cd_op == `CDE_TRC_DOORBELL), .d_create(cd_op == `CDE_TRC_CREATE),
        .d_destroy(cd_op == `CDE_TRC_DESTROY),
        .d_clean(cd[D_CAUSE +: 8] == 8'h00 && cd_owner),
        .d_index(cd[D_INDEX +: IDX_W]), .d_ahead(cd_ahead), .d_x_mem(cd_x_mem), .d_x(cd_x), .d_x_next(cd_x_next),
        .d_legal(cd_legal), .d_present(cd_present), .d_sol_remains(cd_sol_remains), .d_answered(cd_answered)
    );

    always @(posedge clk) begin
        cons_we <= cd_valid;
        cons_cq <= cd_cq;
        cons_index <= cd_x_next[X_CONS +: IDX_W];
        if (cp_valid && cp_x_next[X_ERR +: 2] != `CDE_CQST_OK) dead[cp_cq] <= 1'b1;
        if (cd_valid && cd_op == `CDE_TRC_CREATE) dead[cd_cq] <= 1'b0;
        if (rst) dead <= {NUM_CQ{1'b0}};
    end

    // ---------------------------------------------------------------- stage F: flags
    wire [CQ_W-1:0]    fp_cq = fp[CQ_W-1:0];
    wire [CQ_W-1:0]    fd_cq = fd[CQ_W-1:0];
    wire [7:0]         fp_op = fp[P_OP +: 8];
    wire [7:0]         fd_op = fd[D_OP +: 8];
    reg  [X_W-1:0]     fp_x, fp_x_next, fd_x, fd_x_next;
    reg  [1:0]         fp_live;
    reg                fp_publish, fp_fail, fp_open, fd_legal, fd_present, fd_sol_remains, fd_answered;
    wire [Y_W-1:0]     cp_y, cd_y, fp_y_next, fd_y, fd_y_next;
    reg  [Y_W-1:0]     fp_y, fd_y_mem;
    wire               fp_call, fd_call, fp_becomes_due, fd_becomes_due, fd_acts, fd_freed;
    wire [7:0]         fd_cause;
    wire               fp_prompt = !(fp_settings[`CDE_CFG_CNT_EN] || fp_settings[`CDE_CFG_INT_EN]) ||
                                   fp_x_next[X_ERR +: 2] != `CDE_CQST_OK;
    wire               fd_prompt = !(fd_settings[`CDE_CFG_CNT_EN] || fd_settings[`CDE_CFG_INT_EN]) ||
                                   fd_x_next[X_ERR +: 2] != `CDE_CQST_OK;

    cde_ram_2w #(.W(Y_W), .AW(CQ_W), .ECC(ECC)) flag_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem5),
        .we0(fp_valid), .waddr0(fp_cq), .wdata0(fp_y_next),
        .we1(fd_valid), .waddr1(fd_cq), .wdata1(fd_y_next),
        .raddr0(rp_cq), .rdata0(cp_y), .raddr1(rd_cq), .rdata1(cd_y)
    );

    always @(posedge clk) begin
        {fp_x, fp_x_next, fd_x, fd_x_next} <= {cp_x, cp_x_next, cd_x, cd_x_next};
        {fp_live, fp_publish, fp_fail, fp_open} <= {cp_live, cp_publish, cp_fail, cp_open};
        {fd_legal, fd_present, fd_sol_remains, fd_answered} <= {cd_legal, cd_present, cd_sol_remains, cd_answered};
        fp_y <= fd_valid && fd_cq == cp_cq ? fd_y_next : fp_valid && fp_cq == cp_cq ? fp_y_next : cp_y;
        fd_y_mem <= fd_valid && fd_cq == cd_cq ? fd_y_next : fp_valid && fp_cq == cd_cq ? fp_y_next : cd_y;
    end

    cde_arm_flags #(.Y_BITS(Y_W)) flags_i (
        .p_op(fp_op), .p_live(fp_live), .p_solicited(fp[P_SOLICITED +: 2]), .p_quiet(fp[P_QUIET +: 2]), .p_publish(fp_publish), .p_fail(fp_fail),
        .p_give_up(fp[P_GIVE_UP]), .p_prompt(fp_prompt), .p_y(fp_y), .p_y_next(fp_y_next), .p_call(fp_call),
        .p_becomes_due(fp_becomes_due),
        .chained(f_chained), .d_op(fd_op), .d_host(fd[D_HOST]), .d_cause_in(fd[D_CAUSE +: 8]),
        .d_owner(fd_owner), .d_ready(fd_x[X_READY]), .d_legal(fd_legal), .d_arm(fd[D_ARM]),
        .d_type(fd[D_TYPE +: 2]), .d_present(fd_present), .d_sol_remains(fd_sol_remains),
        .d_answered(fd_answered), .d_typed(fd_settings[`CDE_CFG_TYPED]), .d_rearm(fd_settings[`CDE_CFG_REARM]),
        .d_prompt(fd_prompt), .d_ripe(fd[D_RIPE]), .d_y_mem(fd_y_mem), .d_y(fd_y), .d_y_next(fd_y_next),
        .d_cause(fd_cause), .d_acts(fd_acts), .d_call(fd_call), .d_becomes_due(fd_becomes_due), .d_freed(fd_freed)
    );

    wire fp_retry = fp_op == `CDE_TRC_EVENT_FAILED && !fp[P_GIVE_UP];
    wire fd_effect = fd_valid && fd_acts;

    assign ev_pub_valid = fp_valid && (fp_call || fp_retry);
    assign ev_pub_data[`CDE_CALLBACK_CQ +: CQ_W] = fp_cq;
    assign ev_pub_data[`CDE_CALLBACK_EQ +: EQ_W] = fp_settings[`CDE_CFG_EQ +: EQ_W];
    assign ev_pub_data[`CDE_CALLBACK_STATUS +: 2] = fp_x_next[X_ERR +: 2];
    assign ev_pub_data[`CDE_CALLBACK_SNAP +: IDX_W] = fp_x_next[X_PROD +: IDX_W];
    assign ev_pub_data[`CDE_CALLBACK_RETRY] = fp_retry;
    assign ev_pub_data[`CDE_CALLBACK_DATA +: RETRY_W] = fp[P_RETRY +: RETRY_W];
    assign ev_db_valid = fd_valid && fd_call;
    assign ev_db_data[`CDE_CALLBACK_CQ +: CQ_W] = fd_cq;
    assign ev_db_data[`CDE_CALLBACK_EQ +: EQ_W] = fd_settings[`CDE_CFG_EQ +: EQ_W];
    assign ev_db_data[`CDE_CALLBACK_STATUS +: 2] = fd_x_next[X_ERR +: 2];
    assign ev_db_data[`CDE_CALLBACK_SNAP +: IDX_W] = fd_x_next[X_PROD +: IDX_W];
    assign ev_db_data[`CDE_CALLBACK_RETRY] = 1'b0;
    assign ev_db_data[`CDE_CALLBACK_DATA +: RETRY_W] = {RETRY_W{1'b0}};

    always @(posedge clk) begin
        res_db_valid <= fd_valid && fd[D_HOST] && !rst;
        res_db_cause <= fd_cause;
    end

    // ---------------------------------------------------------------- stage Z: ages; moderation
    reg  [X_W-1:0] zp_x, zp_x_next, zd_x, zd_x_next;
    reg  [Y_W-1:0] zp_y, zp_y_next, zd_y, zd_y_next;
    wire [Z_W-1:0] zp_z, zp_z_next, zd_z, zd_z_next;
    reg  [1:0]     zp_live;
    reg            zp_call, zp_due, zp_traced, zd_call, zd_due, zd_effect, zd_freed, zd_traced;
    wire           ripe_now;
    wire [7:0]     zd_op = zd[D_OP +: 8];
    wire           fp_of_entries = fp_op == `CDE_TRC_PUBLISH ||
                                   (fp_op == `CDE_TRC_CQ_ERROR && fp[P_STATUS +: 2] == `CDE_CQST_INTERNAL_ERROR);
    wire           fd_traced = fd_effect && (fd_op != `CDE_TRC_MODERATION || fd_y_next != fd_y);

    wire [IDX_W-1:0] fp_gap = fp_x_next[X_PROD +: IDX_W] - fp_x_next[X_CONS +: IDX_W];
    wire [IDX_W-1:0] fd_gap = fd_x_next[X_PROD +: IDX_W] - fd_x_next[X_CONS +: IDX_W];
    reg  [IDX_W-1:0] zp_call_mark, zd_call_mark;

    always @(posedge clk) begin
        zp_call_mark <= fp_gap[IDX_W-1] ? fp_x_next[X_CONS +: IDX_W] : fp_x_next[X_PROD +: IDX_W];
        zd_call_mark <= fd_gap[IDX_W-1] ? fd_x_next[X_CONS +: IDX_W] : fd_x_next[X_PROD +: IDX_W];
        {zp_x, zp_x_next, zd_x, zd_x_next} <= {fp_x, fp_x_next, fd_x, fd_x_next};
        {zp_y, zp_y_next, zd_y, zd_y_next} <= {fp_y, fp_y_next, fd_y, fd_y_next};
        {zp_live, zp_call, zp_due} <= {fp_live, fp_call, fp_becomes_due};
        {zd_call, zd_due, zd_effect, zd_freed} <= {fd_call, fd_becomes_due, fd_effect, fd_freed};
        if (zp_valid) waiting[zp[CQ_W-1:0]] <= zp_y_next[Y_DUE] && !zp_y_next[Y_MATURE];
        if (zd_valid) waiting[zd[CQ_W-1:0]] <= zd_y_next[Y_DUE] && !zd_y_next[Y_MATURE];
        if (rst) waiting <= {NUM_CQ{1'b0}};
        zp_traced <= fp_valid && (!fp_of_entries || fp_open) && !rst;
        zd_traced <= fd_traced && !rst;
    end

    cde_arm_age #(.CQ_W(CQ_W), .IDX_W(IDX_W), .Z_BITS(Z_W), .CF_BITS(CF_W), .ECC(ECC)) age_i (
        .clk(clk), .mem_i(mem5), .mem_o(mem_o), .now(now),
        .p_cq_ahead(cp_cq), .d_cq_ahead(cd_cq),
        .p_valid(zp_valid), .p_cq(zp[CQ_W-1:0]), .p_becomes_due(zp_due), .p_was_due(zp_y[Y_DUE]), .p_call(zp_call),
        .p_live(zp_live), .p_call_mark(zp_call_mark),
        .d_valid(zd_valid), .d_cq(zd[CQ_W-1:0]), .d_doorbell(zd_effect && zd_op == `CDE_TRC_DOORBELL),
        .d_clear(zd_effect && (zd_op == `CDE_TRC_CREATE || zd_freed)),
        .d_forget(zd_effect && zd_op == `CDE_TRC_DESTROY), .d_due(zd_y_next[Y_DUE]), .d_look(zd_op == `CDE_TRC_MODERATION),
        .d_becomes_due(zd_due), .d_call(zd_call),
        .d_index(zd[D_INDEX +: IDX_W]), .d_call_mark(zd_call_mark),
        .d_prod(zd_x_next[X_PROD +: IDX_W]), .d_cons(zd_x[X_CONS +: IDX_W]),
        .d_settings(zd_settings),
        .p_z(zp_z), .p_z_next(zp_z_next), .d_z(zd_z), .d_z_next(zd_z_next), .d_ripe(ripe_now)
    );

    cde_arm_look #(.NUM_CQ(NUM_CQ), .CQ_W(CQ_W)) look_i (
        .clk(clk), .rst(rst), .waiting(waiting),
        .look_valid(look_valid), .look_taken(look_take), .look_cq(look_cq), .look_ripe(look_ripe),
        .ripe_now(ripe_now), .between(looks_between),
        .ended((fp_valid && fp_call && fp_cq == look_cq) ||
               (fd_effect && (fd_call || fd_op == `CDE_TRC_CREATE) && fd_cq == look_cq))
    );

    // What the first look found is not true of another setting.
    assign cfg_hold = looks_between && look_cq == cfg_cq;

    cde_arm_trace #(.CQ_W(CQ_W), .IDX_W(IDX_W), .X_BITS(X_W), .Y_BITS(Y_W), .Z_BITS(Z_W)) trace_i (
        .clk(clk), .rst(rst),
        .p_traced(zp_traced), .p_op(zp[P_OP +: 8]), .p_cq(zp[CQ_W-1:0]), .p_call(zp_call),
        .p_count(zp[P_COUNT +: 2]), .p_solicited(zp[P_SOLICITED +: 2]), .p_status(zp[P_STATUS +: 2]), .p_give_up(zp[P_GIVE_UP]),
        .p_quiet(zp[P_QUIET +: 2]), .p_old({zp_z, zp_y, zp_x}), .p_new({zp_z_next, zp_y_next, zp_x_next}),
        .d_traced(zd_traced), .d_op(zd_op), .d_cq(zd[CQ_W-1:0]), .d_call(zd_call), .d_index(zd[D_INDEX +: IDX_W]),
        .d_arm(zd[D_ARM]), .d_type(zd[D_TYPE +: 2]), .d_typed(zd_settings[`CDE_CFG_TYPED]), .d_rearm(zd_settings[`CDE_CFG_REARM]),
        .d_freed(zd_freed), .d_old({zd_z, zd_y, zd_x}), .d_new({zd_z_next, zd_y_next, zd_x_next}),
        .d_control(zd_valid && zd[D_CONTROL]),
        .res_valid(res_ct_valid), .res_state(res_ct_state),
        .trace_valid(trace_valid), .trace_data(trace_data)
    );

`ifdef FORMAL
`include "cde_arm_props.vh"
`endif

endmodule

`default_nettype wire
