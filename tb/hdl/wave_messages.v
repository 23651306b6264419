// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: beats between engine and transport as fields with names of their own (docs/posting.md,
// docs/receive.md). How fields are shown: wave_decode.v.
`default_nettype none
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
    wire         any, is_local, ends;
    wire [127:0] q;
    wire [6:0]   zero;
    wire [15:0]  qp, index, tag;
    wire [23:0]  peer;

    wave_hold #(.W(209)) hold (
        .clk(clk), .rst(rst), .valid(valid), .data({last, user, dest, post}), .any(any),
        .q({ends, zero, is_local, peer, index, tag, qp, q})
    );

    wire [8:0]  opcode = {!any, q[7:0]};
    wire [63:0] request = q[127:64];
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

    wire [15:0] qp = q[15:0];
    wire        solicited = any && q[16];
    wire        invalidate = any && q[17];
    wire [31:0] length = q[63:32];
    wire [31:0] token = q[95:64];
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
    wire [15:0]  qp, tag;
    wire [6:0]   zero;
    wire [3:0]   zero_4, answer;
    wire         shared;

    wave_hold #(.W(432)) hold (
        .clk(clk), .rst(rst), .valid(valid), .data({user, dest, list}), .any(any),
        .q({tag, zero, shared, zero_4, answer, qp, q})
    );

    wire [4:0]  code = {!any, answer};
    wire [63:0] address_0 = q[63:0];
    wire [31:0] bytes_0 = q[95:64];
    wire [31:0] bytes_1 = q[223:192];
    wire [31:0] bytes_2 = q[351:320];
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

    wire [15:0] qp = q[15:0];
    wire [15:0] tag = q[31:16];
    wire [8:0]  status = {!any, q[39:32]};
endmodule

`default_nettype wire
