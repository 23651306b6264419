// SPDX-License-Identifier: Apache-2.0
//
// Check of what has no handshake: outputs that are never unknown after reset (`signals`), and trace lanes, whose valids
// are never unknown, nor their data while valid. `violation` tells it in the cycle of the fault; a two-state simulator
// sees none.
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
    output wire                    violation
);
`ifdef VERILATOR
    assign violation = 1'b0;
    wire unused_ok = &{1'b0, rst, signals, lane_valid, lane_data};
`else
    reg     unknown;
    integer i;

    assign violation = unknown;

    always @* begin
        unknown = 1'b0;
        if (!rst) begin
            unknown = ^signals === 1'bx || ^lane_valid === 1'bx;
            for (i = 0; i < LANES; i = i + 1)
                if (lane_valid[i] === 1'b1 && ^lane_data[i*LANE_W +: LANE_W] === 1'bx)
                    unknown = 1'b1;
        end
    end
`endif
endmodule

`default_nettype wire
