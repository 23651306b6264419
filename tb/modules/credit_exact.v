// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_credit through its ports, cycle by cycle.
//
// Purpose: requests of both ports at any distance, of one CQ and of many, near the last credit, over all values of the indices, with settings, consumption
//          and silent completions written in the same cycles, against three numbers for each CQ. Compares each verdict and each total. The design may be
//          the module or one of the netlist of mutants.
// Ports:   none. CQ_W (NUM_CQ is 1 << CQ_W) and IDX_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_mem.vh"

module credit_exact;
    parameter CQ_W = 2;
    parameter IDX_W = 6;
    `include "exact.vh"
    localparam N = 1 << CQ_W;
    localparam M = 1 << IDX_W;

    reg               walk = 1'b0;
    wire [`CDE_MEM_W-1:0] mem_i = {{(`CDE_MEM_W-2){1'b0}}, walk, rst};
    wire [`CDE_MEM_W-1:0] unused_mem_o;
    reg  [1:0]        rq = 2'd0, take = 2'd0, count0 = 2'd0, count1 = 2'd0;
    reg  [CQ_W-1:0]   rq_cq0 = 0, rq_cq1 = 0, limit_cq = 0, clear_cq = 0, cons_cq = 0, silent_cq = 0;
    reg               limit_we = 1'b0, clear = 1'b0, cons_we = 1'b0, silent_we = 1'b0;
    reg  [IDX_W+1:0]  limit_data = 0;
    reg  [IDX_W-1:0]  cons_index = 0, silent_total = 0;
    reg  [N-1:0]      dead = 0;
    wire [1:0]        room, is_dead, granted_we;
    wire              clear_ready;
    wire [CQ_W-1:0]   granted_cq0, granted_cq1;
    wire [IDX_W-1:0]  granted0, granted1;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(unused_mem_o), .rst(rst), .init(walk),
        .rq_valid(rq[0]), .rq_cq(rq_cq0), .rq_count(count0), .gr_room(room[0]), .gr_dead(is_dead[0]), .gr_take(take[0]),
        .rq2_valid(rq[1]), .rq2_cq(rq_cq1), .rq2_count(count1), .gr2_room(room[1]), .gr2_dead(is_dead[1]), .gr2_take(take[1]),
        .limit_we(limit_we), .limit_cq(limit_cq), .limit_data(limit_data), .clear_valid(clear), .clear_ready(clear_ready), .clear_cq(clear_cq),
        .cons_we(cons_we), .cons_cq(cons_cq), .cons_index(cons_index), .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
        .dead(dead), .granted_we(granted_we[0]), .granted_cq(granted_cq0), .granted_total(granted0), .granted2_we(granted_we[1]),
        .granted2_cq(granted_cq1), .granted2_total(granted1) `SELECT
    );

    // ---------------------------------------------------------------- the model: what each port has granted, what came back, the settings
    integer          granted [0:2*N-1];      // by {port, CQ}, modulo M
    integer          back [0:N-1];           // consumed and silent, modulo M
    integer          cons [0:N-1];
    integer          silent [0:N-1];
    integer          limit [0:N-1];
    reg  [1:0]       mode [0:N-1];           // {exists, unreserved}
    // Requests of the last two cycles, by {age, port}, and what stood in the tables when they came.
    reg  [3:0]       asks = 4'd0, clears = 4'd0;
    integer          of [0:3], much [0:3], bound [0:3], stood [0:3];
    reg  [1:0]       manner [0:3];
    reg  [1:0]       died;
    integer          p, c, k, lead, focus, held, spread;
    reg              want, takes;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s of port %0d at %0t: CQ %0d, %0d of %0d held, %0d wanted", what, p, $time, c, held, bound[2 + p], much[2 + p]);
            $finish;
        end
    endtask

    task judge;
        begin
            for (p = 0; p < 2; p = p + 1) begin
                c = of[2 + p];
                takes = 1'b0;
                if (clears[2 + p]) granted[N * p + c] = 0;
                else if (asks[2 + p]) begin
                    held = (granted[c] + granted[N + c] - stood[2 + p] + 2 * M) % M;
                    want = manner[2 + p][1] && !died[p] && (manner[2 + p][0] || held + much[2 + p] <= bound[2 + p]);
                    if (is_dead[p] !== died[p]) wrong("error");
                    if (room[p] !== want) wrong("verdict");
                    takes = want && take[p] && !manner[2 + p][0];
                    if (takes) granted[N * p + c] = (granted[N * p + c] + much[2 + p]) % M;
                end
                if (granted_we[p] !== (takes || clears[2 + p])) wrong("taking");
                if (granted_we[p] && (p ? granted_cq1 : granted_cq0) !== c) wrong("CQ");
                if (granted_we[p] && (p ? granted1 : granted0) !== granted[N * p + c]) wrong("total");
            end
        end
    endtask

    // Behind the edge: writes of this cycle are seen by its requests.
    task advance;
        begin
            for (p = 0; p < 2; p = p + 1) begin
                died[p] = dead[of[p]];
                of[2 + p] = of[p];
                much[2 + p] = much[p];
                bound[2 + p] = bound[p];
                stood[2 + p] = stood[p];
                manner[2 + p] = manner[p];
            end
            asks = {asks[1:0], rq};
            clears = {clears[1:0], {2{clear && rq == 2'd0}}};
            if (limit_we) {mode[limit_cq], limit[limit_cq]} = {limit_data[IDX_W +: 2], {(32-IDX_W){1'b0}}, limit_data[IDX_W-1:0]};
            if (cons_we) cons[cons_cq] = cons_index;
            if (silent_we) silent[silent_cq] = silent_total;
            for (p = 0; p < 2; p = p + 1) begin
                c = rq[p] ? (p ? rq_cq1 : rq_cq0) : clear_cq;
                of[p] = c;
                much[p] = p ? count1 : count0;
                bound[p] = limit[c];
                stood[p] = (cons[c] + silent[c]) % M;
                manner[p] = mode[c];
            end
            if (rst) {asks, clears} = 8'd0;
        end
    endtask

    task random_inputs;
        begin
            if (n % 8192 == 0) focus = below(N);
            if (n % 64 == 0) begin
                spread = below(4);
                for (k = 0; k < N; k = k + 1) dead[k] = below(32) == 0;
            end
            if (below(32) == 0) dead[below(N)] = below(4) == 0;
            for (p = 0; p < 2; p = p + 1) rq[p] = below(4) != 0;
            rq_cq0 = below(8) < spread ? $random(seed) : focus;
            rq_cq1 = below(8) < spread ? $random(seed) : focus;
            count0 = $random(seed) | $random(seed);
            count1 = $random(seed) | $random(seed);
            take = $random(seed) | $random(seed);
            limit_we = below(32) == 0;
            limit_cq = below(8) < spread ? $random(seed) : focus;
            limit_data = {below(32) != 0, below(32) == 0, {IDX_W{1'b0}}} | below(M / 2 - 8);
            silent_we = below(32) == 0;
            silent_cq = below(8) < spread ? $random(seed) : focus;
            silent_total = $random(seed);
            // What is consumed leaves a number of credits held, most often near the limit. It belongs to the silent completions that stand.
            cons_cq = silent_we ? silent_cq : below(8) < spread ? $random(seed) : focus;
            cons_we = silent_we || below(4) != 0;
            lead = below(8) == 0 ? below(M / 2 - 8) : limit[cons_cq] + 3 - below(24);
            if (lead < 0) lead = 0;
            if (lead > M / 2 - 16) lead = M / 2 - 16;
            cons_index = granted[cons_cq] + granted[N + cons_cq] - (silent_we ? silent_total : silent[cons_cq]) - lead;
            // What is consumed is known when clearing is over.
            if (clears != 4'd0) {silent_we, cons_we} = 2'b00;
            clear = clears == 4'd0 && below(8) == 0;
            clear_cq = $random(seed);
            if (clear && rq == 2'd0 && clear_cq == focus) clear = 1'b0;
            // Rarely the CQ whose totals are to pass through all values.
            if (clear && (clear_cq != focus ? below(4) : below(500)) == 0) rq = 2'd0;
            // Cleared with what came back.
            if (clear && rq == 2'd0) begin
                {silent_we, cons_we} = 2'b11;
                {silent_cq, cons_cq} = {clear_cq, clear_cq};
                {silent_total, cons_index} = 0;
            end
        end
    endtask

    // Cycles without inputs.
    task quiet;
        input integer some;
        begin
            {rq, clear, limit_we, cons_we, silent_we} = 6'd0;
            for (k = 0; k < some; k = k + 1) begin
                #1;
                judge;
                advance;
                edge_of_clock;
            end
        end
    endtask

    task wake;
        begin
            {rq, clear, limit_we, cons_we, silent_we} = 6'd0;
            {asks, clears, died} = 10'd0;
            rst = 1'b1;
            edge_of_clock;
            edge_of_clock;
            rst = 1'b0;
            walk = 1'b1;
            // Nothing is cleared for a CQ yet.
            clear = 1'b1;
            for (k = 0; k < N + 3; k = k + 1) begin
                #1;
                if (clear_ready !== 1'b0) wrong("clearing");
                edge_of_clock;
            end
            {walk, clear} = 2'b00;
            for (c = 0; c < 2 * N; c = c + 1) granted[c] = 0;
            for (c = 0; c < N; c = c + 1) begin
                {cons[c], silent[c], limit[c]} = 96'd0;
                mode[c] = 2'd0;
            end
            for (c = 0; c < 4; c = c + 1) begin
                {of[c], much[c], bound[c], stood[c]} = 128'd0;
                manner[c] = 2'd0;
            end
        end
    endtask

    initial begin
        set_up(40000);
        focus = 0;
        spread = 0;
        wake;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 8192 == 8191) begin
                quiet(4);
                wake;
            end
            random_inputs;
            #1;
            if (clear_ready !== (rq == 2'd0)) wrong("clearing");
            judge;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
