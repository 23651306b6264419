// SPDX-License-Identifier: Apache-2.0
// cde_arm: arm state of every CQ; decides every callback.
//
// Purpose: two pipelines, publication (write responses, overflows) and doorbells (consumer index, arm, callback return, control,
//          moderation), change one state memory, each one operation per cycle. Operations of one cycle on one CQ are
//          chained, publication first, so neither side ever waits for the other and no set meets a clear.
// Ports:   publication in (pub_*, never refused), doorbells in (db_*), control in (ct_*), results (res_*), callbacks out
//          (one FIFO push per pipeline), copies of the consumer index for the producer side, trace lanes 1 and 2.
// Latency: operation accepted in cycle t, state written at the end of t+1, result and callback registered in t+2.
`default_nettype none
`include "cde_defs.vh"

module cde_arm #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,         // log2 NUM_CQ
    parameter IDX_W = 16,
    parameter MOD_TICK = 256,
    parameter RETRY_W = 64,     // bits carried through for the repetition of a failed EQE write
    parameter EV_W = 128        // bits of a callback record
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               init,          // clearing walk after reset
    input  wire [CQ_W-1:0]    init_addr,

    // Publication
    input  wire               pub_valid,
    input  wire [7:0]         pub_op,
    input  wire [CQ_W-1:0]    pub_cq,
    input  wire [1:0]         pub_count,
    input  wire [1:0]         pub_solicited,
    input  wire [1:0]         pub_status,
    input  wire               pub_give_up,
    input  wire [RETRY_W-1:0] pub_retry,

    // Doorbells
    input  wire               db_valid,
    output wire               db_ready,
    input  wire [7:0]         db_op,
    input  wire [7:0]         db_cause,      // refused already when decoded
    input  wire [CQ_W-1:0]    db_cq,
    input  wire [11:0]        db_page,
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
    output reg                res_ct_valid,
    output reg  [95:0]        res_ct_state,  // trace encoding

    // Settings, written by control
    input  wire               cfg_we,
    input  wire [CQ_W-1:0]    cfg_cq,
    input  wire [39+IDX_W:0]  cfg_data,

    // Index behind the last entry accepted by memory, written where entries are issued
    input  wire               wr_we,
    input  wire [CQ_W-1:0]    wr_cq,
    input  wire [IDX_W-1:0]   wr_index,

    // Consumer index for the producer side
    output wire               cons_we,
    output wire [CQ_W-1:0]    cons_cq,
    output wire [IDX_W-1:0]   cons_index,
    output reg  [NUM_CQ-1:0]  dead,          // CQ is in its error state

    // Callbacks, one push port for each pipeline
    output reg                ev_pub_valid,
    output reg  [EV_W-1:0]    ev_pub_data,
    output reg                ev_db_valid,
    output reg  [EV_W-1:0]    ev_db_data,

    // Trace lanes 1 and 2
    output reg  [1:0]         trace_valid,
    output reg  [511:0]       trace_data
);

