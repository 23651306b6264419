// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: steps of the trace lanes of posting, receiving and windows as fields with names of their own
// (docs/posting.md, docs/receive.md, docs/windows.md).
// How fields are shown: wave_decode.v.
`default_nettype none
`include "cde_defs.vh"
`timescale 1ns / 1ps

// One lane of the trace port.
module wave_lane (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [8:0]  op = {!any, q[`CDE_TRACE_OP_LSB +: 8]};
    wire [15:0] cq = q[`CDE_TRACE_CQ_LSB +: 16];
    wire        called = valid && q[`CDE_TRACE_EVENT_LSB];
    wire [31:0] operand = q[`CDE_TRACE_OPERAND_LSB +: 32];
    wave_state was (.valid(any), .state(q[`CDE_TRACE_OLD_LSB +: 96]));
    wave_state becomes (.valid(any), .state(q[`CDE_TRACE_NEW_LSB +: 96]));
endmodule

// Lane 3 of the trace port: steps of queue pairs.
module wave_posting (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire        post = any && q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_POST;
    wire [8:0]  op = {!any, q[`CDE_TRACE_OP_LSB +: 8]};
    wire [15:0] qp = q[`CDE_TRACE_CQ_LSB +: 16];
    wire [8:0]  cause = {!post, {8{post}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_CAUSE_LSB +: 8]};
    wire [8:0]  opcode = {!post, {8{post}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_OPCODE_LSB +: 8]};
    wire [15:0] flags = {16{post}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_POST_FLAGS_LSB +: 16];
    wire [4:0]  was_state = {!any, q[`CDE_TRACE_OLD_LSB + `CDE_QSTATE_STATE_LSB +: 4]};
    wire [15:0] was_tail = q[`CDE_TRACE_OLD_LSB + `CDE_QSTATE_TAIL_LSB +: 16];
    wire [15:0] was_released = q[`CDE_TRACE_OLD_LSB + `CDE_QSTATE_RELEASED_LSB +: 16];
    wire [4:0]  state = {!any, q[`CDE_TRACE_NEW_LSB + `CDE_QSTATE_STATE_LSB +: 4]};
    wire [15:0] tail = q[`CDE_TRACE_NEW_LSB + `CDE_QSTATE_TAIL_LSB +: 16];
    wire [15:0] released = q[`CDE_TRACE_NEW_LSB + `CDE_QSTATE_RELEASED_LSB +: 16];
    wire [15:0] retired = q[`CDE_TRACE_NEW_LSB + `CDE_QSTATE_RETIRED_LSB +: 16];
endmodule

// Lane 4 of the trace port: retirement.
module wave_retire (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [15:0] qp = q[`CDE_TRACE_CQ_LSB +: 16];
    wire [8:0]  status = {!any, q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_STATUS_LSB +: 8]};
    wire        silent = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SILENT_LSB];
    wire        skipped = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_SKIPPED_LSB];
    wire [15:0] cq = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RETIRE_CQ_LSB +: 16];
    wire [15:0] retired = q[`CDE_TRACE_NEW_LSB + `CDE_RSTATE_RETIRED_LSB +: 16];
    wire        failed = q[`CDE_TRACE_NEW_LSB + `CDE_RSTATE_FAILED_LSB];
endmodule

// Lane 5 of the trace port: taking of buffers.
module wave_taking (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire        take = any && q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_TAKE;
    wire [8:0]  op = {!any, q[`CDE_TRACE_OP_LSB +: 8]};
    wire [15:0] number = q[`CDE_TRACE_CQ_LSB +: 16];
    wire        not_ready = take && q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_CODE_LSB];
    wire        shared = take && q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SHARED_LSB];
    wire        flush = take && q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_FLUSH_LSB];
    wire        watermark_event = any && (take ? q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_EVENT_LSB]
                                              : q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_WATERMARK_EVENT_LSB]);
    wire [15:0] srq = {16{take}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SRQ_LSB +: 16];
    wire [15:0] taken = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_TAKEN_LSB +: 16];
    wire [15:0] head = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_HEAD_LSB +: 16];
    wire [15:0] tail = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_TAIL_LSB +: 16];
    wire [15:0] reported = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_REPORTED_LSB +: 16];
    wire [15:0] watermark = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_WATERMARK_LSB +: 16];
    wire        armed = q[`CDE_TRACE_NEW_LSB + `CDE_TSTATE_ARMED_LSB];
