// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_retire through its ports, cycle by cycle.
//
// Purpose: requests of few and of many queue pairs, local, skipped and remote ones, Reads that invalidate their sink, reports of success and failure,
//          seen a cycle ahead or not; sinks that take their time; resets and clearing walks under way. Against queues of requests, one run under way
//          and the order of turns. Compares each completion, invalidation, retired request and trace step in its cycle. The design may be the module
//          or one of the netlist of mutants.
// Ports:   none. QP_W, CQ_W, SQ_LOG2, IDX_W, BURST as parameters of the bench (NUM_QP is 1 << QP_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module retire_exact;
    parameter QP_W = 2;
    parameter CQ_W = 3;
    parameter SQ_LOG2 = 2;
    parameter IDX_W = 5;
    parameter BURST = 2;
    `include "exact.vh"
    `include "clearing.vh"
    localparam N = 1 << QP_W;
    localparam DEPTH = 1 << SQ_LOG2;
    localparam MASK = (1 << IDX_W) - 1;
    localparam NONE = -1;
    localparam integer FIRST = BURST - 1;   // left behind the first of a run
    `include "turns.vh"
    `include "turn_bound.vh"

    reg                   acc_valid = 0, acc_silent = 0, acc_unkeys = 0, ind_valid = 0, ind_done = 0, ind_ripe = 0, seen_valid = 0;
    reg                   ask = 0, rep_we = 0, bad_we = 0, fresh = 0, ri_done = 0, set_we = 0, tready = 0;
    reg  [QP_W-1:0]       acc_qp = 0, ind_qp = 0, seen_qp = 0, rep_qp = 0, fresh_qp = 0, set_qp = 0;
    reg  [SQ_LOG2-1:0]    acc_slot = 0, ind_slot = 0;
    reg  [63:0]           acc_context = 0;
    reg  [49:0]           acc_verb = 0;
    reg  [31:0]           acc_key = 0;
    reg  [7:0]            ind_status = 0, bad_status = 0, ri_status = 0;
    reg  [IDX_W-1:0]      ind_next = 0, rep_total = 0, rep_ripe = 0, bad_tag = 0;
    reg  [N-1:0]          bad = 0;
    reg  [64+CQ_W:0]      set_data = 0;
    wire                  seen_taken, ri_valid, tuser, tvalid, ret_we, rr_valid, trace_valid;
    wire [QP_W-1:0]       ri_qp, ret_qp;
    wire [31:0]           ri_key;
    wire [255:0]          tdata, trace_data;
    wire [15:0]           tdest;
    wire [IDX_W-1:0]      ret_index, rr_total;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot),
        .acc_context(acc_context), .acc_silent(acc_silent), .acc_verb(acc_verb), .acc_unkeys(acc_unkeys), .acc_key(acc_key),
        .ind_valid(ind_valid), .ind_qp(ind_qp), .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe), .ind_status(ind_status),
        .ind_next(ind_next), .seen_valid(seen_valid), .seen_qp(seen_qp), .seen_taken(seen_taken), .ask(ask), .rep_we(rep_we), .rep_qp(rep_qp),
        .rep_total(rep_total), .rep_ripe(rep_ripe), .bad_we(bad_we), .bad_tag(bad_tag), .bad_status(bad_status), .bad(bad), .fresh(fresh),
        .fresh_qp(fresh_qp), .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_key(ri_key), .ri_done(ri_done), .ri_status(ri_status), .set_we(set_we),
        .set_qp(set_qp), .set_data(set_data), .m_axis_cpl_tdata(tdata), .m_axis_cpl_tdest(tdest), .m_axis_cpl_tuser(tuser),
        .m_axis_cpl_tvalid(tvalid), .m_axis_cpl_tready(tready), .ret_we(ret_we), .ret_qp(ret_qp), .ret_index(ret_index), .rr_valid(rr_valid),
        .rr_total(rr_total), .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each slot: {invalidates, key, silent, local, read, type, bytes, context}, and {status, indicated} of what became of it.
    reg  [147:0]   request [0:N*DEPTH-1];
    reg  [8:0]     outcome [0:N*DEPTH-1];
    // Of each queue pair, not yet reduced to the bits of an index: accepted, indicated, retired; ripe up to; remote ones reported, retired; Reads retired.
    integer        accepted [0:N-1], indicated [0:N-1], retired [0:N-1], ripe [0:N-1], reported [0:N-1], tags [0:N-1], reads [0:N-1], looked_for [0:N-1];
    integer        bad_at [0:N-1];
    reg  [7:0]     bad_how [0:N-1];
    reg  [64+CQ_W:0] settings [0:N-1];
    reg  [N-1:0]   opened, failed;
    integer        looked, run, run_at, run_end, run_left, top, top_at;
    reg            run_open, unkeyed;
    reg  [7:0]     unkeyed_how;

    integer        k, at, busy, slow, mask, cand, from, from_at, from_end, left, slot, next_ripe, next_seen, ripe_now;
    reg            from_open, unripe, unkeys, invalidates, moves, completes, goes, empty, fetches, killed, more, yields, goes_on, leaves, taken, launches;
    reg            holds, remote, traced, seen_was_taken, steady;
    reg  [7:0]     status;
    reg  [255:0]   want, step;

    function integer index;
        input integer number;
        index = number & MASK;
    endfunction

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: completion %b of %0d, invalidation %b, retired %b; want %b of %0d (index %0d)", what, $time, tvalid,
                     tdata[223:208], ri_valid, ret_we, completes, top, top_at);
            $finish;
        end
    endtask

    task clear_model;
        begin
            for (k = 0; k < N; k = k + 1) begin
                {accepted[k], indicated[k], retired[k], ripe[k], reported[k], tags[k], reads[k], looked_for[k], bad_at[k]} = 288'd0;
                {bad_how[k], settings[k]} = 0;
            end
            for (k = 0; k < N * DEPTH; k = k + 1) {request[k], outcome[k]} = 0;
            {opened, failed, bad, unkeyed, traced} = 0;
            no_turns;
            {looked, run, top} = {3{NONE}};
            run_open = 1'b0;
        end
    endtask

    // What the request at the end comes to.
    task judge;
        begin
            k = top == NONE ? 0 : top;
            slot = k * DEPTH + top_at % DEPTH;
            // Bits of a request: 114 silent, 113 local, 112 read.
            remote = outcome[slot][0] && !request[slot][113];
            unripe = remote && index(tags[k]) == index(reported[k]);
            if (failed[k] || !outcome[slot][0]) status = `CDE_CQESTATUS_CANCELED;
            else if (!remote) status = outcome[slot][8:1];
            else status = bad[k] && index(tags[k]) == index(bad_at[k]) ? bad_how[k] : 8'h00;
            unkeys = settings[k][64+CQ_W] && request[slot][147] && status == 8'h00;
            if (unkeys) status = unkeyed_how;
            completes = top != NONE && !unripe && (!unkeys || unkeyed);
            invalidates = top != NONE && !unripe && unkeys && !unkeyed;
            goes = completes && tready;
            moves = !init && (top == NONE || unripe || goes);
            if (tvalid !== completes) wrong("completion");
            want = {16'd0, status, 24'd0, request[slot][111:96], 32'd0, status == 0 ? request[slot][95:64] : 32'd0, settings[k][63:0],
                    request[slot][63:0]};
            want[208 +: QP_W] = top;
            if (completes && (tdata !== want || tdest !== settings[k][64 +: CQ_W])) wrong("what completes");
            if (completes && tuser !== (request[slot][114] && status == 0)) wrong("silent");
            if (ri_valid !== invalidates) wrong("invalidation");
            if (invalidates && (ri_qp !== top || ri_key !== request[slot][146:115])) wrong("what is invalidated");
            if (ret_we !== goes || (goes && (ret_qp !== top || ret_index !== index(top_at + 1)))) wrong("what retires");
            at = reads[k] + (outcome[slot][0] && request[slot][112]);
            if (rr_valid !== (goes && outcome[slot][0] && request[slot][112])) wrong("Read");
            if (goes && rr_total !== index(at)) wrong("Reads");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    task decide;
        begin
            empty = 1'b1;
            if (looked != NONE) empty = opened[looked] ? index(retired[looked]) == index(indicated[looked])
                                                       : !(rep_we && rep_qp == looked) && index(reported[looked]) == index(tags[looked]);
            next_ripe = looked == NONE ? 0 : rep_we && rep_qp == looked ? ripe_now : ripe[looked];
            if (run != NONE) {from, from_at, from_end, left, from_open} = {run, run_at, run_end, run_left, run_open};
            else if (looked != NONE) begin
                {from, from_at, left, from_open} = {looked, retired[looked], FIRST, opened[looked]};
                from_end = opened[looked] ? indicated[looked] : next_ripe;
            end else from = NONE;
            fetches = moves && from != NONE && (run != NONE || !empty);
            killed = top != NONE && unripe && top == from;
            more = index(from_at + 1) != index(from_end);
            cand = offered != NONE ? offered : seen_valid ? seen_qp : NONE;
            taken = cand != NONE && (cand == looked || cand == run);
            holds = cand != NONE && cand == run && opened[cand] && !run_open;
            yields = left == 0 && ((run != NONE && looked != NONE) || (offered != NONE && (offered != from || holds)));
            goes_on = fetches && more && !yields && !killed;
            leaves = looked != NONE && (run == NONE || empty) && moves;
            launches = cand != NONE && !taken && (looked == NONE || leaves) && moves;
            if (seen_taken !== (launches && offered == NONE)) wrong("report seen");
        end
    endtask

    // Whether the first request of the queue pair that is watched can retire.
    task watch;
        begin
            at = watched * DEPTH + retired[watched] % DEPTH;
            watch_turns(retired[watched] != indicated[watched] && (!outcome[at][0] || request[at][113] || reported[watched] != tags[watched]),
                        goes ? top : NONE);
        end
    endtask

    task turns;
        begin
            next_turn(launches ? cand : looked != NONE ? looked : fetches ? from : NONE, launches || (taken && !holds));
            if (ask) asked[rep_qp] = 1'b1;
            if (fetches && more && yields && !killed) asked[from] = 1'b1;
            if (ind_valid && ind_ripe) asked[ind_qp] = 1'b1;
        end
    endtask

    task advance;
        begin
            traced = goes && !rst;
            step = {96'd0, 96'd0, 32'd0, 24'd0, 8'd0 + `CDE_TRC_RETIRE};
            k = top == NONE ? 0 : top;
            step[8 +: QP_W] = top;
            step[63:32] = {16'd0 + settings[k][64 +: CQ_W], 6'd0, !outcome[slot][0], tuser, status};
            {step[176], step[160 +: IDX_W]} = {failed[k] || status != 0, ret_index};
            {step[80], step[64 +: IDX_W]} = {failed[k], top_at[IDX_W-1:0]};
            if (ri_done) {unkeyed, unkeyed_how} = {1'b1, ri_status};
            else if (goes) unkeyed = 1'b0;
            if (goes) begin
                retired[top] = top_at + 1;
                if (remote) tags[top] = tags[top] + 1;
                if (outcome[slot][0] && request[slot][112]) reads[top] = reads[top] + 1;
                if (status != 0) failed[top] = 1'b1;
            end
            if (leaves) opened[looked] = 1'b0;
            if (fetches && more && yields && !killed) opened[from] = 1'b1;
            if (ind_valid && ind_ripe) opened[ind_qp] = 1'b1;
            if (launches) looked = cand;
            else if (leaves) looked = NONE;
            if (moves) begin
                top = fetches && !killed ? from : NONE;
                top_at = from_at;
                run = goes_on ? from : NONE;
                run_at = from_at + 1;
                run_left = left == 0 ? 0 : left - 1;
                {run_end, run_open} = {from_end, from_open};
            end
            // The end of the run moves with what is indicated or ripe.
            if (ind_valid && ind_qp == run && run_open) run_end = indicated[ind_qp] + 1;
            if (rep_we && rep_qp == run && !run_open) run_end = ripe_now;
            if (acc_valid) begin
                request[acc_qp * DEPTH + acc_slot] = {acc_unkeys, acc_key, acc_silent, acc_verb, acc_context};
                accepted[acc_qp] = accepted[acc_qp] + 1;
            end
            if (ind_valid) begin
                outcome[ind_qp * DEPTH + ind_slot] = {ind_status, ind_done};
                indicated[ind_qp] = indicated[ind_qp] + 1;
            end
            if (rep_we) begin
                if (bad_we) {bad_at[rep_qp], bad_how[rep_qp], bad[rep_qp]} = {reported[rep_qp], bad_status, 1'b1};
                reported[rep_qp] = reported[rep_qp] + 1;
                ripe[rep_qp] = ripe_now;
            end
            if (fresh) {failed[fresh_qp], bad[fresh_qp]} = 2'b00;
            if (set_we) settings[set_qp] = set_data;
        end
    endtask

    // ---------------------------------------------------------------- what comes in

    task requests;
        begin
            acc_qp = $random(seed) & mask;
            // One that has failed comes to rest, mostly, and begins anew.
            acc_valid = below(8) < busy && accepted[acc_qp] - retired[acc_qp] < DEPTH && (!failed[acc_qp] || below(8) == 0);
            acc_slot = accepted[acc_qp];
            {acc_context, acc_key, acc_silent} = {$random(seed), $random(seed), $random(seed), $random(seed)};
            acc_verb = {$random(seed), $random(seed)};
            acc_verb[49:48] = below(5) == 0 ? 2'b10 : {1'b0, below(2) == 0};
            acc_unkeys = acc_verb[48] && below(2);
            ind_qp = $random(seed) & mask;
            ind_valid = below(8) < busy && indicated[ind_qp] != accepted[ind_qp];
            ind_slot = indicated[ind_qp];
            ind_next = indicated[ind_qp] + 1;
            ind_done = failed[ind_qp] ? below(2) : steady || below(64) != 0;
            ind_ripe = !ind_done || request[ind_qp * DEPTH + ind_slot][113];
            ind_status = ind_ripe && ind_done && !steady && below(16) == 0 ? $random(seed) : 8'h00;
        end
    endtask

    // Whether a remote request of the queue pair waits for its report: the first one.
    task find_remote;
        input integer of;
        begin
            if (looked_for[of] < retired[of]) looked_for[of] = retired[of];
            at = of * DEPTH;
            while (looked_for[of] < indicated[of] &&
                   !(outcome[at + looked_for[of] % DEPTH][0] && !request[at + looked_for[of] % DEPTH][113])) looked_for[of] = looked_for[of] + 1;
        end
    endtask

    // A report is seen, and comes a cycle behind; if it was not taken then, it asks.
    task reports;
        begin
            rep_we = next_seen != NONE;
            rep_qp = rep_we ? next_seen : $random(seed);
            ask = rep_we && !seen_was_taken;
            if (rep_we) begin
                find_remote(next_seen);
                ripe_now = looked_for[next_seen] + 1;
                looked_for[next_seen] = ripe_now;
                // What ripens without a report is ripe behind it.
                at = next_seen * DEPTH;
                while (ripe_now < indicated[next_seen] && (!outcome[at + ripe_now % DEPTH][0] || request[at + ripe_now % DEPTH][113]))
                    ripe_now = ripe_now + 1;
                rep_ripe = ripe_now;
                rep_total = reported[next_seen] + 1;
                bad_tag = reported[next_seen];
            end
            bad_we = rep_we && !bad[rep_qp] && !steady && below(64) == 0;
            bad_status = 1 + below(200);
            seen_qp = $random(seed) & mask;
            find_remote(seen_qp);
            seen_valid = below(8) < busy && !init && looked_for[seen_qp] < indicated[seen_qp];
        end
    endtask
    task others;
        begin
            fresh_qp = $random(seed);
            fresh = (failed[fresh_qp] || below(8) == 0) && retired[fresh_qp] == accepted[fresh_qp] && top != fresh_qp && !(acc_valid && acc_qp == fresh_qp);
            ri_done = ri_valid && below(4) == 0;
            ri_status = steady || below(8) ? 8'h00 : $random(seed);
            set_qp = $random(seed);
            set_we = below(32) == 0 && retired[set_qp] == accepted[set_qp];
            set_data = {$random(seed), $random(seed), $random(seed)};
            tready = below(8) >= slow;
        end
    endtask

    task reset;
        begin
            {acc_valid, ind_valid, seen_valid, ask, rep_we, bad_we, fresh, ri_done, set_we} = 9'd0;
            reset_and_clear(N * DEPTH + 2);
            clear_model;
            next_seen = NONE;
        end
    endtask

    initial begin
        set_up(16000);
        seen_was_taken = 1'b0;
        for (n = 0; n < cycles; n = n + 1) begin
            // The last life is long, and of two queue pairs most of the time: indices get late.
            if (n % 3000 == 0 && n < 8000) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(8);
                mask = n >= 8000 && n[9:6] != 0 ? 1 : n[6] ? -1 : $random(seed);
                // Completions that are taken slowly and nothing that fails: short queues have runs of whole turns, too.
                steady = n >= 8000 && n[10:9] == 3;
                if (steady) {busy, slow} = {32'd8, 32'd5 + below(3)};
            end
            requests;
            reports;
            others;
            #1;
            judge;
            watch;
            decide;
            next_seen = seen_valid ? seen_qp : NONE;
            seen_was_taken = seen_taken;
            turns;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
