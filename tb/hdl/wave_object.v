// SPDX-License-Identifier: Apache-2.0
//
// For the waves only: the steps of one object of each kind, and with them its state. +wave_cq=N, +wave_qp=N,
// +wave_srq=N give their numbers, +wave_key=N bits 11:0 of a key (docs/windows.md); 0 without.
// How fields are shown: wave_decode.v.
`default_nettype none
`include "cde_defs.vh"
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
    wire [15:0]  take_number = take[`CDE_TRACE_CQ_LSB +: 16], post_number = post[`CDE_TRACE_CQ_LSB +: 16];
    wire         for_qp = take[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_TAKE;
    wire         post_shared = post[`CDE_TRACE_OP_LSB +: 8] == `CDE_TRC_REAP ||
                               post[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_RECV_POST_SHARED_LSB];
    // A request takes a buffer of the SRQ for a QP; a watermark command names the SRQ.
    wire         takes_srq = for_qp ? take[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SHARED_LSB] &&
                                      take[`CDE_TRACE_OPERAND_LSB + `CDE_TRC_TAKE_SRQ_LSB +: 16] == srq_number
                                    : take_number == srq_number;
    wire [31:0]  key_8_now = trace_data[8*256 + `CDE_TRACE_NEW_LSB + `CDE_KSTATE_KEY_LSB +: 32]; // 0: of no object
    wire [31:0]  key_9_now = trace_data[9*256 + `CDE_TRACE_NEW_LSB + `CDE_KSTATE_KEY_LSB +: 32];
    wire         key_8 = trace_valid[8] && key_8_now != 32'd0 && key_8_now[11:0] == key_number[11:0];
    wire         key_9 = trace_valid[9] && key_9_now != 32'd0 && key_9_now[11:0] == key_number[11:0];

    wave_cq cq (
        .clk(clk), .rst(rst), .number(cq_number), .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0])
    );
    wave_posting qp_post (
        .clk(clk), .rst(rst), .valid(trace_valid[3] && trace_data[3*256 + `CDE_TRACE_CQ_LSB +: 16] == qp_number),
        .data(trace_data[3*256 +: 256])
    );
    wave_retire qp_retire (
        .clk(clk), .rst(rst), .valid(trace_valid[4] && trace_data[4*256 + `CDE_TRACE_CQ_LSB +: 16] == qp_number),
        .data(trace_data[4*256 +: 256])
    );
    wave_taking qp_take (
        .clk(clk), .rst(rst), .valid(trace_valid[5] && for_qp && take_number == qp_number),
        .data(take)
    );
    wave_recv_post qp_recv (
        .clk(clk), .rst(rst), .valid(trace_valid[6] && !post_shared && post_number == qp_number), .data(post)
    );
    wave_receive qp_report (
        .clk(clk), .rst(rst), .valid(trace_valid[7] && trace_data[7*256 + `CDE_TRACE_CQ_LSB +: 16] == qp_number),
        .data(trace_data[7*256 +: 256])
    );
    wave_taking srq_take (.clk(clk), .rst(rst), .valid(trace_valid[5] && takes_srq), .data(take));
    wave_recv_post srq_post (
        .clk(clk), .rst(rst), .valid(trace_valid[6] && post_shared && post_number == srq_number), .data(post)
    );
    wave_key key (
        .clk(clk), .rst(rst), .valid(key_8 || key_9),
        .data(key_8 ? trace_data[8*256 +: 256] : trace_data[9*256 +: 256])
    );
endmodule

`default_nettype wire
