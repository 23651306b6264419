// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_arm_age through its ports, cycle by cycle.
//
// Purpose: publications and doorbells of one CQ and of many at any distance, both in a cycle, over all values of counts, marks and ticks, with bounds of
//          moderation beside what was counted, was present and waited, against four numbers for each CQ. Compares what each operation finds and leaves, and
//          whether it found its CQ ripe. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W and IDX_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module age_exact;
    parameter CQ_W = 2;
    parameter IDX_W = 6;
    `include "exact.vh"
    `include "cde_arm_state.vh"
    localparam N = 1 << CQ_W;
    localparam M = 1 << IDX_W;
    localparam TICKS = 1 << 18;
    localparam CF_BITS = CF_INTVL + 16;

    reg                walk = 1'b0;
    wire [`CDE_MEM_W-1:0] mem_i = {{(`CDE_MEM_W-2){1'b0}}, walk, rst};
    wire [`CDE_MEM_W-1:0] unused_mem_o;
    reg  [17:0]        now = 18'd0;
    reg  [CQ_W-1:0]    p_cq = 0, d_cq = 0, p_next = 0, d_next = 0, p_ahead = 0, d_ahead = 0;
    reg                p_valid = 1'b0, d_valid = 1'b0;
    reg                p_becomes_due, p_was_due, p_call, d_doorbell, d_clear, d_forget, d_due, d_look, d_becomes_due, d_call;
    reg  [1:0]         p_live;
    reg  [IDX_W-1:0]   p_call_mark, d_index, d_call_mark, d_prod, d_cons;
    reg  [CF_BITS-1:0] settings;
    wire [Z_W-1:0]     p_z, p_z_next, d_z, d_z_next;
    wire               ripe;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(unused_mem_o), .now(now), .p_cq_ahead(p_ahead), .d_cq_ahead(d_ahead), .p_valid(p_valid), .p_cq(p_cq),
        .p_becomes_due(p_becomes_due), .p_was_due(p_was_due), .p_call(p_call), .p_live(p_live), .p_call_mark(p_call_mark), .d_valid(d_valid),
        .d_cq(d_cq), .d_doorbell(d_doorbell), .d_clear(d_clear), .d_forget(d_forget), .d_due(d_due), .d_look(d_look),
        .d_becomes_due(d_becomes_due), .d_call(d_call), .d_index(d_index), .d_call_mark(d_call_mark), .d_prod(d_prod), .d_cons(d_cons),
        .d_settings({{64{1'b0}}, settings}), .p_z(p_z), .p_z_next(p_z_next), .d_z(d_z), .d_z_next(d_z_next), .d_ripe(ripe) `SELECT
    );

    // ---------------------------------------------------------------- the model: of each CQ the mark, the count, the tick, the most present
    integer mark [0:N-1];
    integer count [0:N-1];
    integer since [0:N-1];
    integer most [0:N-1];
    reg     l_valid, l_due, l_ripe_by_count, l_by_time, c_valid, c_ripe;
    integer l_since, l_interval, c, k, spread, age, fresh, present, limit;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: CQ %0d, mark %0d count %0d since %0d most %0d", what, $time, c, mark[c], count[c], since[c], most[c]);
            $finish;
        end
    endtask

    // What a pipeline word should be.
    function [Z_W-1:0] word;
        input integer of;
        begin
            word = 0;
            word[Z_MARK +: IDX_W] = mark[of];
            word[Z_MCNT +: IDX_W] = count[of];
            word[Z_TDUE +: TICK_W] = since[of];
            word[Z_MOST +: IDX_W-1] = most[of];
        end
    endfunction

    task publish;
        begin
            c = p_cq;
            if (p_z !== word(c)) wrong("publication finds");
            if (p_call || !(p_was_due || p_becomes_due)) count[c] = 0;
            else begin
                if (!p_was_due) count[c] = 0;
                count[c] = count[c] + p_live[0] + p_live[1];
                if (count[c] >= M) count[c] = M - 1;
            end
            if (p_call) mark[c] = p_call_mark;
            if (p_becomes_due) since[c] = now;
            if (p_becomes_due) most[c] = 0;
            if (p_z_next !== word(c)) wrong("publication leaves");
        end
    endtask

    task ring;
        begin
            c = d_cq;
            if (d_z !== word(c)) wrong("doorbell finds");
            age = (now - since[c] + TICKS) % TICKS;
            // Ahead of the mark by less than half of the range
            if (d_doorbell && (d_index - mark[c] + M) % M <= M / 2 && d_index != mark[c]) mark[c] = d_index;
            fresh = (d_prod - mark[c] + M) % M;
            if (d_becomes_due) count[c] = fresh < M / 2 ? fresh : 0;
            if (d_clear || d_forget || d_call) count[c] = 0;
            if (d_call) mark[c] = d_call_mark;
            if (d_clear) mark[c] = 0;
            if (d_becomes_due) since[c] = now;
            else if (d_look && age >= TICKS / 2) since[c] = (now + TICKS / 2) % TICKS;
            present = (d_prod - d_cons + M) % M;
            if (d_becomes_due) most[c] = 0;
            else if ((d_doorbell || d_look) && present < M / 2 && present > most[c]) most[c] = present;
            if (d_z_next !== word(c)) wrong("doorbell leaves");
        end
    endtask

    task random_inputs;
        begin
            if (n % 64 == 0) spread = below(4);
            // Mostly a little later, sometimes at any tick.
            now = below(16) == 0 ? $random(seed) : now + below(3);
            {p_cq, p_next} = {p_next, p_ahead};
            {d_cq, d_next} = {d_next, d_ahead};
            p_ahead = below(4) < spread ? $random(seed) : 1;
            d_ahead = below(4) < spread ? $random(seed) : 1;
            p_valid = below(4) < 3;
            d_valid = below(4) < 3;
            {p_was_due, p_live, p_call_mark, d_index, d_call_mark, d_prod, d_cons, d_look} = {$random(seed), $random(seed), $random(seed)};
            p_becomes_due = below(4) == 0;
            p_call = below(8) == 0;
            d_doorbell = below(2);
            d_clear = below(16) == 0;
            d_forget = below(16) == 0;
            d_becomes_due = below(4) == 0;
            d_call = below(8) == 0;
            d_due = below(8) != 0;
            // A count over the upper half of its range, too: nothing but publications and looks.
            if (n % (8 * M) > 7 * M) begin
                {p_ahead, d_ahead} = {{CQ_W{1'b1}}, {CQ_W{1'b1}}};
                {p_was_due, p_live} = {3'b111};
                {p_call, d_clear, d_forget, d_becomes_due, d_call} = 5'd0;
            end
            // The index beside the mark, or half of the range away; few present, or many.
            if (below(4) == 0) d_index = mark[d_cq] + below(3) - 1 + (below(2) ? M / 2 : 0);
            if (below(4) == 0) d_cons = d_prod - below(4);
            settings[CF_CNT_EN:0] = $random(seed);
            settings[CF_INT_EN] = $random(seed);
            settings[CF_COUNT +: IDX_W] = $random(seed);
            settings[CF_INTVL +: 16] = $random(seed);
        end
    endtask

    // The bounds beside what was counted, is present, and has waited.
    task bounds;
        begin
            #1;
            if (below(2)) settings[CF_COUNT +: IDX_W] = d_z_next[Z_MCNT +: IDX_W] + 1 - below(3);
            else if (below(2)) settings[CF_COUNT +: IDX_W] = d_z_next[Z_MOST +: IDX_W-1] + 1 - below(3);
            if (below(2)) settings[CF_INTVL +: 16] = now - d_z_next[Z_TDUE +: TICK_W] + 2 - below(4);
        end
    endtask

    task cycle;
        begin
            #1;
            if (c_valid && ripe !== c_ripe) wrong("ripe");
            c_valid = l_valid;
            age = (now - l_since + TICKS) % TICKS;
            c_ripe = l_due && (l_ripe_by_count || (l_by_time && age > l_interval));
            if (p_valid) publish;
            if (d_valid) ring;
            c = d_cq;
            l_valid = d_valid;
            l_due = d_due;
            l_since = since[c];
            l_by_time = settings[CF_INT_EN];
            l_interval = settings[CF_INTVL +: 16];
            limit = settings[CF_COUNT +: IDX_W];
            l_ripe_by_count = settings[CF_CNT_EN] && (count[c] >= limit || most[c] >= limit);
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(34000);
        spread = 0;
        edge_of_clock;
        rst = 1'b0;
        walk = 1'b1;
        for (k = 0; k < N + 3; k = k + 1) edge_of_clock;
        walk = 1'b0;
        for (k = 0; k < N; k = k + 1) {mark[k], count[k], since[k], most[k]} = 0;
        {l_valid, c_valid} = 2'b00;
        for (n = 0; n < cycles; n = n + 1) begin
            random_inputs;
            bounds;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
