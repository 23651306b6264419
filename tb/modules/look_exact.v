// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_arm_look through its ports, cycle by cycle.
//
// Purpose: CQs that wait and that do not, looks that are taken late, callbacks that end in each of their cycles, with resets under way, against
//          a walk written as a sequence: of each CQ in turn first its bit, then a look, then, if that found it ripe and nothing ended it, a second
//          look. Compares the requests and where the walk is in each cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W as parameter of the bench (NUM_CQ is 1 << CQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module look_exact;
    parameter CQ_W = 3;
    `include "exact.vh"
    localparam N = 1 << CQ_W;
    // Cycles from a look that is taken to its outcome.
    localparam FLIGHT = 6;

    reg  [N-1:0]    waiting = 0;
    reg             look_taken = 1'b0, ripe_now = 1'b0, ended = 1'b0;
    wire            look_valid, look_ripe, between;
    wire [CQ_W-1:0] look_cq;
    integer         k, few;

    `DUT dut (
        .clk(clk), .rst(rst), .waiting(waiting), .look_valid(look_valid), .look_taken(look_taken), .look_cq(look_cq), .look_ripe(look_ripe),
        .between(between), .ripe_now(ripe_now), .ended(ended) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg             asks = 1'b0, stands = 1'b0;     // a look is requested; nothing ended the callback since the first one
    reg  [CQ_W-1:0] at = 0;
    reg             second = 1'b0, flies = 1'b0;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: look %b at %0d ripe %b; want %b at %0d, %b", what, $time, look_valid, look_cq, look_ripe, asks, at,
                     second && stands);
            $finish;
        end
    endtask

    // One cycle with random inputs, which stay as they are until the next one.
    task cycle;
        begin
            edge_of_clock;
            if (n % 512 == 0) few = below(4);
            for (k = 0; k < N; k = k + 1) waiting[k] = below(4) < few;
            look_taken = below(3) == 0;
            ripe_now = below(4) != 0;
            ended = below(16) == 0;
            rst = n % 700 == 699;
            n = n + 1;
            #1;
            if (look_valid !== asks) wrong("request");
            if (look_cq !== at) wrong("CQ");
            if (asks && look_ripe !== (second && stands)) wrong("second look");
            if (between !== (second ? asks : flies)) wrong("between the looks");
            if (n >= cycles) begin
                passed;
            end
        end
    endtask

    // A look: requested until it is taken, then on its way. `stands` is 0 if the callback ended meanwhile.
    task look;
        integer flight;
        begin
            asks = 1'b1;
            cycle;
            while (!look_taken && !rst) begin
                if (ended) stands = 1'b0;
                cycle;
            end
            asks = 1'b0;
            {stands, flies} = {!second, 1'b1};
            for (flight = 0; flight < FLIGHT && !rst; flight = flight + 1) begin
                cycle;
                if (ended) stands = 1'b0;
            end
            flies = 1'b0;
        end
    endtask

    initial begin
        few = 2;
        set_up(30000);
        rst = 1'b1;
        forever begin
            if (rst) {asks, at} = 0;
            cycle;
            if (!rst) begin
                cycle;
                if (!rst && waiting[at]) begin
                    {second, stands} = 2'b00;
                    look;
                    if (!rst && stands && ripe_now) begin
                        second = 1'b1;
                        look;
                    end
                end
                if (!rst) at = at + 1'b1;
            end
        end
    end

endmodule

`default_nettype wire
