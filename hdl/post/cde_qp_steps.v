// SPDX-License-Identifier: Apache-2.0
// cde_qp_steps: steps of queue pairs' states, and the ends of connections.
//
// Purpose: gives failing reports, connection events and the command of cde_qp_ctrl their slots of the posting pipeline,
//          in this order. Tells the transport when a connection is to end.
// Ports:   failing reports (fail_*, rfail_*, kfail_*), s_axis_conn, a command's step (cmd_*), whether keys are valid on
//          its QP, state steps (op_*) and their outcome (opr_*), m_axis_term, error report.
// Latency: what asks in cycle t and is first has the slot of t+1; that it was taken is told then. A terminate request
//          follows its outcome by one cycle.
`default_nettype none
`include "cde_defs.vh"

module cde_qp_steps #(
    parameter NUM_QP = 64,
    parameter QP_W = 6
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,

    input  wire [31:0]       s_axis_conn_tdata,
    input  wire              s_axis_conn_tvalid,
    output wire              s_axis_conn_tready,
    output wire [31:0]       m_axis_term_tdata,
    output wire              m_axis_term_tvalid,
    input  wire              m_axis_term_tready,

    input  wire              fail_valid,     // sends: at once
    input  wire [QP_W-1:0]   fail_qp,
    input  wire              rfail_valid,    // receives
    output wire              rfail_ready,
    input  wire [QP_W-1:0]   rfail_qp,
    input  wire              rfail_pending,
    input  wire              kfail_valid,    // local requests
    output wire              kfail_ready,
    input  wire [QP_W-1:0]   kfail_qp,

    input  wire              cmd_asks,
    input  wire              cmd_connects,
    input  wire [3:0]        cmd_code,
    input  wire [QP_W-1:0]   cmd_qp,
    output reg               cmd_taken,
    input  wire              keys_held,      // something is valid on cmd_qp

    output reg               op_valid,       // out of registers: what else wants the slot waits for it
    output wire              op_void,        // nothing is done in it
    output reg  [3:0]        op_code,
    output reg  [QP_W-1:0]   op_qp,
    input  wire              opr_valid,
    input  wire [3:0]        opr_code,
    input  wire [QP_W-1:0]   opr_qp,
    input  wire [3:0]        opr_old, opr_new,

    output wire              err_valid,
    output wire [7:0]        err_cause,
    output wire [15:0]       err_qp
);

    `include "cde_post_ops.vh"

    // ---------------------------------------------------------------- who steps
    wire        conn_valid, conn_take, conn_push_ready, unused_term_room;
    wire [31:0] conn;
    wire [1:0]  unused_conn_level;
    wire [QP_W+1:0] term_level;
    reg  [1:0]  conn_pause;
    wire        conn_bad = (conn[`CDE_CONN_QP_LSB +: 16] >> QP_W) != 16'd0 || (conn & `CDE_CONN_RESERVED) != 32'd0 ||
                           conn[`CDE_CONN_EVENT_LSB +: 8] != `CDE_CONNEVENT_DISCONNECTED;
    wire        conn_missed = opr_valid && opr_code == OP_CONN && opr_old == `CDE_QPS_FREE;

    assign s_axis_conn_tready = conn_push_ready && !init;

    cde_fifo #(.W(32), .DEPTH_LOG2(1)) conn_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_axis_conn_tvalid && !init), .push_ready(conn_push_ready), .push_data(s_axis_conn_tdata),
        .pop_valid(conn_valid), .pop_ready(conn_take), .pop_data(conn), .level(unused_conn_level)
    );

    // Every QP has a place for its terminate request, and NUM_QP earlier ones have theirs: only a new connection may
    // have to wait. Connection events, one in four cycles, leave room for posts.
    wire conn_asks = conn_valid && !conn_bad && conn_pause == 2'd0;
    // A failing receive of the connection before belongs to it: it goes first.
    wire cmd_may = !cmd_connects || ({{(30-QP_W){1'b0}}, term_level} < NUM_QP && !rfail_pending);
    // That one is taken is told a cycle later: whether a report fails is known late.
    reg  kfail_taken, rfail_taken, conn_taken;
    wire kfails = kfail_valid && !kfail_taken, rfails = rfail_valid && !rfail_taken;
    wire fails = fail_valid || kfails || rfails;

    assign {kfail_ready, rfail_ready} = {kfail_taken, rfail_taken};
    wire cmd_steps = cmd_asks && !cmd_taken && cmd_may && !fails && !conn_asks;
    // One report a cycle: a malformed event waits for that of one that found no QP.
    assign conn_take = conn_valid && (conn_bad ? !conn_missed : conn_taken);
    // Judged in the slot, since a window may be bound while the command waits: a QP is not freed under it.
    assign op_void = op_valid && op_code == OP_DESTROY && keys_held;

    // Low from power-up, before any clock edge.
    initial op_valid = 1'b0;
    always @(posedge clk) begin
        op_valid <= !rst && (fails || conn_asks || cmd_steps);
        op_code <= fails ? OP_FAIL : conn_asks ? OP_CONN : cmd_code;
        op_qp <= fail_valid ? fail_qp : kfails ? kfail_qp : rfails ? rfail_qp : conn_asks ?
                 conn[`CDE_CONN_QP_LSB +: QP_W] : cmd_qp;
        kfail_taken <= kfails && !fail_valid && !rst;
        rfail_taken <= rfails && !fail_valid && !kfails && !rst;
        conn_taken <= conn_asks && !fails && !rst;
        cmd_taken <= cmd_steps && !rst;
        conn_pause <= conn_asks && !fails ? 2'd3 : conn_pause != 2'd0 ? conn_pause - 2'd1 : 2'd0;
        if (rst) conn_pause <= 2'd0;
    end

    // ---------------------------------------------------------------- what the steps did
    wire was_up = opr_old == `CDE_QPS_CONNECTED || opr_old == `CDE_QPS_DISCONNECT_PENDING;
    wire is_up = opr_new == `CDE_QPS_CONNECTED || opr_new == `CDE_QPS_DISCONNECT_PENDING;
    wire [3:0] term_state = opr_code == OP_DESTROY ? `CDE_QPS_ERROR : opr_new;
    wire [QP_W+3:0] term;

    cde_fifo #(.W(QP_W + 4), .DEPTH_LOG2(QP_W + 1)) term_fifo (
        .clk(clk), .rst(rst),
        .push_valid(opr_valid && was_up && !is_up), .push_ready(unused_term_room), .push_data({term_state, opr_qp}),
        .pop_valid(m_axis_term_tvalid), .pop_ready(m_axis_term_tready), .pop_data(term), .level(term_level)
    );

    assign m_axis_term_tdata[`CDE_TERM_QP_LSB +: 16] = {{(16-QP_W){1'b0}}, term[QP_W-1:0]};
    assign m_axis_term_tdata[31:`CDE_TERM_STATE_LSB] = {12'd0, term[QP_W +: 4]};
    assign err_valid = (conn_valid && conn_bad) || conn_missed;
    assign err_cause = conn_missed ? `CDE_CAUSE_CONN_NO_QP : `CDE_CAUSE_DONE_BAD;
    assign err_qp = conn_missed ? {{(16-QP_W){1'b0}}, opr_qp} : conn[`CDE_CONN_QP_LSB +: 16];

endmodule

`default_nettype wire
