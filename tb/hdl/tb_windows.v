// SPDX-License-Identifier: Apache-2.0
//
// The checks of remote accesses in the harness: source of s_axis_check, sink of m_axis_verdict, its handshake check.
`default_nettype none
`timescale 1ns / 1ps

module tb_windows #(
    parameter CH_CHECK = 32,
    parameter CH_VERDICT = 33,
    parameter CFGS = 34,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [CFGS*64-1:0]     cfg,
    output wire                   check_valid,
    input  wire                   check_ready,
    output wire [191:0]           check_data,
    input  wire                   verdict_valid,
    output wire                   verdict_ready,
    input  wire [31:0]            verdict_data,
    output wire [2:0]             violations, // verdict: see bfm_stable
    output wire                   withhold,   // check: see bfm_waits
    output wire                   overflow
);
    bfm_source #(.CH(CH_CHECK), .W(192), .WORDS(3), .LD_WORDS(LD_WORDS)) u_check (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CHECK*64 +: 64]),
        .valid(check_valid), .ready(check_ready), .payload(check_data), .withhold(withhold),
        .overflow(overflow)
    );
    bfm_sink #(.CH(CH_VERDICT)) u_verdict (
        .clk(clk), .rst(rst), .cfg(cfg[CH_VERDICT*64 +: 64]), .full(1'b0), .ready(verdict_ready)
    );
    bfm_stable #(.W(32)) u_chk_verdict (
        .clk(clk), .rst(rst), .valid(verdict_valid), .ready(verdict_ready), .payload(verdict_data),
        .violation(violations)
    );
endmodule

`default_nettype wire
