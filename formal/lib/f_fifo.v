// SPDX-License-Identifier: Apache-2.0
// f_fifo: proof of cde_fifo.
//
// Purpose: words leave in the order in which they came, none is lost or doubled, whatever both sides do; an offered
//          word stays until it is taken. One word carries a mark; where it must come out is counted. The order of any
//          two words follows, because the FIFO does not look at its data.
// Ports:   both sides, free.
// Latency: none.
`default_nettype none

module f_fifo #(
    parameter DEPTH_LOG2 = 2,
    parameter [0:0] BYPASS = 1'b0
) (
    input wire clk,
    input wire push_valid,
    input wire push_mark,
    input wire pop_ready
);

    reg started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;

    wire                push_ready, pop_valid, pop_mark;
    wire [DEPTH_LOG2:0] level;

    cde_fifo #(.W(1), .DEPTH_LOG2(DEPTH_LOG2), .BYPASS(BYPASS)) dut (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_ready(push_ready), .push_data(push_mark),
        .pop_valid(pop_valid), .pop_ready(pop_ready), .pop_data(pop_mark), .level(level)
    );

    axis_props #(.W(1)) out_i (
        .clk(clk), .rst(rst), .valid(pop_valid), .ready(pop_ready), .data(pop_mark)
    );

    // With BYPASS what is offered to an empty FIFO is on its output: there the port before it must obey the rules.
    axis_props #(.W(1), .MASTER(1'b0)) in_i (
        .clk(clk), .rst(rst), .valid(push_valid), .ready(push_ready), .data(push_mark)
    );

    wire push = push_valid && push_ready && !rst;
    wire pop = pop_valid && pop_ready && !rst;
    reg [DEPTH_LOG2:0] count = 0;       // words inside
    reg [DEPTH_LOG2:0] ahead = 0;       // words inside before the marked one
    reg                inside = 1'b0;
    reg                seen = 1'b0;

    always @(posedge clk) begin
        count <= count + push - pop;
        if (inside && pop) begin
            ahead <= ahead - 1'b1;
            if (ahead == 0) inside <= 1'b0;
        end
        if (push && push_mark) begin
            seen <= 1'b1;
            inside <= !(pop && count == 0);
            ahead <= count - pop;
        end
        if (seen) assume (!(push_valid && push_mark));
        if (started) begin
            level_counts: assert (level == count);
            bounded: assert (count <= (1 << DEPTH_LOG2));
            nothing_invented: assert (!pop || count != 0 || push);
            if (inside) order: assert (!pop || pop_mark == (ahead == 0));
            if (!inside && pop) only_once: assert (pop_mark == (count == 0 && push_mark));
            not_stuck: assert (pop_valid || count == 0);
        end
    end

endmodule

`default_nettype wire
