// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: steps of the trace lanes of posting, receiving and windows as fields with names of their own
// (docs/posting.md, docs/receive.md, docs/windows.md).
// How fields are shown: wave_decode.v.
`default_nettype none
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

    wire [8:0]  op = {!any, q[7:0]};
    wire [15:0] cq = q[23:8];
    wire        called = valid && q[24];
    wire [31:0] operand = q[63:32];
    wave_state was (.valid(any), .state(q[159:64]));
    wave_state becomes (.valid(any), .state(q[255:160]));
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

    wire        post = any && q[7:0] == 8'h30;
    wire [8:0]  op = {!any, q[7:0]};
    wire [15:0] qp = q[23:8];
    wire [8:0]  cause = {!post, {8{post}} & q[39:32]};
    wire [8:0]  opcode = {!post, {8{post}} & q[47:40]};
    wire [15:0] flags = {16{post}} & q[63:48];
    wire [4:0]  was_state = {!any, q[67:64]};
    wire [15:0] was_tail = q[95:80];
    wire [15:0] was_released = q[111:96];
    wire [4:0]  state = {!any, q[163:160]};
    wire [15:0] tail = q[191:176];
    wire [15:0] released = q[207:192];
    wire [15:0] retired = q[223:208];
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

    wire [15:0] qp = q[23:8];
    wire [8:0]  status = {!any, q[39:32]};
    wire        silent = q[40];
    wire        skipped = q[41];
    wire [15:0] cq = q[63:48];
    wire [15:0] retired = q[175:160];
    wire        failed = q[176];
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

    wire        take = any && q[7:0] == 8'h50;
    wire [8:0]  op = {!any, q[7:0]};
    wire [15:0] number = q[23:8];
    wire        not_ready = take && q[32];
    wire        shared = take && q[36];
    wire        flush = take && q[37];
    wire        watermark_event = any && (take ? q[38] : q[48]);
    wire [15:0] srq = {16{take}} & q[63:48];
    wire [15:0] taken = q[175:160];
    wire [15:0] head = q[191:176];
    wire [15:0] tail = q[207:192];
    wire [15:0] reported = q[223:208];
    wire [15:0] watermark = q[239:224];
    wire        armed = q[240];
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

    wire        post = any && q[7:0] == 8'h58;
    wire [8:0]  op = {!any, q[7:0]};
    wire [15:0] number = q[23:8];
    wire [8:0]  cause = {!post, {8{post}} & q[39:32]};
    wire        shared = any && (q[40] || q[7:0] == 8'h59);
    wire [15:0] tail = q[175:160];
    wire [15:0] freed = q[191:176];
    wire [15:0] size = q[207:192];
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

    wire [15:0] qp = q[23:8];
    wire [8:0]  status = {!any, q[39:32]};
    wire        shared = q[40];
    wire        flush = q[41];
    wire [15:0] cq = q[63:48];
    wire [15:0] reported = q[175:160];
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

    wire        request = any && (q[7:0] == 8'h70 || q[7:0] == 8'h71 || q[7:0] == 8'h72);
    wire        check = any && q[7:0] == 8'h73;
    wire [8:0]  op = {!any, q[7:0]};
    wire [15:0] qp = q[23:8];
    wire [8:0]  status = {!request, {8{request}} & q[39:32]};
    wire [1:0]  by = {2{request && op[1]}} & q[41:40]; // a Read, the peer
    wire [4:0]  verdict = {!check, {4{check}} & q[35:32]};
    wire [1:0]  kind = {2{check}} & q[49:48];
    wire [8:0]  command = any && q[7:0] == 8'h74 ? {1'b0, q[39:32]} : 9'h100;
    wire        was_valid = q[96];
    wire [31:0] key = q[191:160];
    wire        is_valid = q[192];
    wire        exists = q[193];
    wire        allocated = q[194];
    wire [12:0] windows = q[207:195];
    wire [15:0] bound_to = q[223:208];
    wire [2:0]  rights = q[226:224];
    wire [11:0] region = q[238:227];
endmodule

`default_nettype wire
