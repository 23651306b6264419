// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the clearing walk and the reports of cde_mem_node; all else of the node is in the bench of the
// memories (memory_exact.v).
//
// Purpose: walks with pauses, and walks that are begun anew before their end: a walk starts at 0 and takes each address
//          once, in order. Reports of the memory and those of others: those go first, what waits is one, and a walk
//          leaves none. The design may be the module or one of the netlist of mutants.
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
    reg                   bad = 1'b0, lost = 1'b0;
    reg                   waits = 1'b0, waits_lost = 1'b0, sends = 1'b0, sends_lost = 1'b0;
    reg  [7:0]            sends_hops = 8'd0;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(mem_o), .clear(clear), .clear_addr(clear_addr), .flip(flip), .at0(at0),
        .at1(at1),
        .written(1'b0), .bad(bad), .lost(lost) `SELECT
    );

    initial begin
        set_up(10000 + (4 << AW));
        for (n = 0; n < cycles; n = n + 1) begin
            mem_i[`CDE_MEM_START] = n == 0 || (n > (2 << AW) && below(256) == 0);
            mem_i[`CDE_MEM_CLEAR] = !mem_i[`CDE_MEM_START] && (n[9] || below(8) != 0) && n[10:9] != 2'd2;
            mem_i[`CDE_MEM_BAD] = below(3) == 0;
            mem_i[`CDE_MEM_LOST] = $random(seed);
            mem_i[`CDE_MEM_HOPS +: 8] = below(200);
            bad = below(3) == 0;
            lost = bad && below(4) == 0;
            #1;
            if (begun && mem_o[`CDE_MEM_BAD] !== sends) begin
                $display("wrong: report at %0t: %b, want %b", $time, mem_o[`CDE_MEM_BAD], sends);
                $finish;
            end
            if (begun && sends &&
                (mem_o[`CDE_MEM_LOST] !== sends_lost || mem_o[`CDE_MEM_HOPS +: 8] !== sends_hops)) begin
                $display("wrong: what is reported at %0t: %b of %0d, want %b of %0d", $time, mem_o[`CDE_MEM_LOST],
                mem_o[`CDE_MEM_HOPS +: 8],
                         sends_lost, sends_hops);
                $finish;
            end
            // Others' reports go first; what waits is one. Of before and amid the walk none is left.
            {waits, waits_lost} = {waits || bad, waits_lost || lost};
            if (mem_i[`CDE_MEM_BAD]) {sends, sends_lost, sends_hops} = {1'b1, mem_i[`CDE_MEM_LOST],
                mem_i[`CDE_MEM_HOPS +: 8] + 8'd1};
            else {sends, sends_lost, sends_hops, waits, waits_lost} = {waits, waits_lost, 8'd0, 2'b00};
            if (mem_i[`CDE_MEM_START] || mem_i[`CDE_MEM_CLEAR]) {sends, waits, waits_lost} = 3'b000;
            if (clear !== mem_i[`CDE_MEM_CLEAR] || (begun && clear_addr !== want)) begin
                $display("wrong: walk at %0t: clear %b at %0d, want %b at %0d", $time, clear, clear_addr,
                    mem_i[`CDE_MEM_CLEAR], want);
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
