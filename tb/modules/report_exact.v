// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of error reports, counters and the maintenance bus through the ports of cde_control, by what software reads and writes.
//
// Purpose: reports of every source in one cycle, more of them than the log takes, refused accesses; each counter; injections, reports of memories (interfaces.md).
//          The log, the counters and the register block have benches of their own: this one compares what passes between them and the ports. Nobody is
//          asked anything. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, PAGE_W, IDX_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module report_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 8;
    `include "exact.vh"
    `include "clearing.vh"
    `include "control.vh"
    // Memories inside of the module; counters, two of which count what happens inside.
    localparam INSIDE = 1, COUNTERS = 58, REFUSED = 10, LOST = 11;

    // ---------------------------------------------------------------- the model
    reg  [31:0]        total [0:COUNTERS-1];
    reg  [27:0]        injection;
    integer            injected, withdrawn, k, reports, taken, memories, round;
    reg                quiet;
    reg  [10:0]        reported;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: register %h: %h; reports %b; injection %h", what, $time, addr, rdata, reported, injection);
            $finish;
        end
    endtask

    // What goes to the memories and to the others in this cycle.
    task watch;
        begin
            #1;
            if ({mem_o[`CDE_MEM_CLEAR], mem_o[`CDE_MEM_START]} !== {init, rst}) wrong("what goes to memories");
            if (mem_o[`CDE_MEM_BAD] !== 1'b0) wrong("report");
            if (mem_o[`CDE_MEM_INJECT] && {mem_o[`CDE_MEM_BIT2 +: 10], mem_o[`CDE_MEM_BIT +: 10]} !== injection[27:8]) wrong("bits to invert");
            if (mem_o[`CDE_MEM_INJECT] && mem_o[`CDE_MEM_TARGET +: 8] !== injection[7:0] - INSIDE) wrong("memory");
            injected = injected + mem_o[`CDE_MEM_INJECT];
            withdrawn = withdrawn + mem_o[`CDE_MEM_CANCEL];
            if ({ct_valid, op_valid, cfg_we, limit_we, clear_valid, cqi_we, eqc_valid, qc_start} !== 8'd0) wrong("question");
        end
    endtask

    // What the counters must be behind this cycle.
    task count_steps;
        begin
            for (k = 0; k < REFUSED; k = k + 1) total[k] = total[k] + step[3*k +: 3];
            for (k = 12; k < 16; k = k + 1) total[k] = total[k] + late_step[3*(k-12) +: 3];
            for (k = 48; k < 56; k = k + 1) total[k] = total[k] + recv_step[2*(k-48) +: 2];
            if (cause_valid && cause < 32) total[16+cause] = total[16+cause] + 1;
            if (mem_i[`CDE_MEM_BAD]) total[56 + mem_i[`CDE_MEM_LOST]] = total[56 + mem_i[`CDE_MEM_LOST]] + 1;
        end
    endtask

    task cycle;
        begin
            watch;
            count_steps;
            edge_of_clock;
            {step, late_step, recv_step, cause_valid, err_valid, mem_i[`CDE_MEM_BAD]} = 0;
            if (!quiet) begin
                step = $random(seed);
                {late_step, recv_step, cause_valid} = $random(seed);
                cause = below(32);
            end
        end
    endtask

    task some_reports;
        begin
            for (k = 0; k < 5; k = k + 1) {err_index[32*k +: 32], err_object[32*k +: 32]} = {$random(seed), $random(seed)};
            for (k = 0; k < 10; k = k + 1) {err_cause[8*k +: 8], err_kind[8*k +: 8]} = $random(seed);
            {err_valid, mem_i[`CDE_MEM_BAD], mem_i[`CDE_MEM_LOST], mem_i[`CDE_MEM_HOPS +: 8]} = $random(seed);
        end
    endtask

    // From each source one at most, in one cycle: they are logged in the order of their numbers, that of the memories last.
    task log;
        begin
            some_reports;
            reported = {mem_i[`CDE_MEM_BAD], err_valid};
            cycle;
            for (n = 0; n < 20; n = n + 1) cycle;
            for (n = 0; n < 11; n = n + 1) if (reported[n]) begin
                read(`CDE_REG_LOG0, 1'b1);
                k = memories - 1 - mem_i[`CDE_MEM_HOPS +: 8];
                if (word !== (n < 10 ? {err_object[16*n +: 16], err_kind[8*n +: 8], err_cause[8*n +: 8]} :
                    {8'd0, k[7:0], `CDE_KIND_MEMORY, mem_i[`CDE_MEM_LOST] ? `CDE_CAUSE_MEM_LOST : `CDE_CAUSE_MEM_CORRECTED})) wrong("error");
                read(`CDE_REG_LOG1, 1'b1);
                if (word !== {16'h8000, n < 10 ? err_index[16*n +: 16] : 16'd0}) wrong("index of an error");
                write(`CDE_REG_LOG_POP, 32'd1, 1'b1);
            end
            read(`CDE_REG_LOG1, 1'b1);
            if (word !== 32'd0) wrong("error of nobody");
        end
    endtask

    // What the log has no place for is counted.
    task flood;
        begin
            reports = 0;
            for (n = 0; n < 32; n = n + 1) begin
                some_reports;
                for (k = 0; k < 10; k = k + 1) reports = reports + err_valid[k];
                reports = reports + mem_i[`CDE_MEM_BAD];
                cycle;
            end
            for (taken = 0; word != 32'd0 || taken == 0; taken = taken + (word != 32'd0)) begin
                read(`CDE_REG_LOG1, 1'b1);
                if (word != 32'd0) write(`CDE_REG_LOG_POP, 32'd1, 1'b1);
                else if (taken == 0) wrong("log");
            end
            if (taken < 16) wrong("log");
            total[LOST] = total[LOST] + reports - taken;
        end
    endtask

    // Counting stops here; what has been refused belongs to the counters.
    task rest;
        begin
            quiet = 1'b1;
            cycle;
            total[REFUSED] = total[REFUSED] + refused;
            refused = 0;
        end
    endtask

    task counters;
        begin
            rest;
            for (n = 0; n < COUNTERS; n = n + 1) begin
                read(n < 16 ? `CDE_REG_CNT_CPL_PLACED + 4 * n : n < 32 ? `CDE_REG_CNT_CAUSE0 + 4 * (n - 16) :
                     n < 48 ? `CDE_REG_CNT_CAUSE16 + 4 * (n - 32) : `CDE_REG_CNT_RECV_POSTS + 4 * (n - 48), 1'b1);
                if (word !== total[n]) wrong("counter");
            end
            quiet = 1'b0;
        end
    endtask

    // A write and a read that are refused in one cycle.
    task refusals;
        begin
            {awaddr, data, araddr, awvalid, wvalid, arvalid} = {12'h040, 32'd0, 12'h03c, 3'b111};
            strobes = ~(4'd1 << below(4));
            cycle;
            {awvalid, wvalid, arvalid, bready, rready} = 5'b00011;
            for (n = 0; n < 4; n = n + 1) cycle;
            {bready, rready} = 2'b00;
            refused = refused + 2;
            write(12'h07c, $random(seed), 1'b0);
            read(12'h1a0, 1'b0);
        end
    endtask

    // Of a memory behind this module, of a counter, or of neither.
    task inject;
        begin
            read(`CDE_REG_CAP7, 1'b1);
            {injected, withdrawn} = 64'd0;
            injection = $random(seed);
            injection[7:0] = below(2) || !word[8] ? `CDE_MEM_COUNTERS : INSIDE + below(memories - INSIDE);
            if (below(4) != 0) {injection[27:18], injection[17:8]} = {5'd0, injection[22:18], 4'd0, injection[13:8]};
            rest;
            write(`CDE_REG_MEM_INJECT, injection, 1'b1);
            if (injection[7:0] == `CDE_MEM_COUNTERS && injection[17:8] < COUNTERS && injection[27:18] < 32)
                total[injection[17:8]] = total[injection[17:8]] ^ 32'd1 << injection[22:18];
            for (n = 0; n < 8; n = n + 1) cycle;
            if (injected != 1 || withdrawn != 1) wrong("injection");
            quiet = 1'b0;
        end
    endtask

    task reset;
        begin
            reset_and_clear(1 << CQ_W);
            for (k = 0; k < COUNTERS; k = k + 1) total[k] = 32'd0;
            {quiet, refused, injected, withdrawn} = 97'd0;
            cycle;
            read(`CDE_REG_CAP7, 1'b1);
            memories = word[7:0];
        end
    endtask

    initial begin
        set_up(40);
        {injection, reported} = 39'd0;
        for (round = 0; round < cycles; round = round + 1) begin
            if (round % 8 == 0) reset;
            log;
            if (round % 4 == 0) flood;
            refusals;
            inject;
            inject;
            counters;
        end
        passed;
    end

endmodule

`default_nettype wire
