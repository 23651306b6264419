// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the maintenance bus: a row of cde_mem_node. Reports of all places at all distances come out
// once, with the right number; an injection comes to the place that is meant, and only the latest one waits. Prints
// "passed", or what is wrong.
`default_nettype none
`include "cde_mem.vh"

module mem_bus;
    parameter N = 6;
    localparam [7:0] LAST = N - 1;

    reg              clk = 1'b0;
    reg              start = 1'b1;
    reg              init = 1'b1;
    reg              cancel = 1'b0;
    reg              inject = 1'b0;
    reg  [7:0]       target = 8'd0;
    reg  [N-1:0]     written = 0;
    reg  [N-1:0]     bad = 0;
    reg  [N-1:0]     lost = 0;
    wire [N-1:0]     flip;
    wire [`CDE_MEM_W*(N+1)-1:0] bus;
    wire [`CDE_MEM_W-1:0] out = bus[`CDE_MEM_W*N +: `CDE_MEM_W];
    wire [7:0]       number = LAST - out[`CDE_MEM_HOPS +: 8];
    integer          sent [0:N-1];        // what places have told in a round, how often lost; what came out
    integer          sent_lost [0:N-1];
    integer          came [0:N-1];
    integer          came_lost [0:N-1];
    integer          round, i, k, most, met, merged;
    genvar           g;

    assign bus[0 +: `CDE_MEM_W] = {cancel, 10'd0, target, inject, 20'd0, init, start};

    generate
        for (g = 0; g < N; g = g + 1) begin : g_node
            wire       clear;
            wire [1:0] clear_addr;
            wire [9:0] at0, at1;
            cde_mem_node #(.AW(2)) node (
                .clk(clk), .mem_i(bus[`CDE_MEM_W*g +: `CDE_MEM_W]), .mem_o(bus[`CDE_MEM_W*(g+1) +: `CDE_MEM_W]),
                .clear(clear), .clear_addr(clear_addr), .flip(flip[g]), .at0(at0), .at1(at1), .written(written[g]),
                .bad(bad[g]), .lost(lost[g])
            );
        end
    endgenerate

    always #5 clk = !clk;

    task cycle;
        begin
            @(negedge clk);
            if (out[`CDE_MEM_BAD]) begin
                if (number > LAST) $display("wrong: number %0d", number);
                else begin
                    came[number] = came[number] + 1;
                    if (out[`CDE_MEM_LOST]) came_lost[number] = came_lost[number] + 1;
                end
            end
        end
    endtask

    // Reports: of each place at most `most` in a round, in random cycles.
    task reports;
        begin
            for (i = 0; i < N; i = i + 1) begin
                sent[i] = 0;
                sent_lost[i] = 0;
                came[i] = 0;
                came_lost[i] = 0;
            end
            for (k = 0; k < 2 * N; k = k + 1) begin
                bad = 0;
                lost = 0;
                for (i = 0; i < N; i = i + 1) begin
                    if (sent[i] < most && $unsigned($random) % 4 == 0) begin
                        bad[i] = 1'b1;
                        lost[i] = $random;
                        sent[i] = sent[i] + 1;
                        sent_lost[i] = sent_lost[i] + lost[i];
                    end
                end
                cycle;
            end
            bad = 0;
            lost = 0;
            for (k = 0; k < 3 * N; k = k + 1) cycle;
            for (i = 0; i < N; i = i + 1) begin
                if (came[i] > sent[i] || (sent[i] != 0 && came[i] == 0))
                    $display("wrong: %0d of %0d reports of %0d came", came[i], sent[i], i);
                if ((sent_lost[i] != 0) != (came_lost[i] != 0) || came_lost[i] > sent_lost[i])
                    $display("wrong: %0d of %0d reports of %0d say lost, not %0d", came_lost[i], came[i], i,
                             sent_lost[i]);
                if (sent[i] != 0) met = met + 1;
                if (came[i] < sent[i]) merged = merged + 1;
            end
        end
    endtask

    // Two injections one after the other; only the second waits, from its cycle on, until its word is written.
    task injections;
        begin
            cancel = 1'b1;
            cycle;
            cancel = 1'b0;
            inject = 1'b1;
            target = $unsigned($random) % N;
            cycle;
            inject = 1'b0;
            k = $unsigned($random) % (2 * N);
            while (k > 0) begin
                cycle;
                k = k - 1;
            end
            cancel = 1'b1;
            cycle;
            cancel = 1'b0;
            inject = 1'b1;
            target = $unsigned($random) % N;
            if (flip != 0) $display("wrong: a replaced injection waits at %b", flip);
            for (k = 0; k < 2 * N; k = k + 1) begin
                cycle;
                inject = 1'b0;
                if ((flip & ~(1 << target)) != 0) $display("wrong: an injection for %0d waits at %b", target, flip);
            end
            if (flip != 1 << target) $display("wrong: an injection for %0d waits at %b in the end", target, flip);
            written = ~(1 << target);
            cycle;
            if (flip != 1 << target) $display("wrong: an injection is spent on a word of others");
            written = 1 << target;
            cycle;
            written = 0;
            if (flip != 0) $display("wrong: an injection is not spent");
        end
    endtask

    initial begin
        met = 0;
        merged = 0;
        for (i = 0; i < N; i = i + 1) {sent[i], sent_lost[i], came[i], came_lost[i]} = 0;
        @(negedge clk);
        @(negedge clk);
        start = 1'b0;
        // What is read during the walk is no report.
        bad = ~0;
        for (k = 0; k < N; k = k + 1) cycle;
        bad = 0;
        for (k = 0; k < 2 * N; k = k + 1) cycle;
        for (i = 0; i < N; i = i + 1) if (came[i] != 0) $display("wrong: a report of the walk");
        init = 1'b0;
        most = 1;
        for (round = 0; round < 400; round = round + 1) reports;
        if (merged != 0) $display("wrong: reports of different places are merged");
        most = 2 * N;
        for (round = 0; round < 200; round = round + 1) reports;
        if (merged == 0 || met < 200 * N) $display("wrong: too few reports met");
        for (round = 0; round < 200; round = round + 1) injections;
        $display("passed");
        $finish;
    end

endmodule

`default_nettype wire
