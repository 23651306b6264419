// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_errlog through its ports, cycle by cycle.
//
// Purpose: reports of one source and of many in the same cycle, with a reader that keeps up, one that falls behind and none, against what each source
//          holds and the list of entries. Compares the oldest entry, whether there is one, and the number of reports that got lost. The design may be
//          the module or one of the netlist of mutants.
// Ports:   none. DEPTH_LOG2 as parameter of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module errlog_exact;
    parameter DEPTH_LOG2 = 4;
    `include "exact.vh"
    localparam N = 1 << DEPTH_LOG2;
    localparam SOURCES = 11;

    reg  [SOURCES-1:0]    err_valid = 0;
    reg  [8*SOURCES-1:0]  err_cause = 0, err_kind = 0;
    reg  [16*SOURCES-1:0] err_object = 0, err_index = 0;
    reg                   pop = 1'b0;
    wire                  entry_valid;
    wire [47:0]           entry;
    wire [3:0]            lost;

    `DUT dut (
        .clk(clk), .rst(rst), .err_valid(err_valid), .err_cause(err_cause), .err_kind(err_kind), .err_object(err_object), .err_index(err_index),
        .entry_valid(entry_valid), .entry(entry), .pop(pop), .lost(lost) `SELECT
    );

    // ---------------------------------------------------------------- the model: a list, its first entry at `first`; one report held for each source
    reg  [47:0]        entries [0:N-1];
    reg  [47:0]        holds [0:SOURCES-1];
    reg  [SOURCES-1:0] held;
    integer            first, count, leaving, missed, k, reports, pops;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: %b %h lost %0d, want %0d entries %h lost %0d, held %b", what, $time, entry_valid, entry, lost, count,
                     entries[first], missed, held);
            $finish;
        end
    endtask

    task random_inputs;
        begin
            // Chances of 32 and of 8; a phase is long enough to fill the list or to drain it.
            if (n % (4 * N) == 0) begin
                reports = below(3) == 0 ? 16 : below(6);
                pops = below(9);
            end
            for (k = 0; k < SOURCES; k = k + 1) begin
                err_valid[k] = below(32) < reports;
                {err_cause[8*k +: 8], err_kind[8*k +: 8]} = $random(seed);
                {err_object[16*k +: 16], err_index[16*k +: 16]} = $random(seed);
            end
            pop = below(8) < pops;
            rst = below(400) == 0;
        end
    endtask

    task cycle;
        begin
            #1;
            if (entry_valid !== (count != 0)) wrong("valid");
            if (count != 0 && entry !== entries[first]) wrong("entry");
            if (lost !== missed) wrong("lost");
            // One report moves into the list, that of the first source that holds one.
            leaving = SOURCES;
            if (count < N) for (k = SOURCES - 1; k >= 0; k = k - 1) if (held[k]) leaving = k;
            if (leaving != SOURCES) begin
                entries[(first + count) % N] = holds[leaving];
                held[leaving] = 1'b0;
            end
            if (pop && count != 0) begin
                first = (first + 1) % N;
                count = count - 1;
            end
            if (leaving != SOURCES) count = count + 1;
            missed = 0;
            for (k = 0; k < SOURCES; k = k + 1) if (err_valid[k]) begin
                if (held[k]) missed = missed + 1;
                else begin
                    held[k] = 1'b1;
                    holds[k] = {err_index[16*k +: 16], err_object[16*k +: 16], err_kind[8*k +: 8], err_cause[8*k +: 8]};
                end
            end
            if (rst) {held, count, missed} = 0;
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(30000);
        {held, first, count, missed} = 0;
        for (n = 0; n < cycles; n = n + 1) begin
            random_inputs;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
