// SPDX-License-Identifier: Apache-2.0
// cde_key_trace: lane 8 of the trace port.
//
// Purpose: puts a step of the key table into the documented form (docs/windows.md, "Trace").
// Ports:   the step that was decided in the cycle before: code, QP, number of the entry, whether it counts and changes
//          the entry, the entry before and after; trace lane.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"
`include "cde_key_records.vh"

module cde_key_trace #(
    parameter QP_W = 6,
    parameter MR_W = 6
) (
    input  wire              valid,
    input  wire [3:0]        code,
    input  wire [QP_W-1:0]   qp,
    input  wire [11:0]       number,
    input  wire              counts,         // of a request
    input  wire              changes,
    input  wire              exists,
    input  wire              creates,
    input  wire [7:0]        status,
    input  wire [11:0]       windows,
    input  wire [`CDE_KEY_WORD_W-1:0] old,
    input  wire [`CDE_KEY_WORD_W-1:0] next,

    output wire              trace_valid,
    output reg  [255:0]      trace_data
);

    `include "cde_key_state.vh"

    function [95:0] shown;
        input [KW-1:0] e;
        input [11:0]   n;
        input [11:0]   count;
        begin
            shown = 96'd0;
            shown[`CDE_KSTATE_KEY_LSB +: 32] = {e[`CDE_KEY_WORD_GENERATION +: 20], n};
            shown[`CDE_KSTATE_VALID_LSB] = e[`CDE_KEY_WORD_VALID];
            shown[`CDE_KSTATE_EXISTS_LSB] = e[`CDE_KEY_WORD_EXISTS];
            shown[`CDE_KSTATE_ALLOCATED_LSB] = e[`CDE_KEY_WORD_ALLOC];
            if (!n[11]) shown[`CDE_KSTATE_WINDOWS_LSB +: 12] = count;
            shown[`CDE_KSTATE_QP_LSB +: QP_W] = e[`CDE_KEY_WORD_QP +: QP_W];
            shown[`CDE_KSTATE_RIGHTS_LSB +: 3] = e[`CDE_KEY_WORD_RIGHTS +: 3];
            if (n[11]) shown[`CDE_KSTATE_REGION_LSB +: MR_W] = e[`CDE_KEY_WORD_REGION +: MR_W];
        end
    endfunction

    // Operand of KEY_COMMAND: the command's code.
    wire [7:0] command = code == KEY_REGISTER ? `CDE_CMD_REGISTER_MR : code == KEY_ALLOC ? `CDE_CMD_ALLOC_MR :
                                  code == KEY_DEREGISTER ? `CDE_CMD_DEREGISTER_MR :
                                  code == KEY_CREATE ? `CDE_CMD_CREATE_MW : `CDE_CMD_CLOSE_MW;
    wire       requests = code >= KEY_BIND;
    wire       binds = code == KEY_BIND, fast = code == KEY_FAST, removes = code == KEY_REMOVE;
    wire       shows = !removes && !(binds && !number[11]) && !(fast && number[11]);

    assign trace_valid = valid && (requests ? counts : changes || removes);

    always @* begin
        trace_data = 256'd0;
        trace_data[`CDE_TRACE_OP_LSB +: 8] = binds ? `CDE_TRC_BIND : fast ? `CDE_TRC_FAST_REGISTER :
            requests ? `CDE_TRC_INVALIDATE : removes ? `CDE_TRC_REMOVED : `CDE_TRC_KEY_COMMAND;
        trace_data[`CDE_TRACE_CQ_LSB +: 16] = requests ? {{(16-QP_W){1'b0}}, qp} : 16'hFFFF;
        if (binds) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_BIND_STATUS_LSB +: 8] = status;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_BIND_WINDOW_LSB +: 11] = number[10:0];
        end else if (fast) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_FAST_REGISTER_STATUS_LSB +: 8] = status;
        end else if (requests) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_STATUS_LSB +: 8] = status;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_PEER_LSB] = code == KEY_PEER;
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_READ_LSB] = code == KEY_READ;
        end else if (!removes) begin
            trace_data[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_KEY_COMMAND_COMMAND_LSB +: 8] = command;
        end
        trace_data[`CDE_TRACE_OLD_LSB +: 96] = exists && shows ? shown(old, number, windows) : 96'd0;
        trace_data[`CDE_TRACE_NEW_LSB +: 96] = (exists || creates) && shows ? shown(next, number, windows) :
                                               96'd0;
    end

endmodule

`default_nettype wire
