// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the clearing walk of cde_mem_node; all else of the node is in the bench of the memories (memory_exact.v).
//
// Purpose: walks with pauses, and walks that are begun anew before their end: a walk starts at 0 and takes each address once, in order. The design
//          may be the module or one of the netlist of mutants.
// Ports:   none. AW as parameter of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module node_exact;
    parameter AW = 4;
    `include "exact.vh"

    reg  [`CDE_MEM_W-1:0] mem_i = 0;
    wire [`CDE_MEM_W-1:0] mem_o;
    wire                  clear, flip;
    wire [AW-1:0]         clear_addr;
    wire [9:0]            at0, at1;
    reg  [AW-1:0]         want = 0;
    reg                   begun = 1'b0;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0), .at1(at1),
        .written(1'b0), .bad(1'b0), .lost(1'b0) `SELECT
    );

    initial begin
        set_up(10000 + (4 << AW));
        for (n = 0; n < cycles; n = n + 1) begin
            mem_i[`CDE_MEM_START] = n == 0 || (n > (2 << AW) && below(256) == 0);
            mem_i[`CDE_MEM_CLEAR] = !mem_i[`CDE_MEM_START] && below(8) != 0;
            #1;
            if (clear !== mem_i[`CDE_MEM_CLEAR] || (begun && clear_addr !== want)) begin
                $display("wrong: walk at %0t: clear %b at %0d, want %b at %0d", $time, clear, clear_addr, mem_i[`CDE_MEM_CLEAR], want);
                $finish;
            end
            if (clear) want = want + 1'b1;
            if (mem_i[`CDE_MEM_START]) {begun, want} = {1'b1, {AW{1'b0}}};
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
