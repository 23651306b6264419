// SPDX-License-Identifier: Apache-2.0
// cde_qp_state: what a step makes of the state of a QP (DF-05, DF-08, DF-15).
//
// Purpose: the table of states and steps, as posting.md has it.
// Ports:   the step, a cycle ahead (en, code, target); state and whether the QP is empty; the next state, whether it is
//          another one, and what that means: leaves CONNECTED, begins a connection, takes posts (next_up), receive
//          posts (next_open) or no more of them (closes), is gone (freed, destroyed: being destroyed, too); result of a
//          command.
// Latency: combinational from the state.
`default_nettype none
`include "cde_defs.vh"

module cde_qp_state (
    input  wire       clk,
    input  wire       en,
    input  wire [3:0] code,
    input  wire [3:0] target,       // OP_SET: new state

    input  wire [3:0] state,
    input  wire       empty,
    output wire [3:0] next,
    output wire       changes,
    output wire       leaves,
    output wire       fresh,
    output wire       next_up,
    output wire       next_open,
    output wire       closes,
    output wire       freed,
    output wire       destroyed,
    output wire [7:0] result
);

    `include "cde_post_ops.vh"

    wire set_pend = code == OP_SET && target == `CDE_QPS_DISCONNECT_PENDING;
    wire set_close = code == OP_SET && target == `CDE_QPS_DISCONNECTED;
    wire fail = code == OP_FAIL || code == OP_FLUSH;
    reg  c_create, c_connect, c_set, c_pend, c_close, c_idle, c_flush, c_fail, c_destroy, c_leaves;

    always @(posedge clk) begin
        c_create <= en && code == OP_CREATE;
        c_connect <= en && code == OP_CONNECT;
        c_set <= en && code == OP_SET;
        c_pend <= en && set_pend;
        c_close <= en && (set_close || code == OP_CONN);
        c_idle <= en && code == OP_SET && target == `CDE_QPS_IDLE;
        c_flush <= en && code == OP_FLUSH;
        c_fail <= en && fail;
        c_destroy <= en && code == OP_DESTROY;
        c_leaves <= en && (code == OP_CREATE || set_pend || set_close || code == OP_CONN || fail || code == OP_DESTROY);
    end

    wire connected = state == `CDE_QPS_CONNECTED;
    wire up = connected || state == `CDE_QPS_DISCONNECT_PENDING;
    wire idle = state == `CDE_QPS_IDLE;
    wire ended = state == `CDE_QPS_DISCONNECTED || state == `CDE_QPS_ERROR;

    wire to_idle = c_create || (c_idle && ended && empty);
    wire to_connected = c_connect && idle;
    wire to_pending = c_pend && connected;
    wire to_disconnected = c_close && up;
    wire to_error = c_fail && up;
    wire to_free = c_destroy && empty;
    wire to_destroying = c_destroy && !empty;
    wire stays = !(to_idle || to_connected || to_pending || to_disconnected || to_error || c_destroy);

    // At most one is set.
    assign next = ({4{stays}} & state) | ({4{to_idle}} & `CDE_QPS_IDLE) | ({4{to_connected}} & `CDE_QPS_CONNECTED) |
                  ({4{to_pending}} & `CDE_QPS_DISCONNECT_PENDING) | ({4{to_disconnected}} & `CDE_QPS_DISCONNECTED) |
                  ({4{to_error}} & `CDE_QPS_ERROR) | ({4{to_free}} & `CDE_QPS_FREE) |
                  ({4{to_destroying}} & `CDE_QPS_DESTROYING);
    assign changes = (to_idle && !idle) || to_connected || to_pending || to_disconnected || to_error ||
                     (to_free && state != `CDE_QPS_FREE) || (to_destroying && state != `CDE_QPS_DESTROYING);
    assign leaves = connected && c_leaves;
    assign fresh = to_connected;
    assign next_up = to_connected || to_pending;
    assign next_open = next_up || to_idle;
    assign closes = ((c_close || c_fail) && up) || (c_destroy && (up || idle));
    assign freed = to_free;
    assign destroyed = c_destroy;

    wire bad_set = c_set && !to_pending && !to_disconnected && !(c_idle && ended);
    wire bad = (c_connect && !idle) || bad_set || (c_flush && !up && !ended);

    assign result = bad ? `CDE_RES_BAD_STATE : c_idle && !empty ? `CDE_RES_BUSY : to_destroying ? `CDE_RES_PENDING :
                    `CDE_RES_OK;

endmodule

`default_nettype wire