`include "cde_arm_state.vh"

    // A waiting control or moderation step takes a doorbell's slot after this many cycles: bounded both ways (ISO-04).
    localparam [3:0] PATIENCE = 4'd15;

    function [95:0] trace_state;
        input [ST_ACKP-1:0] s;
        begin
            trace_state = 96'd0;
            trace_state[10:0] = s[10:0];
            trace_state[11] = 1'b0 && s[ST_FROZEN];   // not part of the documented state
            trace_state[16 +: IDX_W] = s[ST_PROD +: IDX_W];
            trace_state[32 +: IDX_W] = s[ST_CONS +: IDX_W];
            trace_state[48 +: IDX_W] = s[ST_MARK +: IDX_W];
            trace_state[64 +: IDX_W] = s[ST_SOLP +: IDX_W];
            trace_state[80 +: IDX_W] = s[ST_MCNT +: IDX_W];
        end
    endfunction

    // ---------------------------------------------------------------- time
    localparam [31:0] LAST_CYCLE = MOD_TICK - 1;
    reg [15:0] prescale;
    reg [17:0] now;

    always @(posedge clk) begin
        if (prescale == LAST_CYCLE[15:0]) begin
            prescale <= 16'd0;
            now <= now + 18'd1;
        end else begin
            prescale <= prescale + 16'd1;
        end
        if (rst) begin
            prescale <= 16'd0;
            now <= 18'd0;
        end
    end

    // ---------------------------------------------------------------- moderation: look again at callbacks that wait
    reg [NUM_CQ-1:0] waiting;
    reg [CQ_W-1:0]   scan_cq;
    reg [3:0]        scan_age;
    reg [3:0]        ct_age;

    wire scan_want = waiting[scan_cq];
    wire scan_force = scan_want && scan_age == PATIENCE;
    wire ct_force = ct_valid && ct_age == PATIENCE;

    assign db_ready = !init && !ct_force && !scan_force;
    assign ct_ready = !init && (ct_force || (!db_valid && !scan_force));
    wire db_take = db_valid && db_ready;
    wire ct_take = ct_valid && ct_ready;
    wire scan_take = !init && scan_want && !db_take && !ct_take;

    always @(posedge clk) begin
        if (!scan_want || scan_take) begin
            scan_cq <= scan_cq + 1'b1;
            scan_age <= 4'd0;
        end else if (scan_age != PATIENCE) begin
            scan_age <= scan_age + 4'd1;
        end
        if (!ct_valid || ct_take) begin
            ct_age <= 4'd0;
        end else if (ct_age != PATIENCE) begin
            ct_age <= ct_age + 4'd1;
        end
        if (rst) begin
            scan_cq <= {CQ_W{1'b0}};
            scan_age <= 4'd0;
            ct_age <= 4'd0;
        end
    end

    // ---------------------------------------------------------------- stage A: addresses
    wire [CQ_W-1:0] dba_cq = db_take ? db_cq : ct_take ? ct_cq : scan_cq;

    // ---------------------------------------------------------------- stage C: operands
    reg               p_valid;
    reg [7:0]         p_op;
    reg [CQ_W-1:0]    p_cq;
    reg [1:0]         p_count;
    reg [1:0]         p_solicited;
    reg [1:0]         p_status;
    reg               p_give_up;
    reg [RETRY_W-1:0] p_retry;

    reg               d_valid;
    reg               d_host;
    reg               d_control;
    reg [7:0]         d_op;
    reg [7:0]         d_cause;
    reg [CQ_W-1:0]    d_cq;
    reg [11:0]        d_page;
    reg [IDX_W-1:0]   d_index;
    reg               d_arm;
    reg [1:0]         d_type;

    always @(posedge clk) begin
        p_valid <= pub_valid && !rst;
        p_op <= pub_op;
        p_cq <= pub_cq;
        p_count <= pub_count;
        p_solicited <= pub_solicited;
        p_status <= pub_status;
        p_give_up <= pub_give_up;
        p_retry <= pub_retry;
        d_valid <= (db_take || ct_take || scan_take) && !rst;
        d_host <= db_take;
        d_control <= ct_take;
        d_op <= db_take ? db_op : ct_take ? ct_op : `CDE_TRC_MODERATION;
        d_cause <= db_take ? db_cause : 8'h00;
        d_cq <= dba_cq;
        d_page <= db_page;
        d_index <= db_take ? db_index : ct_index;
        d_arm <= db_arm;
        d_type <= db_type;
    end

    // ---------------------------------------------------------------- memories
    wire [ST_W-1:0]  p_state;
    wire [ST_W-1:0]  d_state_mem;
    wire [ST_W-1:0]  p_result;
    wire [ST_W-1:0]  d_result;
    wire [CF_W-1:0]  p_settings;
    wire [CF_W-1:0]  d_settings;
    wire [IDX_W-1:0] d_written;
    wire             d_acts = d_valid && d_cause == 8'h00;

    cde_ram_2w #(.W(ST_W), .AW(CQ_W)) state_ram (
        .clk(clk),
        .we0(p_valid),
        .waddr0(p_cq),
        .wdata0(p_result),
        .we1(d_acts || init),
        .waddr1(init ? init_addr : d_cq),
        .wdata1(init ? {ST_W{1'b0}} : d_result),
        .raddr0(pub_cq),
        .rdata0(p_state),
        .raddr1(dba_cq),
        .rdata1(d_state_mem)
    );

    cde_ram #(.W(CF_W), .AW(CQ_W)) settings_pub_ram (
        .clk(clk), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(pub_cq), .rdata(p_settings)
    );

    cde_ram #(.W(CF_W), .AW(CQ_W)) settings_db_ram (
        .clk(clk), .we(cfg_we), .waddr(cfg_cq), .wdata(cfg_data), .raddr(dba_cq), .rdata(d_settings)
    );

    cde_ram #(.W(IDX_W), .AW(CQ_W)) written_ram (
        .clk(clk), .we(wr_we), .waddr(wr_cq), .wdata(wr_index), .raddr(dba_cq), .rdata(d_written)
    );

    // ---------------------------------------------------------------- stage C: the two steps, chained
    wire p_call;
    wire p_publishing;
    wire d_call;
    wire [7:0] d_cause_dyn;
    wire chained = p_valid && p_cq == d_cq;
    wire [ST_W-1:0] d_state = chained ? p_result : d_state_mem;

    cde_arm_pub #(.IDX_W(IDX_W), .ST_BITS(ST_W), .CF_BITS(CF_W)) pub_i (
        .op(p_op),
        .count(p_count),
        .solicited(p_solicited),
        .status(p_status),
        .give_up(p_give_up),
        .state(p_state),
        .settings(p_settings),
        .now(now),
        .publishing(p_publishing),
        .result(p_result),
        .call(p_call)
    );

    cde_arm_db #(.IDX_W(IDX_W), .ST_BITS(ST_W), .CF_BITS(CF_W)) db_i (
        .op(d_op),
        .from_host(d_host),
        .page(d_page),
        .index(d_index),
        .arm(d_arm),
        .arm_type(d_type),
        .written(d_written),
        .state(d_state),
        .settings(d_settings),
        .now(now),
        .cause(d_cause_dyn),
        .result(d_result),
        .call(d_call)
    );

    assign cons_we = d_acts || init;
    assign cons_cq = init ? init_addr : d_cq;
    assign cons_index = init ? {IDX_W{1'b0}} : d_result[ST_CONS +: IDX_W];

    wire p_retry_eqe = p_op == `CDE_TRC_EVENT_FAILED && !p_give_up;
    wire p_of_entries = p_op == `CDE_TRC_PUBLISH ||
                        (p_op == `CDE_TRC_CQ_ERROR && p_status == `CDE_CQST_INTERNAL_ERROR);
    wire p_traced = p_valid && (!p_of_entries || p_publishing);
    wire d_changed = d_result != d_state;
    wire d_traced = d_acts && d_cause_dyn == 8'h00 &&
                    (d_op == `CDE_TRC_DOORBELL || d_op == `CDE_TRC_CB_RETURN || d_op == `CDE_TRC_CREATE ||
                     d_op == `CDE_TRC_DESTROY || (d_op == `CDE_TRC_MODERATION && d_changed));

    // Callback record: retry data, retry, snap, status, EQ, CQ (see cde_event).
    wire [1:0] p_err = p_result[ST_ERR +: 2];
    wire [EV_W-1:0] p_event = {p_retry, p_retry_eqe, p_result[ST_PROD +: IDX_W],
                               p_retry_eqe && p_err == `CDE_CQST_OK ? `CDE_CQST_INTERNAL_ERROR : p_err,
                               p_settings[CF_EQ +: 8], {{(16-CQ_W){1'b0}}, p_cq}};
    wire [EV_W-1:0] d_event = {{RETRY_W{1'b0}}, 1'b0, d_result[ST_PROD +: IDX_W], d_result[ST_ERR +: 2],
                               d_settings[CF_EQ +: 8], {{(16-CQ_W){1'b0}}, d_cq}};

    reg [31:0] p_operand;
    reg [31:0] d_operand;

    always @* begin
        p_operand = 32'd0;
        if (p_op == `CDE_TRC_PUBLISH) p_operand[3:0] = {p_solicited, p_count};
        if (p_op == `CDE_TRC_CQ_ERROR) p_operand[3:0] = {p_count, p_status};
        if (p_op == `CDE_TRC_EVENT_FAILED) p_operand[0] = p_give_up;
        d_operand = 32'd0;
        if (d_op == `CDE_TRC_DOORBELL) begin
            d_operand[IDX_W-1:0] = d_index;
            d_operand[18:16] = {d_type, d_arm};
        end
        if (d_op == `CDE_TRC_CREATE) d_operand[1:0] = {d_settings[CF_REARM], d_settings[CF_TYPED]};
        if (d_op == `CDE_TRC_DESTROY) d_operand[0] = d_result[ST_LIFE +: 2] == `CDE_LIFE_FREE;
    end

    always @(posedge clk) begin
        ev_pub_valid <= p_valid && (p_call || p_retry_eqe) && !rst;
        ev_pub_data <= p_event;
        ev_db_valid <= d_acts && d_call && !rst;
        ev_db_data <= d_event;
        res_db_valid <= d_valid && d_host && !rst;
        res_db_cause <= d_cause != 8'h00 ? d_cause : d_cause_dyn;
        res_ct_valid <= d_valid && d_control && !rst;
        res_ct_state <= trace_state(d_result[ST_ACKP-1:0]);

        if (p_valid) begin
            waiting[p_cq] <= p_result[ST_DUE] && !p_result[ST_MATURE];
            if (p_result[ST_ERR +: 2] != `CDE_CQST_OK) dead[p_cq] <= 1'b1;
        end
        if (d_acts) begin
            waiting[d_cq] <= d_result[ST_DUE] && !d_result[ST_MATURE];
            if (d_op == `CDE_TRC_CREATE) dead[d_cq] <= 1'b0;
        end
        if (rst) begin
            waiting <= {NUM_CQ{1'b0}};
            dead <= {NUM_CQ{1'b0}};
        end

        trace_valid <= rst ? 2'b00 : {d_traced, p_traced};
        trace_data[7:0] <= p_op;
        trace_data[23:8] <= {{(16-CQ_W){1'b0}}, p_cq};
        trace_data[31:24] <= {5'd0, p_call ? p_err : 2'd0, p_call};
        trace_data[63:32] <= p_operand;
        trace_data[159:64] <= trace_state(p_state[ST_ACKP-1:0]);
        trace_data[255:160] <= trace_state(p_result[ST_ACKP-1:0]);
        trace_data[263:256] <= d_op;
        trace_data[279:264] <= {{(16-CQ_W){1'b0}}, d_cq};
        trace_data[287:280] <= {5'd0, d_call ? d_result[ST_ERR +: 2] : 2'd0, d_call};
        trace_data[319:288] <= d_operand;
        trace_data[415:320] <= trace_state(d_state[ST_ACKP-1:0]);
        trace_data[511:416] <= trace_state(d_result[ST_ACKP-1:0]);
    end

endmodule

`default_nettype wire