endmodule

// Lane 6 of the trace port: receive posts.
module wave_recv_post (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire        post = any && q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_RECV_POST;
    wire [8:0]  op = {!any, q[`CDE_TRACE_OP_LSB +: 8]};
    wire [15:0] number = q[`CDE_TRACE_CQ_LSB +: 16];
    wire [8:0]  cause = {!post, {8{post}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_POST_CAUSE_LSB +: 8]};
    wire        shared = any && (q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_POST_SHARED_LSB] ||
                                q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_REAP);
    wire [15:0] tail = q[`CDE_TRACE_NEW_LSB + `CDE_BSTATE_TAIL_LSB +: 16];
    wire [15:0] freed = q[`CDE_TRACE_NEW_LSB + `CDE_BSTATE_FREED_LSB +: 16];
    wire [15:0] size = q[`CDE_TRACE_NEW_LSB + `CDE_BSTATE_SIZE_LSB +: 16];
endmodule

// Lane 7 of the trace port: receive completions.
module wave_receive (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;

    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [15:0] qp = q[`CDE_TRACE_CQ_LSB +: 16];
    wire [8:0]  status = {!any, q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_STATUS_LSB +: 8]};
    wire        shared = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_SHARED_LSB];
    wire        flush = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_FLUSH_LSB];
    wire [15:0] cq = q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECEIVE_CQ_LSB +: 16];
    wire [15:0] reported = q[`CDE_TRACE_NEW_LSB + `CDE_CSTATE_REPORTED_LSB +: 16];
endmodule

// Lanes 8 and 9 of the trace port: steps of regions and windows, checks of remote accesses.
module wave_key (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [255:0] data
);
    wire         any;
    wire [255:0] q;
    wave_hold #(.W(256)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire        request = any && (q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_BIND ||
        q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_FAST_REGISTER || q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_INVALIDATE);
    wire        check = any && q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_CHECK;
    wire [8:0]  op = {!any, q[`CDE_TRACE_OP_LSB +: 8]};
    wire [15:0] qp = q[`CDE_TRACE_CQ_LSB +: 16];
    wire [8:0]  status = {!request, {8{request}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_STATUS_LSB +: 8]};
    wire [1:0]  by = {2{request && op[1]}} &    // a Read, the peer
        {q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_READ_LSB],
         q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_INVALIDATE_PEER_LSB]};
    wire [4:0]  verdict = {!check, {4{check}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_CODE_LSB +: 4]};
    wire [1:0]  kind = {2{check}} & q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_CHECK_KIND_LSB +: 2];
    wire [8:0]  command = any && q[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_KEY_COMMAND ?
        {1'b0, q[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_KEY_COMMAND_COMMAND_LSB +: 8]} : 9'h100;
    wire        was_valid = q[`CDE_TRACE_OLD_LSB + `CDE_KSTATE_VALID_LSB];
    wire [31:0] key = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_KEY_LSB +: 32];
    wire        is_valid = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_VALID_LSB];
    wire        exists = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_EXISTS_LSB];
    wire        allocated = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_ALLOCATED_LSB];
    wire [12:0] windows = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_WINDOWS_LSB +: 13];
    wire [15:0] bound_to = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_QP_LSB +: 16];
    wire [2:0]  rights = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_RIGHTS_LSB +: 3];
    wire [11:0] region = q[`CDE_TRACE_NEW_LSB + `CDE_KSTATE_REGION_LSB +: 12];
endmodule

`default_nettype wire
