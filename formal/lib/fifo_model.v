// SPDX-License-Identifier: Apache-2.0
// fifo_model: what cde_fifo promises, as a list; stands in for it in proofs of what uses it.
//
// Purpose: the words inside, oldest first, and their number; no pointers, no output register. What pop_data says of an
//          empty FIFO is free. That cde_fifo keeps this promise is proven: fifo_list, fifo_list_bypass, where the
//          module has another name (macro CDE_FIFO).
// Ports:   those of cde_fifo.
// Latency: that of cde_fifo.
`default_nettype none
`ifndef CDE_FIFO
`define CDE_FIFO cde_fifo
`endif

module `CDE_FIFO #(
    parameter W = 8,
    parameter DEPTH_LOG2 = 1,
    parameter [0:0] BYPASS = 1'b0
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  push_valid,
    output wire                  push_ready,
    input  wire [W-1:0]          push_data,
    output wire                  pop_valid,
    input  wire                  pop_ready,
    output wire [W-1:0]          pop_data,
    output reg  [DEPTH_LOG2:0]   level
);

    localparam ROOM = 1 << DEPTH_LOG2;

    (* anyseq *) reg [W-1:0] anything;
    reg [W*ROOM-1:0]         words;
    reg [W*ROOM-1:0]         left;          // when the oldest has gone
    reg [DEPTH_LOG2:0]       count;

    wire direct = BYPASS && level == 0 && push_valid;
    wire push = push_valid && push_ready && !(direct && pop_ready);
    wire pop = level != 0 && pop_ready;

    assign push_ready = level != ROOM;
    assign pop_valid = level != 0 || direct;
    assign pop_data = level != 0 ? words[W-1:0] : direct ? push_data : anything;

    always @* begin
        left = pop ? words >> W : words;
        count = level - pop;
        if (push) left[count * W +: W] = push_data;
    end

    always @(posedge clk) begin
        words <= left;
        level <= rst ? 0 : count + push;
    end

endmodule

`default_nettype wire
