// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: the steps of one object of each kind, and with them its state. +wave_cq=N, +wave_qp=N,
// +wave_srq=N give their numbers, +wave_key=N bits 11:0 of a key (docs/windows.md); 0 without.
// How fields are shown: wave_decode.v.
`default_nettype none
`timescale 1ns / 1ps

module wave_object (
    input wire          clk,
    input wire          rst,
    input wire [9:0]    trace_valid,
    input wire [2559:0] trace_data
);
    reg [15:0] cq_number, qp_number, srq_number, key_number;

    initial begin
        if (!$value$plusargs("wave_cq=%d", cq_number)) cq_number = 16'd0;
        if (!$value$plusargs("wave_qp=%d", qp_number)) qp_number = 16'd0;
        if (!$value$plusargs("wave_srq=%d", srq_number)) srq_number = 16'd0;
        if (!$value$plusargs("wave_key=%d", key_number)) key_number = 16'd0;
    end

    wire [255:0] take = trace_data[5*256 +: 256];
    wire [255:0] post = trace_data[6*256 +: 256];
    wire         take_shared = take[7:0] == 8'h50 && take[36];
    wire         post_shared = post[7:0] == 8'h59 || post[40];
    // A request takes a buffer of the SRQ for a QP; a watermark command names the SRQ.
    wire         takes_srq = take[7:0] == 8'h50 ? take_shared && take[63:48] == srq_number : take[23:8] == srq_number;
    wire [31:0]  key_8_now = trace_data[8*256+160 +: 32], key_9_now = trace_data[9*256+160 +: 32]; // 0: of no object
    wire         key_8 = trace_valid[8] && key_8_now != 32'd0 && key_8_now[11:0] == key_number[11:0];
    wire         key_9 = trace_valid[9] && key_9_now != 32'd0 && key_9_now[11:0] == key_number[11:0];

    wave_cq cq (
        .clk(clk), .rst(rst), .number(cq_number), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0])
    );
    wave_posting qp_post (
        .clk(clk), .rst(rst), .valid(trace_valid[3] && trace_data[3*256+8 +: 16] == qp_number),
        .data(trace_data[3*256 +: 256])
    );
    wave_retire qp_retire (
        .clk(clk), .rst(rst), .valid(trace_valid[4] && trace_data[4*256+8 +: 16] == qp_number),
        .data(trace_data[4*256 +: 256])
    );
    wave_taking qp_take (
        .clk(clk), .rst(rst), .valid(trace_valid[5] && take[7:0] == 8'h50 && take[23:8] == qp_number),
        .data(take)
    );
    wave_recv_post qp_recv (
        .clk(clk), .rst(rst), .valid(trace_valid[6] && !post_shared && post[23:8] == qp_number), .data(post)
    );
    wave_receive qp_report (
        .clk(clk), .rst(rst), .valid(trace_valid[7] && trace_data[7*256+8 +: 16] == qp_number),
        .data(trace_data[7*256 +: 256])
    );
    wave_taking srq_take (.clk(clk), .rst(rst), .valid(trace_valid[5] && takes_srq), .data(take));
    wave_recv_post srq_post (
        .clk(clk), .rst(rst), .valid(trace_valid[6] && post_shared && post[23:8] == srq_number), .data(post)
    );
    wave_key key (
        .clk(clk), .rst(rst), .valid(key_8 || key_9),
        .data(key_8 ? trace_data[8*256 +: 256] : trace_data[9*256 +: 256])
    );
endmodule

`default_nettype wire
