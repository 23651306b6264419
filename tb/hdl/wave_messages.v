// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: beats between engine and transport as fields with names of their own (docs/posting.md,
// docs/receive.md). How fields are shown: wave_decode.v.
`default_nettype none
`include "cde_defs.vh"
`timescale 1ns / 1ps

// One request on its way to the transport.
module wave_work (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [15:0]  dest,
    input wire [63:0]  user,
    input wire         last,
    input wire [127:0] post
);
    wire         any, ends;
    wire [127:0] q;
    wire [63:0]  u;
    wire [15:0]  qp;

    wave_hold #(.W(209)) hold (
        .clk(clk), .rst(rst), .valid(valid), .data({last, user, dest, post}), .any(any), .q({ends, u, qp, q})
    );

    wire        is_local = u[`CDE_WORK_USER_LOCAL_LSB];
    wire [23:0] peer = u[`CDE_WORK_USER_PEER_LSB +: 24];
    wire [15:0] index = u[`CDE_WORK_USER_INDEX_LSB +: 16];
    wire [15:0] tag = u[`CDE_WORK_USER_TAG_LSB +: 16];
    wire [8:0]  opcode = {!any, q[`CDE_POST_OPCODE_LSB +: 8]};
    wire [63:0] request = q[`CDE_POST_CONTEXT_LSB +: 64];
endmodule

// A message that has arrived for a QP.
module wave_arrival (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [127:0] data
);
    wire         any;
    wire [127:0] q;

    wave_hold #(.W(128)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [15:0] qp = q[`CDE_RREQ_QP_LSB +: 16];
    wire        solicited = any && q[`CDE_RREQ_SOLICITED_LSB];
    wire        invalidate = any && q[`CDE_RREQ_INVALIDATE_LSB];
    wire [31:0] length = q[`CDE_RREQ_LENGTH_LSB +: 32];
    wire [31:0] token = q[`CDE_RREQ_TOKEN_LSB +: 32];
endmodule

// The answer to it.
module wave_scatter (
    input wire         clk,
    input wire         rst,
    input wire         valid,
    input wire [15:0]  dest,
    input wire [31:0]  user,
    input wire [383:0] list
);
    wire         any;
    wire [383:0] q;
    wire [31:0]  u;
    wire [15:0]  qp;

    wave_hold #(.W(432)) hold (
        .clk(clk), .rst(rst), .valid(valid), .data({user, dest, list}), .any(any), .q({u, qp, q})
    );

    wire [15:0] tag = u[`CDE_SCATTER_USER_TAG_LSB +: 16];
    wire        shared = u[`CDE_SCATTER_USER_SRQ_LSB];
    wire [4:0]  code = {!any, u[`CDE_SCATTER_USER_CODE_LSB +: 4]};
    wire [63:0] address_0 = q[`CDE_SEGMENT_ADDRESS_LSB +: 64];
    wire [31:0] bytes_0 = q[`CDE_SEGMENT_LENGTH_LSB +: 32];
    wire [31:0] bytes_1 = q[128 + `CDE_SEGMENT_LENGTH_LSB +: 32];
    wire [31:0] bytes_2 = q[256 + `CDE_SEGMENT_LENGTH_LSB +: 32];
endmodule

// A taken buffer is reported.
module wave_report (
    input wire        clk,
    input wire        rst,
    input wire        valid,
    input wire [63:0] data
);
    wire        any;
    wire [63:0] q;

    wave_hold #(.W(64)) hold (.clk(clk), .rst(rst), .valid(valid), .data(data), .any(any), .q(q));

    wire [15:0] qp = q[`CDE_RDONE_QP_LSB +: 16];
    wire [15:0] tag = q[`CDE_RDONE_TAG_LSB +: 16];
    wire [8:0]  status = {!any, q[`CDE_RDONE_STATUS_LSB +: 8]};
endmodule

`default_nettype wire
