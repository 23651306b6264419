// SPDX-License-Identifier: Apache-2.0
//
// Protocol check of one channel that the design drives: a valid stays until ready, with its payload; neither is
// unknown. `violation` tells it in the cycle of the fault: [0] valid fell, [1] payload changed, [2] unknown value.
`default_nettype none
`timescale 1ns / 1ps

module bfm_stable #(
    parameter W = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         valid,
    input  wire         ready,
    input  wire [W-1:0] payload,
    output reg  [2:0]   violation
);
    reg         waiting;
    reg [W-1:0] earlier;

    initial waiting = 1'b0;

    always @* begin
        violation = 3'b000;
        if (waiting) begin
            violation[0] = !valid;
            violation[1] = valid && payload != earlier;
        end
`ifndef VERILATOR
        if (!rst)
            violation[2] = valid === 1'bx || (valid === 1'b1 && ^payload === 1'bx);
`endif
    end

    always @(posedge clk) begin
        waiting <= !rst && valid && !ready;
        if (valid && !ready)
            earlier <= payload;
    end
endmodule

`default_nettype wire
