// SPDX-License-Identifier: Apache-2.0
//
// Check of what has no handshake: outputs that are never unknown after reset (`signals`), and trace lanes, whose valids are never
// unknown, nor their data while valid. `violation` tells it in the cycle of the fault; a two-state simulator sees none.
`default_nettype none
`timescale 1ns / 1ps

module bfm_known #(
    parameter W = 1,
    parameter LANES = 1,
    parameter LANE_W = 1
) (
    input  wire                    rst,
    input  wire [W-1:0]            signals,
    input  wire [LANES-1:0]        lane_valid,
    input  wire [LANES*LANE_W-1:0] lane_data,
    output reg                     violation
);
    integer i;

    always @* begin
        violation = 1'b0;
`ifndef VERILATOR
        if (!rst) begin
            violation = ^signals === 1'bx || ^lane_valid === 1'bx;
            for (i = 0; i < LANES; i = i + 1)
                if (lane_valid[i] === 1'b1 && ^lane_data[i*LANE_W +: LANE_W] === 1'bx)
                    violation = 1'b1;
        end
`endif
    end

    wire unused_ok = &{1'b0, rst, signals, lane_valid, lane_data};
endmodule

`default_nettype wire
