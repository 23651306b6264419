// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_dispatch through its ports, cycle by cycle.
//
// Purpose: posts of few and of many queue pairs, released one by one and in chains, fenced, local, with and without guard; retirements, stops, a
//          transport and executions that take their time; resets and clearing walks under way. Against queues of posts, one run under way and the
//          order of turns. Compares each offer, execution and indicated request in its cycle. The design may be the module or one of the netlist
//          of mutants.
// Ports:   none. QP_W, SQ_LOG2, IDX_W, BURST as parameters of the bench (NUM_QP is 1 << QP_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module dispatch_exact;
    parameter QP_W = 2;
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

    reg                   acc_valid = 0, end_we = 0, end_last = 0, rel_valid = 0, rel_we = 0, rr_valid = 0, rr_we = 0, peer_we = 0;
    reg                   guard_we = 0, guard = 0, tready = 0, loc_done = 0;
    reg  [QP_W-1:0]       acc_qp = 0, rr_qp = 0, peer_qp = 0;
    reg  [SQ_LOG2-1:0]    acc_slot = 0, end_slot = 0;
    reg  [511:0]          acc_data = 0;
    reg  [1:0]            acc_kind = 0;
    reg  [IDX_W-1:0]      rel_index = 0, rr_total = 0;
    reg  [N-1:0]          stop = 0;
    reg  [23:0]           peer = 0;
    reg  [7:0]            loc_status = 0;
    wire [511:0]          tdata, loc_post;
    wire [15:0]           tdest;
    wire [63:0]           tuser;
    wire                  tlast, tvalid, loc_valid, ind_valid, ind_done, ind_ripe;
    wire [QP_W-1:0]       loc_qp, ind_qp;
    wire [SQ_LOG2-1:0]    ind_slot, ind_tag;
    wire [7:0]            ind_status;
    wire [IDX_W-1:0]      ind_next, ind_tags;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot), .acc_data(acc_data),
        .acc_kind(acc_kind), .end_we(end_we), .end_slot(end_slot), .end_last(end_last), .rel_valid(rel_valid), .rel_we(rel_we),
        .rel_index(rel_index), .stop(stop), .rr_valid(rr_valid), .rr_we(rr_we), .rr_qp(rr_qp), .rr_total(rr_total), .peer_we(peer_we),
        .peer_qp(peer_qp), .peer(peer), .guard_we(guard_we), .guard(guard), .m_axis_work_tdata(tdata), .m_axis_work_tdest(tdest),
        .m_axis_work_tuser(tuser), .m_axis_work_tlast(tlast), .m_axis_work_tvalid(tvalid), .m_axis_work_tready(tready), .loc_valid(loc_valid),
        .loc_qp(loc_qp), .loc_post(loc_post), .loc_done(loc_done), .loc_status(loc_status), .ind_valid(ind_valid), .ind_qp(ind_qp),
        .ind_slot(ind_slot), .ind_done(ind_done), .ind_ripe(ind_ripe), .ind_status(ind_status), .ind_next(ind_next), .ind_tags(ind_tags),
        .ind_tag(ind_tag) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [511:0] post [0:N*DEPTH-1];
    reg          is_local [0:N*DEPTH-1], is_read [0:N*DEPTH-1], is_last [0:N*DEPTH-1];
    // Of each queue pair, not yet reduced to the bits of an index: posts accepted, released, indicated; remote requests, Reads indicated and retired.
    integer      accepted [0:N-1], released [0:N-1], passed_by [0:N-1], tags [0:N-1], reads [0:N-1], retired [0:N-1];
    reg  [23:0]  peers [0:N-1];
    reg          guarded [0:N-1];
    // Next is looked at; the run under way with what it fetches next and where it ends; the request that is offered.
    integer      looked, run, run_at, run_end, run_left, top, top_at;
    reg          shown, sent;
    reg  [15:0]  number, tag;

    integer      k, at, busy, mask, cand, from, from_at, from_end, left, slot, released_to, slow;
    reg          skips, blocked, offers, executes, moves, none_left, fetches, killed, more, yields, goes_on, leaves, taken, launches, indicates, at_once;
    reg          steady;

    function integer index;
        input integer number;
        index = number & MASK;
    endfunction

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: offer %b of %0d, indicated %b of %0d; want %b, %b of %0d", what, $time, tvalid, tdest, ind_valid, ind_qp, offers,
                     indicates, top);
            $finish;
        end
    endtask

    task clear_model;
        begin
            for (k = 0; k < N; k = k + 1) begin
                {accepted[k], released[k], passed_by[k], tags[k], reads[k], retired[k]} = 192'd0;
                {peers[k], guarded[k]} = 25'd0;
            end
            for (k = 0; k < N * DEPTH; k = k + 1) {post[k], is_local[k], is_read[k], is_last[k]} = 515'd0;
            no_turns;
            {looked, run, top} = {3{NONE}};
            {shown, sent} = 2'b00;
        end
    endtask

    // What the request on offer comes to.
    task offer;
        begin
            slot = top == NONE ? 0 : top * DEPTH + top_at % DEPTH;
            k = top == NONE ? 0 : top;
            skips = top != NONE && stop[k] && !shown;
            blocked = top != NONE && !skips && !shown && post[slot][`CDE_POST_READ_FENCE_LSB] && index(reads[k]) != index(retired[k]);
            offers = top != NONE && !skips && !blocked && !sent;
            executes = is_local[slot] && guarded[k];
            moves = !init && (top == NONE || skips || blocked || (executes ? sent && loc_done : tready));
            indicates = top != NONE && !blocked && moves;
            if (tvalid !== offers) wrong("offer");
            if (offers && (tdata !== post[slot] || tlast !== is_last[slot] || tdest !== top)) wrong("request on offer");
            number = index(top_at);
            tag = is_local[slot] ? 0 : index(tags[k]);
            if (offers && tuser !== {7'd0, is_local[slot], peers[k], number, tag})
                wrong("user bits");
            if (loc_valid !== sent) wrong("execution");
            if (sent && (loc_qp !== top || loc_post !== post[slot])) wrong("what is executed");
            if (ind_valid !== indicates) wrong("indication");
            if (indicates) begin
                if (ind_qp !== top || ind_slot !== top_at % DEPTH || ind_next !== index(top_at + 1)) wrong("request indicated");
                if (ind_done !== !skips || ind_ripe !== (skips || is_local[slot])) wrong("kind of indication");
                if (ind_status !== (executes && !skips ? loc_status : 8'h00)) wrong("status");
                at = tags[k] + !(skips || is_local[slot]);
                if (ind_tags !== index(at) || ind_tag !== ((at - 1) & (DEPTH - 1))) wrong("tags");
            end
        end
    endtask

    // What the run fetches, and who is looked at next.
    task decide;
        begin
            none_left = looked != NONE && index(passed_by[looked]) == index(released[looked]);
            if (run != NONE) {from, from_at, from_end, left} = {run, run_at, run_end, run_left};
            else if (looked != NONE) {from, from_at, from_end, left} = {looked, passed_by[looked], released[looked], FIRST};
            else from = NONE;
            fetches = moves && from != NONE && (run != NONE || !none_left);
            killed = blocked && top == from;
            more = index(from_at + 1) != index(from_end);
            yields = left == 0 && ((run != NONE && looked != NONE) || (offered != NONE && offered != from));
            goes_on = fetches && more && !yields && !killed;
            leaves = looked != NONE && (run == NONE || none_left) && moves;
            cand = offered != NONE ? offered : rel_valid ? acc_qp : NONE;
            taken = cand != NONE && (cand == looked || cand == run);
            launches = cand != NONE && !taken && (looked == NONE || leaves) && moves;
        end
    endtask

    // Whether the first request of the queue pair that is watched can go.
    task watch;
        begin
            at = watched * DEPTH + passed_by[watched] % DEPTH;
            watch_turns(passed_by[watched] != released[watched] &&
                        (stop[watched] || !post[at][`CDE_POST_READ_FENCE_LSB] || index(reads[watched]) == index(retired[watched])),
                        indicates ? top : NONE);
        end
    endtask

    task turns;
        begin
            at_once = launches && offered == NONE;
            next_turn(launches ? cand : looked != NONE ? looked : fetches ? from : NONE, launches || taken);
            if (rel_valid && !at_once) asked[acc_qp] = 1'b1;
            if (fetches && more && yields && !killed) asked[from] = 1'b1;
            if (rr_valid) asked[rr_qp] = 1'b1;
        end
    endtask

    task step;
        begin
            if (indicates) begin
                passed_by[top] = top_at + 1;
                if (!skips && !is_local[slot]) tags[top] = tags[top] + 1;
                if (!skips && is_read[slot]) reads[top] = reads[top] + 1;
            end
            sent = (sent || (offers && tready && executes)) && !moves;
            shown = (offers || shown) && !moves;
            if (launches) looked = cand;
            else if (leaves) looked = NONE;
            if (moves) begin
                top = fetches && !killed ? from : NONE;
                top_at = from_at;
                run = goes_on ? from : NONE;
                run_at = from_at + 1;
                run_end = from_end;
                run_left = left == 0 ? 0 : left - 1;
            end
            // The end of the run moves when more of its queue pair is released.
            if (rel_we) begin
                released[acc_qp] = released_to;
                if (run == acc_qp) run_end = released_to;
            end
            if (acc_valid) begin
                post[acc_qp * DEPTH + acc_slot] = acc_data;
                {is_local[acc_qp * DEPTH + acc_slot], is_read[acc_qp * DEPTH + acc_slot]} = acc_kind;
                accepted[acc_qp] = accepted[acc_qp] + 1;
            end
            if (end_we) is_last[acc_qp * DEPTH + end_slot] = end_last;
            if (rr_we) retired[rr_qp] = retired[rr_qp] + 1;
            if (peer_we) peers[peer_qp] = peer;
            if (guard_we) guarded[peer_qp] = guard;
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task posts;
        begin
            acc_qp = $random(seed) & mask;
            k = acc_qp;
            acc_valid = below(8) < busy && accepted[k] - passed_by[k] < DEPTH;
            acc_slot = accepted[k];
            for (at = 0; at < 16; at = at + 1) acc_data[32*at +: 32] = $random(seed);
            if (steady || below(4) != 0) acc_data[`CDE_POST_READ_FENCE_LSB] = 1'b0;
            acc_kind = below(6) == 0 ? 2'b10 : {1'b0, below(3) == 0};
            at = accepted[k] + acc_valid;
            rel_we = at != released[k] && below(2) == 0;
            released_to = released[k] + 1 + below(at - released[k] + (at == released[k]));
            rel_index = released_to;
            rel_valid = rel_we || below(16) == 0;
            // The end of a chain is marked when the post behind it comes, or with it.
            end_we = at != passed_by[k] && below(2) == 0 && acc_valid;
            end_slot = at - 1;
            end_last = $random(seed);
        end
    endtask

    task others;
        begin
            rr_qp = $random(seed) & mask;
            rr_we = index(retired[rr_qp]) != index(reads[rr_qp]) && below(4) == 0;
            rr_total = retired[rr_qp] + 1;
            rr_valid = rr_we || below(32) == 0;
            peer_qp = $random(seed);
            peer_we = below(16) == 0;
            peer = $random(seed);
            guard_we = below(16) == 0;
            guard = $random(seed);
            if (below(40) == 0) stop = $random(seed) & $random(seed) & $random(seed);
            tready = below(8) >= slow;
            loc_done = loc_valid && below(4) == 0;
            loc_status = $random(seed);
        end
    endtask

    task reset;
        begin
            {acc_valid, end_we, rel_valid, rel_we, rr_valid, rr_we, peer_we, guard_we, loc_done} = 9'd0;
            reset_and_clear(N * DEPTH + 2);
            clear_model;
        end
    endtask

    initial begin
        set_up(16000);
        for (n = 0; n < cycles; n = n + 1) begin
            // The last life is long, and of two queue pairs most of the time: indices get late.
            if (n % 3000 == 0 && n < 8000) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(8);
                mask = n >= 8000 && n[9:6] != 0 ? 1 : n[6] ? -1 : $random(seed);
                // Requests that are taken slowly and do not wait: short queues have runs of whole turns, too.
                steady = n >= 8000 && n[10:9] == 3;
                if (steady) {busy, slow} = {32'd8, 32'd5 + below(3)};
            end
            posts;
            others;
            #1;
            offer;
            watch;
            decide;
            turns;
            step;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
