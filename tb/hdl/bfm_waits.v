// SPDX-License-Identifier: Apache-2.0
//
// Tells on which channels somebody was kept waiting for three cycles in a row, one bit per channel. `blocked`: valid
// was high and ready low, with ready seen high before, since the reset. `withheld`: a source of the harness had an item
// that was due, and its stalls kept it back. Both hold what was seen since the change of `toggle` before, the cycle of
// that change included; at the very next edge after it still what they held before.
// Latency: a bit is set after the edge of the third cycle.
`default_nettype none
`timescale 1ns / 1ps

module bfm_waits #(
    parameter N = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         toggle,
    input  wire [N-1:0] valid,
    input  wire [N-1:0] ready,
    input  wire [N-1:0] withhold,
    output reg  [N-1:0] blocked,
    output reg  [N-1:0] withheld
);
    reg           last;
    reg [N-1:0]   opened; // ready has been high
    reg [2*N-1:0] first;  // waits in the cycle before
    reg [2*N-1:0] second; // in the two before
    reg [2*N-1:0] fresh;  // seen in the cycle before, which the block handed over in it does not have
    wire [2*N-1:0] now = rst ? {2*N{1'b0}} : {withhold, valid & ~ready & opened};

    initial begin
        last = 1'b0;
        opened = 0;
        first = 0;
        second = 0;
        fresh = 0;
        blocked = 0;
        withheld = 0;
    end

    always @(posedge clk) begin
        last <= toggle;
        opened <= rst ? {N{1'b0}} : opened | ready;
        first <= now;
        second <= now & first;
        fresh <= now & second;
        {withheld, blocked} <= (toggle != last ? fresh : {withheld, blocked}) | (now & second);
    end
endmodule

`default_nettype wire
