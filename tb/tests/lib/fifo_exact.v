// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_fifo through its ports, cycle by cycle.
//
// Purpose: random words in phases that fill, drain, and keep the FIFO nearly full or nearly empty, with resets under
//          way, against a list. Compares both handshakes, the word that is offered and the level in each cycle. The
//          design may be the module or one of the netlist of mutants.
// Ports:   none. W, LOG2 (DEPTH_LOG2) and BYPASS as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module fifo_exact;
    parameter W = 70;
    parameter LOG2 = 2;
    parameter BYPASS = 0;
    `include "exact.vh"
    localparam N = 1 << LOG2;

    reg           push_valid = 1'b0, pop_ready = 1'b0;
    reg  [W-1:0]  push_data = 0;
    wire          push_ready, pop_valid;
    wire [W-1:0]  pop_data;
    wire [LOG2:0] level;
    integer       i, pushes, pops;

    `DUT dut (
        .clk(clk), .rst(rst), .push_valid(push_valid), .push_ready(push_ready), .push_data(push_data),
        .pop_valid(pop_valid), .pop_ready(pop_ready), .pop_data(pop_data), .level(level) `SELECT
    );

    // ---------------------------------------------------------------- the model: a list, its first word at `first`
    reg  [W-1:0] words [0:N-1];
    integer      first, count;
    reg          accepts, offers;
    reg  [W-1:0] offered;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: %0d words, %b %b level %0d word %h, want %b %b word %h", what, $time, count,
            push_ready, pop_valid, level,
                     pop_data, accepts, offers, offered);
            $finish;
        end
    endtask

    task cycle;
        begin
            #1;
            accepts = count < N;
            offers = count != 0 || (BYPASS != 0 && push_valid);
            offered = count != 0 ? words[first] : push_data;
            if (push_ready !== accepts) wrong("push_ready");
            if (pop_valid !== offers) wrong("pop_valid");
            if (offers && pop_data !== offered) wrong("word");
            if (level !== count) wrong("level");
            if (push_valid && accepts) begin
                words[(first + count) % N] = push_data;
                count = count + 1;
            end
            if (offers && pop_ready) begin
                first = (first + 1) % N;
                count = count - 1;
            end
            if (rst) count = 0;
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(10000);
        {first, count} = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            // Chances of eight; a phase is long enough to fill or to drain.
            if (n % (2 * N + 40) == 0) begin
                pushes = below(9);
                pops = below(9);
            end
            push_valid = below(8) < pushes;
            pop_ready = below(8) < pops;
            for (i = 0; i < W; i = i + 32) push_data = {push_data, $random(seed)};
            rst = below(256) == 0;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
