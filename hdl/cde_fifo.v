// SPDX-License-Identifier: Apache-2.0
// cde_fifo: first-word-fall-through FIFO with a registered output; with DEPTH_LOG2 = 1 also the register slice of every input port.
//
// Purpose: decouple two sides of a handshake. No combinational path from pop_* to push_*, pop_data straight from flip-flops.
// Ports:   push side (push_valid, push_ready, push_data), pop side (pop_valid, pop_ready, pop_data), fill level.
// Latency: a word pushed in cycle t is on pop_data in cycle t+1. One word per cycle for any DEPTH_LOG2 >= 1.
`default_nettype none

module cde_fifo #(
    parameter W = 8,            // bits of a word
    parameter DEPTH_LOG2 = 1    // log2 of the number of words
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire                  push_valid,
    output wire                  push_ready,
    input  wire [W-1:0]          push_data,

    output reg                   pop_valid,
    input  wire                  pop_ready,
    output reg  [W-1:0]          pop_data,

    output reg  [DEPTH_LOG2:0]   level
);

    localparam [DEPTH_LOG2:0] ONE = {{DEPTH_LOG2{1'b0}}, 1'b1};

    reg [W-1:0] mem [0:(1 << DEPTH_LOG2) - 1];
    reg [DEPTH_LOG2:0] wr_ptr;
    reg [DEPTH_LOG2:0] rd_ptr;

    wire push = push_valid && push_ready;
    wire pop = pop_valid && pop_ready;
    wire load = !pop_valid || pop;
    wire stored = wr_ptr != rd_ptr;

    assign push_ready = !level[DEPTH_LOG2];

    always @(posedge clk) begin
        if (push && !(load && !stored)) begin
            mem[wr_ptr[DEPTH_LOG2-1:0]] <= push_data;
            wr_ptr <= wr_ptr + ONE;
        end
        if (load) begin
            pop_valid <= stored || push;
            pop_data <= stored ? mem[rd_ptr[DEPTH_LOG2-1:0]] : push_data;
            if (stored) rd_ptr <= rd_ptr + ONE;
        end
        if (push && !pop) level <= level + ONE;
        if (pop && !push) level <= level - ONE;
        if (rst) begin
            wr_ptr <= {(DEPTH_LOG2 + 1){1'b0}};
            rd_ptr <= {(DEPTH_LOG2 + 1){1'b0}};
            level <= {(DEPTH_LOG2 + 1){1'b0}};
            pop_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
