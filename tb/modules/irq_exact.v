// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_irq through its ports, cycle by cycle.
//
// Purpose: requests of few EQs and of many beside vectors of others, in the cycles in which they are sent and created, with a sink that stalls, vectors
//          that change, and resets under way, against the set of EQs that wait and who had the last beat. Compares the beat, when others are taken, and
//          that their beat has left. The design may be the module or one of the netlist of mutants.
// Ports:   none. EQ_W as parameter of the bench (NUM_EQ is 1 << EQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module irq_exact;
    parameter EQ_W = 3;
    `include "exact.vh"
    localparam N = 1 << EQ_W;

    reg             clear = 1'b0, set = 1'b0, xirq_valid = 1'b0, tready = 1'b0;
    reg  [EQ_W-1:0] clear_eq = 0, set_eq = 0;
    reg  [15:0]     xirq_vector = 16'd0;
    wire            xirq_ready, xirq_sent, tvalid;
    wire [15:0]     tdata;
    wire [EQ_W-1:0] lookup_eq;
    reg  [15:0]     vector [0:N-1];

    `DUT dut (
        .clk(clk), .rst(rst), .clear(clear), .clear_eq(clear_eq), .set(set), .set_eq(set_eq), .lookup_eq(lookup_eq),
        .lookup_vector(vector[lookup_eq]), .xirq_valid(xirq_valid), .xirq_ready(xirq_ready), .xirq_sent(xirq_sent), .xirq_vector(xirq_vector),
        .m_axis_irq_tdata(tdata), .m_axis_irq_tvalid(tvalid), .m_axis_irq_tready(tready) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [N-1:0] waits;
    reg          beat, others;       // there is one; it is (or the last one was) of others
    reg  [15:0]  sent;
    reg          turn_of_others;
    integer      newest, at, k, busy, stall, quiet;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: beat %b %h, others %b %b; want %b %h, waiting %h", what, $time, tvalid, tdata, xirq_ready, xirq_sent, beat,
                     sent, waits);
            $finish;
        end
    endtask

    task random_inputs;
        begin
            if (n % 64 == 0) begin
                busy = below(6);
                stall = below(4);
                quiet = below(5);
            end
            set = below(5) < busy;
            set_eq = below(4) == 0 ? newest : $random(seed);
            clear = below(16) == 0;
            clear_eq = below(4) == 0 ? set_eq : $random(seed);
            tready = below(4) >= stall;
            // What is offered stays until it is taken.
            if (!xirq_valid) begin
                xirq_valid = below(4) < quiet;
                xirq_vector = $random(seed);
            end
            vector[below(N)] = $random(seed);
            rst = below(300) == 0;
        end
    endtask

    task cycle;
        begin
            #1;
            if (tvalid !== beat) wrong("beat");
            if (beat && tdata !== sent) wrong("vector");
            if (xirq_sent !== (beat && others && tready)) wrong("beat that left");
            turn_of_others = (!beat || tready) && xirq_valid && (waits == 0 || !others);
            if (xirq_ready !== turn_of_others) wrong("others");
            if (turn_of_others) begin
                {beat, others} = 2'b11;
                sent = xirq_vector;
            end else if (waits != 0 && (!beat || tready)) begin
                at = (newest + 1) % N;
                while (!waits[at]) at = (at + 1) % N;
                newest = at;
                waits[at] = 1'b0;
                {beat, others} = 2'b10;
                sent = vector[at];
            end else if (tready) beat = 1'b0;
            if (clear) waits[clear_eq] = 1'b0;
            if (set) waits[set_eq] = 1'b1;
            if (rst) begin
                waits = 0;
                newest = 0;
                {beat, others} = 2'b00;
            end
            edge_of_clock;
            if (turn_of_others || rst) xirq_valid = 1'b0;
        end
    endtask

    initial begin
        set_up(30000);
        for (k = 0; k < N; k = k + 1) vector[k] = $random(seed);
        waits = 0;
        {beat, others} = 2'b00;
        newest = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            random_inputs;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
