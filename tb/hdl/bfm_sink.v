// SPDX-License-Identifier: Apache-2.0
//
// Takes one valid/ready channel: `ready` is random and does not depend on valid (see bfm_stall), and 0 while `full`.
`default_nettype none
`timescale 1ns / 1ps

module bfm_sink #(
    parameter CH = 1
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] cfg,
    input  wire        full,
    output reg         ready
);
    wire stall;

    bfm_stall #(.CH(CH)) u_stall (.clk(clk), .rst(rst), .cfg(cfg), .stall(stall));

    initial ready = 1'b0;

    always @(posedge clk) ready <= !rst && !stall && !full;
endmodule

`default_nettype wire
