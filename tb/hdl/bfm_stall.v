// SPDX-License-Identifier: Apache-2.0
//
// Random stalls of one channel. `stall` holds for one cycle with probability cfg[7:0]/256, for ever while cfg[8] is
// set. A new seed in cfg[63:32] restarts the random numbers, so that a run can be repeated.
`default_nettype none
`timescale 1ns / 1ps

module bfm_stall #(
    parameter CH = 1 // makes channels with the same seed differ
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [63:0] cfg,
    output wire        stall
);
    reg [31:0] rnd;
    reg [31:0] seed;

    function [31:0] step(input [31:0] x);
        reg [31:0] a;
        reg [31:0] b;
        begin
            a = x ^ (x << 13);
            b = a ^ (a >> 17);
            step = b ^ (b << 5);
        end
    endfunction

    assign stall = cfg[8] || (rnd[15:8] < cfg[7:0]);

    initial begin
        seed = 32'd0;
        rnd = 32'h9e3779b9 ^ (CH * 32'h01000193);
    end

    always @(posedge clk) begin
        if (cfg[63:32] != seed) begin
            seed <= cfg[63:32];
            rnd <= step(32'h9e3779b9 ^ (CH * 32'h01000193) ^ {cfg[63:33], 1'b0});
        end else if (!rst && cfg[7:0] != 8'd0)
            rnd <= step(rnd);
    end
endmodule

`default_nettype wire
