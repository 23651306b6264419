// SPDX-License-Identifier: Apache-2.0
// arm_monitor: compares the arm pipeline, seen at its inputs and its trace port, with arm_spec for one CQ.
//
// Purpose: every accepted operation on the CQ is kept for as long as the pipeline takes, then done to the specification's state, publication first. The
//          trace must show exactly the steps that the specification takes, with its states before and after, and its callbacks; the
//          doorbell port must get its causes.
// Ports:   inputs of cde_arm as they are accepted, its results and trace lanes; state of the specification.
// Latency: compares five cycles after the acceptance of an operation.
`default_nettype none
`include "cde_defs.vh"

module arm_monitor #(
    parameter CQ_W = 1,
    parameter IDX_W = 4,
    parameter CF_W = 40 + IDX_W,
    parameter S_W = 12 + 4 * IDX_W + (2 << IDX_W)
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [CQ_W-1:0]  cq,

    input  wire             pub_valid,
    input  wire [7:0]       pub_op,
    input  wire [CQ_W-1:0]  pub_cq,
    input  wire [1:0]       pub_count,
    input  wire [1:0]       pub_solicited,
    input  wire [1:0]       pub_quiet,
    input  wire [1:0]       pub_status,
    input  wire             pub_give_up,
    input  wire             db_take,
    input  wire [7:0]       db_op,
    input  wire [7:0]       db_cause,
    input  wire [CQ_W-1:0]  db_cq,
    input  wire [11:0]      db_page,
    input  wire [IDX_W-1:0] db_index,
    input  wire             db_arm,
    input  wire [1:0]       db_type,
    input  wire             ct_take,
    input  wire [7:0]       ct_op,
    input  wire [CQ_W-1:0]  ct_cq,
    input  wire [IDX_W-1:0] ct_index,
    input  wire             cfg_we,
    input  wire [CQ_W-1:0]  cfg_cq,
    input  wire [CF_W-1:0]  cfg_data,
    input  wire [IDX_W-1:0] written,     // after the step of this cycle
    input  wire             res_db_valid,
    input  wire [7:0]       res_db_cause,
    input  wire [1:0]       trace_valid,
    input  wire [511:0]     trace_data,

    output reg  [S_W-1:0]   s,           // the specification's state, before this cycle's steps
    output wire [S_W-1:0]   s_next,
    output wire             p_call,
    output wire             d_call
);

    localparam P_W = 19;
    localparam D_W = 36 + 2 * IDX_W;
    localparam LAST = 4;

    // ---------------------------------------------------------------- settings as they are when an operation is accepted
    reg  [15:0] settings;       // page 12, moderated, rearm, typed
    wire [15:0] new_settings = {1'b0, cfg_data[CF_W-1 -: 12], cfg_data[2] || cfg_data[3], cfg_data[1:0]};
    wire [15:0] now_settings = cfg_we && cfg_cq == cq ? new_settings : settings;
    always @(posedge clk) settings <= now_settings;
    initial settings = 16'd0;

    // ---------------------------------------------------------------- operations on their way
    reg [P_W-1:0] p [0:LAST];
    reg [D_W-1:0] d [0:LAST];
    integer k;
    initial for (k = 0; k <= LAST; k = k + 1) begin
        p[k] = {P_W{1'b0}};
        d[k] = {D_W{1'b0}};
    end

    always @(posedge clk) begin
        p[0] <= {pub_op, pub_count, pub_solicited, pub_quiet, pub_status, pub_give_up, now_settings[2],
                 pub_valid && pub_cq == cq && !rst};
        d[0] <= {written, db_take ? db_index : ct_index, db_take ? db_op : ct_op, db_take ? db_cause : 8'h00, db_page == now_settings[14:3], db_arm, db_type,
                 now_settings[2:0], db_take, (db_take ? db_cq == cq : ct_take && ct_cq == cq) && !rst};
        for (k = 1; k <= LAST; k = k + 1) begin
            p[k] <= rst ? {P_W{1'b0}} : p[k-1];
            d[k] <= rst ? {D_W{1'b0}} : d[k-1];
        end
    end

    // The same as vectors, for invariants
    wire [5*P_W-1:0] p_line = {p[4], p[3], p[2], p[1], p[0]};
    wire [5*D_W-1:0] d_line = {d[4], d[3], d[2], d[1], d[0]};

    wire            p_valid, p_give_up, p_moderated;
    wire [7:0]      p_op;
    wire [1:0]      p_count, p_solicited, p_quiet, p_status;
    assign {p_op, p_count, p_solicited, p_quiet, p_status, p_give_up, p_moderated, p_valid} = p[LAST];

    wire             d_valid, d_host, d_owner, d_arm, d_moderated, d_rearm, d_typed;
    wire [7:0]       d_op, d_cause_in;
    wire [1:0]       d_type;
    wire [IDX_W-1:0] d_index, d_written;
    assign {d_written, d_index, d_op, d_cause_in, d_owner, d_arm, d_type, d_moderated, d_rearm, d_typed, d_host, d_valid} = d[LAST];

    // ---------------------------------------------------------------- what the trace says
    wire [255:0] t_p = trace_data[255:0];
    wire [255:0] t_d = trace_data[511:256];
    wire         t_p_valid = trace_valid[0] && t_p[23:8] == cq;
    wire         t_d_valid = trace_valid[1] && t_d[23:8] == cq;
    // A look of the moderation timer is no operation of a port; what it may do is judged here, when it comes is not.
    wire         look = t_d_valid && t_d[7:0] == `CDE_TRC_MODERATION;
    reg          look_moderated;        // settings five cycles ago, whatever was accepted
    reg [4:0]    history;
    always @(posedge clk) history <= {history[3:0], now_settings[2]};
    always @* look_moderated = history[LAST];

    // ---------------------------------------------------------------- the specification
    wire [S_W-1:0] s_mid;
    wire           p_traced, d_traced;
    wire [7:0]     unused_p_cause, d_cause;

    arm_spec #(.IDX_W(IDX_W)) publication (
        .s(s), .n(s_mid), .valid(p_valid), .op(p_op), .count(p_count), .solicited(p_solicited), .quiet(p_quiet), .status(p_status),
        .give_up(p_give_up), .host(1'b0), .cause_in(8'h00), .owner(1'b1), .index({IDX_W{1'b0}}), .arm(1'b0), .arm_type(2'd0),
        .written({IDX_W{1'b0}}), .typed(1'b0), .rearm(1'b0), .moderated(p_moderated), .let_pass(1'b0),
        .call(p_call), .cause(unused_p_cause), .traced(p_traced)
    );

    arm_spec #(.IDX_W(IDX_W)) doorbell (
        .s(s_mid), .n(s_next), .valid(d_valid || look), .op(d_valid ? d_op : `CDE_TRC_MODERATION), .count(2'd0), .solicited(2'd0),
        .quiet(2'd0), .status(2'd0), .give_up(1'b0), .host(d_host), .cause_in(d_cause_in), .owner(d_owner), .index(d_index),
        .arm(d_arm), .arm_type(d_type), .written(d_written), .typed(d_typed), .rearm(d_rearm),
        .moderated(d_valid ? d_moderated : look_moderated), .let_pass(t_d[169] || t_d[24]), .call(d_call), .cause(d_cause), .traced(d_traced)
    );

    initial s = {S_W{1'b0}};
    always @(posedge clk) s <= rst ? {S_W{1'b0}} : s_next;

    // ---------------------------------------------------------------- comparison: the state as the trace shows it
    function [95:0] shown;
        input [S_W-1:0] x;
        reg [1:0]       life, err, kind;
        reg             frozen, armed, busy, due, released, eqe;
        reg [IDX_W-1:0] prod, cons, mark, answered, at, gap;
        reg [(1<<IDX_W)-1:0] is_new, is_sol;
        integer         i;
        begin
            {is_sol, is_new, answered, mark, cons, prod, eqe, released, due, busy, kind, armed, frozen, err, life} = x;
            shown = 96'd0;
            if (life != `CDE_LIFE_FREE) begin
                shown[10:0] = {eqe, released, due, busy, kind, armed, err, life};
                shown[16 +: IDX_W] = prod;
                shown[32 +: IDX_W] = cons;
                shown[48 +: IDX_W] = mark;
                shown[64 +: IDX_W] = mark;
                // Behind the newest entry that is present, new and solicited
                for (i = 0; i < (1 << (IDX_W - 2)); i = i + 1) begin
                    at = mark + i;
                    gap = prod - mark;
                    if (!gap[IDX_W-1] && i < gap && is_new[at] && is_sol[at]) shown[64 +: IDX_W] = at + 1'b1;
                end
            end
        end
    endfunction

    reg         was_res_valid;
    reg [7:0]   was_res_cause;
    reg         started = 1'b0;
    always @(posedge clk) begin
        was_res_valid <= res_db_valid && !rst;
        was_res_cause <= res_db_cause;
        if (rst) started <= 1'b1;
    end

    always @(posedge clk) if (started && !rst) begin
        p_step_is_traced: assert (t_p_valid == (p_valid && p_traced));
        if (t_p_valid) begin
            p_operation: assert (t_p[7:0] == p_op);
            p_before: assert (t_p[143:64] == shown(s));
            p_after: assert (t_p[239:160] == shown(s_mid));
            p_calls: assert (t_p[24] == p_call);
            p_status_called: assert (!p_call || t_p[26:25] == s_mid[3:2]);
        end
        d_step_is_traced: assert (look || t_d_valid == (d_valid && d_traced));
        d_never_twice: assert (!(look && d_valid));
        if (t_d_valid) begin
            d_operation: assert (look || t_d[7:0] == d_op);
            d_before: assert (t_d[143:64] == shown(s_mid));
            d_after: assert (t_d[239:160] == shown(s_next));
            d_calls: assert (t_d[24] == d_call);
            d_status_called: assert (!d_call || t_d[26:25] == s_next[3:2]);
        end
        if (d_valid && d_host) d_cause_told: assert (was_res_valid && was_res_cause == d_cause);
    end

endmodule

`default_nettype wire
