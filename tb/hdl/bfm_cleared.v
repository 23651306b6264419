// SPDX-License-Identifier: Apache-2.0
//
// Check of the outputs while the design clears its memories: after the first edge of a reset, until as many edges
// without it as the deepest memory has words, no input is ready and no output valid, trace included. So it is from
// power-up to the first clock edge, where an unknown value is a fault, too. `violation`: [0] a ready, [1] a valid. A
// fault during the reset, where nothing is recorded, is told in the first cycle after it.
// Parameters: words of the memories of both top levels (CORE) and of cde_top alone (ENGINE), 32 bits each; `engine`
//             says which it is.
`default_nettype none
`timescale 1ns / 1ps

module bfm_cleared #(
    parameter READIES = 1,
    parameter VALIDS = 1,
    parameter CORES = 1,
    parameter ENGINES = 1,
    parameter [CORES*32-1:0] CORE = 0,
    parameter [ENGINES*32-1:0] ENGINE = 0
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               engine,
    input  wire [READIES-1:0] ready,
    input  wire [VALIDS-1:0]  valid,
    output wire [1:0]         violation
);
    reg [31:0] words;
    reg [31:0] left;    // cycles that are still quiet
    reg [1:0]  late;
    reg        fresh;   // no clock edge since power-up
    integer    i;

    // Later on a value that is unknown is no 1 here: bfm_known tells of it.
    wire [1:0] now = fresh ? {(|valid) !== 1'b0, (|ready) !== 1'b0}
                   : left == 32'd0 ? 2'd0 : {(|valid) === 1'b1, (|ready) === 1'b1};

    assign violation = now | late;

    always @* begin
        words = 32'd0;
        for (i = 0; i < CORES; i = i + 1)
            if (CORE[i*32 +: 32] > words) words = CORE[i*32 +: 32];
        for (i = 0; i < ENGINES; i = i + 1)
            if (engine && ENGINE[i*32 +: 32] > words) words = ENGINE[i*32 +: 32];
    end

    initial begin
        left = 32'd0;
        late = 2'd0;
        fresh = 1'b1;
    end

    always @(posedge clk) begin
        fresh <= 1'b0;
        left <= rst ? words : left - {31'd0, left != 32'd0};
        late <= rst ? late | now : 2'd0;
    end
endmodule

`default_nettype wire
