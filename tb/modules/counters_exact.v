// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_counters through its ports.
//
// Purpose: increments of every size of many counters in a cycle, causes in and out of range, bits inverted in the same cycles, with resets under way,
//          against a list of numbers. Compares every counter, one in each cycle and all in turns, and all of them after a reset. The design may be the
//          module or one of the netlist of mutants.
// Ports:   none. Defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module counters_exact;
    `include "exact.vh"
    localparam N = 58;
    localparam CAUSES = 16;
    localparam RECEIVES = 48;
    localparam LOST = 11;

    reg  [44:0] step = 45'd0;
    reg  [3:0]  lost = 4'd0;
    reg  [19:0] recv_step = 20'd0;
    reg         cause_valid = 1'b0, flip = 1'b0;
    reg  [7:0]  cause = 8'd0;
    reg  [9:0]  flip_counter = 10'd0, flip_bit = 10'd0;
    reg  [5:0]  select = 6'd0;
    wire [31:0] value;

    `DUT dut (
        .clk(clk), .rst(rst), .step(step), .lost(lost), .recv_step(recv_step), .cause_valid(cause_valid), .cause(cause), .flip(flip),
        .flip_counter(flip_counter), .flip_bit(flip_bit), .select(select), .value(value) `SELECT
    );

    reg  [31:0] number [0:N-1];
    integer     k, busy;

    task compare;
        input integer which;
        begin
            select = which;
            #1;
            if (value !== number[which]) begin
                $display("wrong: counter %0d at %0t: %h, want %h", which, $time, value, number[which]);
                $finish;
            end
        end
    endtask

    task random_inputs;
        begin
            if (n % 64 == 0) busy = below(4);
            {step, recv_step} = 65'd0;
            for (k = 0; k < 15; k = k + 1) if (below(4) < busy) step[3*k +: 3] = $random(seed);
            for (k = 0; k < 10; k = k + 1) if (below(4) < busy) recv_step[2*k +: 2] = $random(seed);
            lost = below(4) < busy ? below(12) : 0;
            cause_valid = below(4) < busy;
            cause = below(4) == 0 ? $random(seed) : below(32);
            flip = below(2);
            // Numbers that no counter or bit has, too.
            flip_counter = below(8) == 0 ? $random(seed) : below(64);
            flip_bit = below(8) == 0 ? $random(seed) : below(32);
            rst = below(400) == 0;
        end
    endtask

    // The numbers behind the next edge.
    task count;
        begin
            if (flip && flip_counter < N && flip_bit < 32) number[flip_counter] = number[flip_counter] ^ (32'd1 << flip_bit);
            for (k = 0; k < 15; k = k + 1) begin
                if (k < LOST) number[k] = number[k] + step[3*k +: 3];
                else number[k + 1] = number[k + 1] + step[3*k +: 3];
            end
            number[LOST] = number[LOST] + lost;
            for (k = 0; k < 10; k = k + 1) number[RECEIVES + k] = number[RECEIVES + k] + recv_step[2*k +: 2];
            if (cause_valid && cause < 32) number[CAUSES + cause] = number[CAUSES + cause] + 1;
            if (rst) for (k = 0; k < N; k = k + 1) number[k] = 32'd0;
        end
    endtask

    initial begin
        set_up(6000);
        for (k = 0; k < N; k = k + 1) number[k] = 32'd0;
        busy = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            random_inputs;
            compare(below(N));
            count;
            edge_of_clock;
            if (rst || n % 16 == 0) for (k = 0; k < N; k = k + 1) compare(k);
        end
        passed;
    end

endmodule

`default_nettype wire
