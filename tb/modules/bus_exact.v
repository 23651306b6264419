// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the maintenance bus through any module that has memories in it, cycle by cycle.
//
// Purpose: clears the memories, then sends reports and injections of memories elsewhere through a module at rest, and withdraws injections: each passes
//          the module's memories within a cycle each and is counted on, and nothing else comes out (ISO-02, cde_mem.vh). The design may be the module or one of
//          the netlist of mutants.
// Ports:   none. WORDS as parameter of the bench; defines and plusargs: exact.vh; define OTHERS connects the inputs other than clk and mem_i, `rst` and `init` to those
//          of the bench, all others to 0.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module bus_exact;
    // Words of the longest memory, or more.
    parameter WORDS = 2048;
    // Memories of a module, or more.
    localparam MOST = 64;
    `include "exact.vh"
    `include "clearing.vh"

    wire [`CDE_MEM_W-1:0] mem_o;

    `DUT dut (.clk(clk), .mem_i(mem_i), .mem_o(mem_o) `OTHERS `SELECT);

    // What is on its way, the newest first; memories of the module.
    reg  [`CDE_MEM_W-1:0] way [0:MOST-1], want;
    integer               k, memories;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: %h, want %h behind %0d memories", what, $time, mem_o, want, memories);
            $finish;
        end
    endtask

    // One report, which counts the memories.
    task count_memories;
        begin
            mem_i[`CDE_MEM_BAD] = 1'b1;
            mem_i[`CDE_MEM_HOPS +: 8] = 8'd0;
            memories = 0;
            while (mem_o[`CDE_MEM_BAD] !== 1'b1 && memories < MOST) begin
                edge_of_clock;
                mem_i[`CDE_MEM_BAD] = 1'b0;
                memories = memories + 1;
            end
            if (memories == MOST || mem_o[`CDE_MEM_HOPS +: 8] !== memories) wrong("number of memories");
            for (k = 0; k < MOST; k = k + 1) begin
                way[k] = 0;
                edge_of_clock;
            end
        end
    endtask

    task inputs;
        begin
            mem_i[`CDE_MEM_INJECT-1:`CDE_MEM_BIT] = $random(seed);
            mem_i[`CDE_MEM_INJECT] = below(3) == 0;
            mem_i[`CDE_MEM_TARGET +: 8] = memories + below(256 - memories);
            mem_i[`CDE_MEM_BAD] = below(3) == 0;
            mem_i[`CDE_MEM_LOST] = $random(seed);
            mem_i[`CDE_MEM_HOPS +: 8] = $random(seed);
            mem_i[`CDE_MEM_CANCEL] = below(2 * memories) == 0;
        end
    endtask

    task compare;
        begin
            #1;
            want = way[memories-1];
            want[`CDE_MEM_TARGET +: 8] = want[`CDE_MEM_TARGET +: 8] - memories;
            want[`CDE_MEM_HOPS +: 8] = want[`CDE_MEM_HOPS +: 8] + memories;
            if ({mem_o[`CDE_MEM_CANCEL], mem_o[`CDE_MEM_INJECT-1:0]} !== {mem_i[`CDE_MEM_CANCEL], mem_i[`CDE_MEM_INJECT-1:0]}) wrong("what goes to all");
            if (mem_o[`CDE_MEM_INJECT] !== want[`CDE_MEM_INJECT]) wrong("injection");
            if (want[`CDE_MEM_INJECT] && mem_o[`CDE_MEM_TARGET +: 8] !== want[`CDE_MEM_TARGET +: 8]) wrong("target");
            if (mem_o[`CDE_MEM_BAD] !== want[`CDE_MEM_BAD]) wrong("report");
            if (want[`CDE_MEM_BAD] && mem_o[`CDE_MEM_LOST +: 9] !== want[`CDE_MEM_LOST +: 9]) wrong("what is reported");
        end
    endtask

    task advance;
        begin
            for (k = memories - 1; k > 0; k = k - 1) way[k] = way[k-1];
            way[0] = mem_i;
            // Injections that are on their way are forgotten.
            if (mem_i[`CDE_MEM_CANCEL]) for (k = 0; k < memories; k = k + 1) way[k][`CDE_MEM_INJECT] = 1'b0;
        end
    endtask

    initial begin
        set_up(4000);
        reset_and_clear(WORDS + MOST);
        count_memories;
        for (n = 0; n < cycles; n = n + 1) begin
            inputs;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
