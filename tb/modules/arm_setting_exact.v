// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of moderated callbacks of cde_arm through its ports, while their settings change.
//
// Purpose: completions, arms and returns of every CQ, whose count of moderation changes at any cycle, also between the two looks of the engine.
//          Against the number of entries present: a callback comes only if the setting before the cycle of the step that calls it is reached (CQ-21), and
//          within a bound of the time from which on each setting was reached, also if the same ones come again and again. A setting waits for a bounded
//          time. Compares each callback whole. At last each CQ waits alone: no look goes to another one, which would take a doorbell's turn. The design
//          may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, PAGE_W, IDX_W, RETRY_W, EV_W as parameters of the bench (NUM_CQ is 1 << CQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module arm_setting_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 5;
    parameter RETRY_W = 74;
    parameter EV_W = 86;
    `include "exact.vh"
    `include "clearing.vh"
    // Entries that wait at most; cycles from a step to its callback, and to its answer; the longest walk of looks over all CQs.
    localparam N = 1 << CQ_W, MOST = 10, CALL = 3, ANSWER = 4, HOLD = 24, WALK = 64 * N + 64;
    // Between two looks at the one CQ that waits: the walk over the others, the wait for a turn, the way through the pipeline.
    localparam ROUND = 2 * N + 21;

    reg                pub_valid = 0, db_valid = 0, db_arm = 0, ct_valid = 0, cfg_we = 0, wr_we = 0;
    reg  [7:0]         pub_op = 0, db_op = 0;
    reg  [1:0]         pub_count = 0;
    reg  [CQ_W-1:0]    pub_cq = 0, db_cq = 0, ct_cq = 0, cfg_cq = 0;
    reg  [IDX_W-1:0]   db_index = 0, cfg_count = 0, wr_index = 0;
    wire               db_ready, ct_ready, cfg_hold, res_db_valid, ev_pub_valid, ev_db_valid;
    wire [7:0]         res_db_cause;
    wire [EV_W-1:0]    ev_db_data;
    wire [PAGE_W-1:0]  cfg_page = cfg_cq, db_page = db_cq;
    wire [EQ_W-1:0]    cfg_eq = ~cfg_cq;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .pub_valid(pub_valid), .pub_op(pub_op), .pub_cq(pub_cq), .pub_count(pub_count),
        .pub_solicited(2'd0), .pub_quiet(2'd0), .pub_status(2'd0), .pub_give_up(1'b0), .pub_retry({RETRY_W{1'b0}}), .db_valid(db_valid),
        .db_ready(db_ready), .db_op(db_op), .db_cause(8'd0), .db_cq(db_cq), .db_page(db_page), .db_index(db_index), .db_arm(db_arm),
        .db_type(`CDE_ARM_ANY), .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(`CDE_TRC_CREATE), .ct_cq(ct_cq), .ct_index({IDX_W{1'b0}}),
        .res_db_valid(res_db_valid), .res_db_cause(res_db_cause), .res_ct_valid(), .res_ct_state(), .cfg_we(cfg_we), .cfg_hold(cfg_hold), .cfg_cq(cfg_cq),
        .cfg_data({cfg_page, cfg_eq, 16'd0, cfg_count, 4'b0100}), .wr_we(wr_we), .wr_cq(pub_cq), .wr_index(wr_index), .cons_we(), .cons_cq(),
        .cons_index(), .dead(), .ev_pub_valid(ev_pub_valid), .ev_pub_data(), .ev_db_valid(ev_db_valid), .ev_db_data(ev_db_data),
        .trace_valid(), .trace_data() `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [IDX_W-1:0]   prod [0:N-1], cons [0:N-1], count [0:N-1];
    reg                armed [0:N-1], busy [0:N-1], unwritten [0:N-1];
    integer            reached [0:N-1];              // cycles since the callback may come
    // So many cycles ago: for which CQs it might be called, and how much was published; doorbells taken.
    reg  [N-1:0]       may [0:CALL];
    reg  [IDX_W*N-1:0] snaps [0:CALL];
    reg  [ANSWER:0]    taken;
    reg  [CQ_W-1:0]    called;
    reg  [EQ_W-1:0]    called_eq;
    reg                doorbell;
    integer            q, k, looks, since, calls, busy_db, busy_pub, changes, held, period;
    reg                wants;                        // a setting is to be written

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: CQ %0d, %0d entries present, count %0d; cause %h", what, $time, called, prod[called] - cons[called], count[called],
                     res_db_cause);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            called = ev_db_data[CQ_W-1:0];
            if (ev_pub_valid) wrong("not moderated");
            if (ev_db_valid) begin
                calls = calls + 1;
                if (!may[CALL][called]) wrong("too early");
                called_eq = ~called;
                if (ev_db_data !== {{(RETRY_W+1){1'b0}}, snaps[CALL][IDX_W*called +: IDX_W], 2'd0, called_eq, called}) wrong("callback");
                armed[called] = 1'b0;
                {busy[called], unwritten[called]} = 2'b11;
                for (k = 0; k <= CALL; k = k + 1) may[k][called] = 1'b0;
            end
            if (res_db_valid !== taken[ANSWER] || (res_db_valid && res_db_cause != 0)) wrong("answer");
            doorbell = db_valid && db_ready;
        end
    endtask

    // Publication of the cycle first, then its doorbell; a setting is in force from the next cycle on.
    task advance;
        begin
            if (pub_valid && pub_op == `CDE_TRC_PUBLISH) prod[pub_cq] = prod[pub_cq] + pub_count;
            if (pub_valid && pub_op == `CDE_TRC_EVENT_DONE) unwritten[pub_cq] = 1'b0;
            for (k = CALL; k > 1; k = k - 1) {may[k], snaps[k]} = {may[k-1], snaps[k-1]};
            for (q = 0; q < N; q = q + 1) begin
                may[1][q] = armed[q] && !busy[q] && !unwritten[q] && prod[q] != cons[q] && prod[q] - cons[q] >= count[q];
                snaps[1][IDX_W*q +: IDX_W] = prod[q];
                reached[q] = may[1][q] && !(cfg_we && cfg_cq == q && prod[q] - cons[q] < cfg_count) ? reached[q] + 1 : 0;
                called = q;
                if (reached[q] > WALK) wrong("too late");
            end
            taken = {taken[ANSWER-1:1], doorbell, 1'b0};
            if (doorbell && db_op == `CDE_TRC_CB_RETURN) busy[db_cq] = 1'b0;
            if (doorbell && db_op == `CDE_TRC_DOORBELL) begin
                cons[db_cq] = db_index;
                armed[db_cq] = armed[db_cq] || db_arm;
            end
            if (cfg_we) count[cfg_cq] = cfg_count;
        end
    endtask

    // After a callback nothing is published before its return, its written entry and the next arm. A doorbell that was not taken stays.
    task inputs;
        begin
            pub_cq = $random(seed);
            pub_count = 1 + below(2);
            pub_op = unwritten[pub_cq] ? `CDE_TRC_EVENT_DONE : `CDE_TRC_PUBLISH;
            pub_valid = below(64) < busy_pub && (unwritten[pub_cq] || (armed[pub_cq] && prod[pub_cq] - cons[pub_cq] + pub_count <= MOST));
            wr_we = pub_valid && pub_op == `CDE_TRC_PUBLISH;
            wr_index = prod[pub_cq] + pub_count;
            if (!db_valid || doorbell) begin
                db_cq = $random(seed);
                db_op = busy[db_cq] ? `CDE_TRC_CB_RETURN : `CDE_TRC_DOORBELL;
                db_index = armed[db_cq] ? cons[db_cq] : prod[db_cq];
                db_arm = !armed[db_cq] && !unwritten[db_cq];
                db_valid = below(64) < busy_db;
            end
            // In turns at random and in step with the walk, at each of its phases.
            if (!wants) begin
                wants = period == 0 ? below(64) < changes : n % period == 0;
                cfg_cq = period == 0 ? $random(seed) : 0;
                cfg_count = 1 + (period == 0 ? below(MOST) : 0);
            end
            #1;
            held = wants && cfg_hold ? held + 1 : 0;
            called = cfg_cq;
            if (held > HOLD) wrong("held too long");
            cfg_we = wants && !cfg_hold;
            if (cfg_we) wants = 1'b0;
        end
    endtask

    task create;
        begin
            {pub_valid, db_valid, cfg_we, wr_we, taken, doorbell, wants} = 0;
            {calls, held} = 0;
            reset_and_clear(N);
            for (q = 0; q < N; q = q + 1) begin
                {prod[q], cons[q], armed[q], busy[q], unwritten[q], reached[q]} = 0;
                count[q] = 1 + below(MOST);
                {cfg_we, ct_valid} = 2'b11;
                {cfg_cq, cfg_count} = {q[CQ_W-1:0], count[q]};
                ct_cq = q;
                edge_of_clock;
            end
            {cfg_we, ct_valid} = 2'b00;
            for (k = 0; k <= CALL; k = k + 1) may[k] = 0;
            for (k = 0; k < 8; k = k + 1) edge_of_clock;
        end
    endtask

    // One CQ waits, the callback of which has not enough entries yet; its completions and doorbells go on. Nobody else's do.
    task alone;
        input integer which;
        begin
            create;
            {looks, since} = 0;
            cfg_we = 1'b1;
            cfg_cq = which;
            cfg_count = 15;
            edge_of_clock;
            cfg_we = 1'b0;
            for (n = 0; n < 3 * ROUND; n = n + 1) begin
                {db_valid, db_cq, db_op, db_arm, db_index} = {1'b1, which[CQ_W-1:0], `CDE_TRC_DOORBELL, 1'b1, {IDX_W{1'b0}}};
                {pub_cq, pub_op, pub_count} = {which[CQ_W-1:0], `CDE_TRC_PUBLISH, 2'd1};
                pub_valid = n % (ROUND / 3) == 1;
                wr_we = pub_valid;
                wr_index = prod[which] + 1;
                #1;
                if (ev_pub_valid || ev_db_valid) wrong("too early");
                since = since + 1;
                if (!db_ready) begin
                    if (looks != 0 && since < ROUND) wrong("look");
                    looks = looks + 1;
                    since = 0;
                end
                if (pub_valid) prod[which] = prod[which] + 1;
                edge_of_clock;
            end
            if (looks < 2) wrong("too few looks");
        end
    endtask

    initial begin
        set_up(40000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 20000 == 0) create;
            if (n % 1024 == 0) begin
                busy_db = 1 + below(48);
                busy_pub = 4 + below(60);
                changes = below(3) ? below(24) : 0;
                period = below(3) ? 0 : 2 * N + 4 + below(8);
            end
            inputs;
            compare;
            advance;
            edge_of_clock;
            if (n % 20000 == 19999 && calls == 0) wrong("no callback");
        end
        for (changes = 0; changes < N; changes = changes + 1) alone(changes);
        passed;
    end

endmodule

`default_nettype wire
