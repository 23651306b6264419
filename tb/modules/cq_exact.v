// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_cq through its ports, cycle by cycle.
//
// Purpose: one or two completions in a cycle, of one CQ or of two, silent ones, of CQs with and without reservation, that are full, dead, missing or
//          out of range; control steps in between; credits and consumer indices that move; a sink that takes its time; resets and clearing walks under
//          way. Against numbers of entries, credits and places of each CQ (CQ-15, CQ-17). Compares room, each entry, outcome, report and trace
//          step in its cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, IDX_W as parameters of the bench (NUM_CQ is 1 << CQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module cq_exact;
    parameter CQ_W = 2;
    parameter IDX_W = 6;
    `include "exact.vh"
    `include "clearing.vh"
    `include "entry.vh"
    localparam N = 1 << CQ_W;
    localparam MASK = (1 << IDX_W) - 1;
    localparam ENT_W = 4 + CQ_W + IDX_W + 2 * 59 + 4 + 2 * 256;
    localparam CLEAR = 8'h00, LOOK = 8'hFF;
    localparam ROOM = 8;
    // A beat that waits, and what is on its way: {valid, range, CQ, lanes 2, silent 2, name 16, data}; a step {valid, code, CQ, base, log2, unreserved}.
    localparam BEAT = 548, WAY = 1 + 1 + CQ_W + 2 + 2 + 16 + 512, OP = 1 + 8 + CQ_W + 58 + 5 + 1;

    reg                   tvalid = 0, op_valid = 0, op_unreserved = 0, cons_we = 0, granted_we = 0, granted2_we = 0, ent_ready = 0;
    reg  [511:0]          tdata = 0;
    reg  [31:0]           tdest = 0;
    reg  [1:0]            tkeep = 0, tuser = 0;
    reg  [7:0]            op_code = 0;
    reg  [CQ_W-1:0]       op_cq = 0, cons_cq = 0, granted_cq = 0, granted2_cq = 0;
    reg  [63:6]           op_base = 0;
    reg  [4:0]            op_log2 = 0;
    reg  [IDX_W-1:0]      cons_index = 0, granted_total = 0, granted2_total = 0;
    reg  [N-1:0]          dead = 0;
    wire                  tready, op_ready, res_valid, silent_we, ent_valid, err_valid, trace_valid;
    wire [7:0]            res_result, err_cause;
    wire [IDX_W-1:0]      res_index, res_held, silent_total;
    wire [CQ_W-1:0]       silent_cq;
    wire [ENT_W-1:0]      ent;
    wire [15:0]           err_cq, err_index;
    wire [1:0]            count_placed, count_refused, count_dropped;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .s_axis_cpl_tdata(tdata), .s_axis_cpl_tdest(tdest), .s_axis_cpl_tkeep(tkeep),
        .s_axis_cpl_tuser(tuser), .s_axis_cpl_tvalid(tvalid), .s_axis_cpl_tready(tready), .op_valid(op_valid), .op_ready(op_ready),
        .op_code(op_code), .op_cq(op_cq), .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved), .res_valid(res_valid),
        .res_result(res_result), .res_index(res_index), .res_held(res_held), .cons_we(cons_we), .cons_cq(cons_cq), .cons_index(cons_index),
        .granted_we(granted_we), .granted_cq(granted_cq), .granted_total(granted_total), .granted2_we(granted2_we), .granted2_cq(granted2_cq),
        .granted2_total(granted2_total), .dead(dead), .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total),
        .ent_valid(ent_valid), .ent_ready(ent_ready), .ent_data(ent), .err_valid(err_valid), .err_cause(err_cause), .err_cq(err_cq),
        .err_index(err_index), .count_placed(count_placed), .count_refused(count_refused), .count_dropped(count_dropped),
        .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each CQ: whether it takes completions, counts nothing ahead, has overflowed; its ring; entries placed, of before this ring, completions counted,
    // entries consumed, credits granted by both ports. Numbers have no end here.
    reg          active [0:N-1], unreserved [0:N-1], refuses [0:N-1];
    reg  [57:0]  bases [0:N-1];
    integer      sizes [0:N-1], placed [0:N-1], origins [0:N-1], used [0:N-1], consumed [0:N-1], granted [0:N-1], granted2 [0:N-1];
    // Beats that wait, and the one whose first lane is done.
    reg  [BEAT-1:0] beat0, beat1, beat;
    integer      beats;
    reg          half;
    // On its way: the completion, the step, and the numbers of others as they were when it was taken.
    reg  [WAY-1:0] way_r, way_c;
    reg  [OP-1:0]  op_r, op_c;
    integer      cons_r, cons_c, grant_r, grant_c, quiet;
    reg          dead_c;
    // Entries that wait, the oldest first, and one that is about to.
    reg  [ENT_W-1:0] waiting [0:ROOM-1], made;
    integer      first, waits;
    reg          making;
    // Decided.
    reg          valid, range, step, on, free, error, usable, overflow, short, clear, start, stop, resize, fits, goes, takes, some, missing, failed;
    reg  [CQ_W-1:0] cq;
    reg  [1:0]   lanes, silent, put, ok;
    reg  [15:0]  name;
    reg  [511:0] data;
    reg  [7:0]   code;
    reg  [57:0]  base;
    reg  [4:0]   log2;
    reg          unres;
    integer      left, space, count, asked, taken, alloc, alloc_next, used_now, used_next, need, spot;
    reg  [255:0] low, high, trace;
    // Behind the edge.
    reg          out_res, out_err, out_trace, out_silent;
    reg  [7:0]   want_result, want_cause;
    reg  [IDX_W-1:0] want_index, want_held, want_silent;
    reg  [CQ_W-1:0] want_cq;
    reg  [15:0]  want_name, want_at;
    reg  [1:0]   want_placed, want_refused, want_dropped;
    reg  [ENT_W-1:0] made_now;
    reg          dropped;
    integer      k, busy, slow, mask, since_op, cons_step, grant_step, grant2_step;
    reg          aged, fills;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: completion %b, step %b %h of CQ %0d, lanes %b silent %b: placed %0d consumed %0d used %0d; entry %b, report %b %h", what,
                     $time, valid, step, code, cq, lanes, silent, alloc, cons_c, used_now, ent_valid, err_valid, err_cause);
            $finish;
        end
    endtask

    task decide;
        begin
            {valid, range, cq, lanes, silent, name, data} = way_c;
            {step, code, k[CQ_W-1:0], base, log2, unres} = op_c;
            if (step) cq = k[CQ_W-1:0];
            {clear, start, stop, resize} = {4{step}} & {code == CLEAR, code == `CDE_TRC_START, code == `CDE_TRC_STOP, code == `CDE_TRC_RESIZE};
            {on, free, alloc, used_now} = {active[cq], unreserved[cq], placed[cq], used[cq]};
            error = refuses[cq] || dead_c;
            usable = valid && range && on && !error;
            // Lane 0 has the first claim on places and credits.
            space = sizes[cq] - ((alloc - cons_c) & MASK);
            left = (grant_c - used_now) & MASK;
            {put, ok, overflow, short, count, asked, taken} = 0;
            for (k = 0; k < 2; k = k + 1) if (valid && lanes[k]) begin
                asked = asked + 1;
                if (usable) begin
                    if (free) ok[k] = !overflow && (silent[k] || count < space);
                    else ok[k] = taken < left;
                    if (free && !ok[k]) overflow = 1'b1;
                    if (!free && !ok[k]) short = 1'b1;
                    // Behind one that found no place none finds one.
                    if (ok[k]) taken = taken + 1;
                    put[k] = ok[k] && !silent[k];
                    if (put[k]) count = count + 1;
                end
            end
            alloc_next = alloc + count;
            used_next = free ? used_now : used_now + taken;
            need = ((alloc - cons_c) & MASK) + (free ? 0 : (grant_c - used_now) & MASK);
            fits = resize && !error && need <= (1 << log2);
            missing = valid && range && !on;
            failed = valid && range && on && error;
        end
    endtask

    task accept_side;
        begin
            if (beats == 0) {beat, some} = {tuser, tkeep, tdest, tdata, tvalid && !init};
            else {beat, some} = {beat0, 1'b1};
            free = waits <= ROOM - 4;
            goes = some && free && !op_valid && !op_r[OP-1] && !init;
            // Both lanes together only if they are of one CQ.
            takes = !(beat[545] && beat[544] && !half && beat[527:512] != beat[543:528]);
        end
    endtask

    task compare;
        begin
            #1;
            decide;
            if (ent_valid !== (waits > 0 || making)) wrong("entry");
            if (ent_valid) begin
                made_now = waits > 0 ? waiting[first] : made;
                // What is not placed says nothing.
                if (ent[ENT_W-1 -: 4 + CQ_W + IDX_W] !== made_now[ENT_W-1 -: 4 + CQ_W + IDX_W]) wrong("kind of entry");
                if (made_now[ENT_W-3 -: 2] != 0 && {ent[255:0], ent[512], ent[514], ent[516 +: 59]} !==
                    {made_now[255:0], made_now[512], made_now[514], made_now[516 +: 59]}) wrong("first entry");
                if (made_now[ENT_W-3 -: 2] == 2 && {ent[511:256], ent[513], ent[515], ent[575 +: 59]} !==
                    {made_now[511:256], made_now[513], made_now[515], made_now[575 +: 59]}) wrong("second entry");
            end
            if (silent_we !== out_silent || (out_silent && {silent_cq, silent_total} !== {want_cq, want_silent})) wrong("silent");
            if (res_valid !== out_res || (out_res && {res_result, res_index, res_held} !== {want_result, want_index, want_held})) wrong("outcome");
            if (err_valid !== out_err || (out_err && {err_cause, err_cq, err_index} !== {want_cause, want_name, want_at})) wrong("report");
            if ({count_placed, count_refused, count_dropped} !== {want_placed, want_refused, want_dropped}) wrong("count");
            if (trace_valid !== out_trace || (out_trace && trace_data !== trace)) wrong("trace");
            accept_side;
            if (op_ready !== (free && !init)) wrong("room for steps");
            if (tready !== (beats < 2 && !init)) wrong("room");
        end
    endtask

    // What comes out of the decision, one cycle behind it.
    task outcome;
        begin
            on = active[cq];
            free = unreserved[cq];
            out_res = step;
            want_result = !resize || fits ? `CDE_RES_OK : error ? `CDE_RES_CQ_ERROR : `CDE_RES_TOO_SMALL;
            want_index = alloc;
            want_held = free ? 0 : grant_c - used_now;
            out_err = (valid && !range) || missing || failed || overflow || short;
            want_cause = !range ? `CDE_CAUSE_CPL_BAD_CQ : missing ? `CDE_CAUSE_CPL_NO_CQ : failed ? `CDE_CAUSE_CPL_CQ_ERROR :
                         overflow ? `CDE_CAUSE_CQ_OVERFLOW : `CDE_CAUSE_CPL_NO_CREDIT;
            {want_name, want_at} = {name, 16'd0};
            want_at = alloc_next & MASK;
            want_placed = count;
            want_refused = (valid && !range) || missing || short ? asked - taken : 0;
            want_dropped = failed || overflow ? asked - taken : 0;
            out_trace = count != 0 || (!free && taken != count) || overflow || start || (stop && on) || fits;
            trace = 256'd0;
            trace[7:0] = step ? code : overflow ? `CDE_TRC_OVERFLOW : `CDE_TRC_PLACE;
            trace[8 +: CQ_W] = cq;
            if (!step) trace[35:32] = {free ? 2'd0 : taken[1:0] - count[1:0], count[1:0]};
            if (resize) trace[32 +: IDX_W] = alloc;
            {trace[64 +: IDX_W], trace[80 +: IDX_W], trace[96]} = {alloc[IDX_W-1:0], used_now[IDX_W-1:0], error};
            {trace[160 +: IDX_W], trace[176 +: IDX_W]} = {alloc_next[IDX_W-1:0], used_next[IDX_W-1:0]};
            trace[192] = refuses[cq] || overflow || (dead_c && !start) || stop;
        end
    endtask

    // The entry that is about to wait, with place and phase.
    task make;
        begin
            making = (valid && (count != 0 || overflow)) || clear || stop;
            spot = (alloc - origins[cq]) & MASK;
            low = {spot / sizes[cq] % 2 == 0, put[0] ? data[254:0] : data[510:256]};
            made[ENT_W-1 -: 4 + CQ_W + IDX_W] = {clear || stop, overflow, count[1:0], cq, clear ? {IDX_W{1'b0}} : alloc_next[IDX_W-1:0]};
            made[516 +: 59] = 2 * bases[cq] + spot % sizes[cq];
            {made[514], made[512], made[255:0]} = {class(low), low};
            spot = (spot + 1) & MASK;
            high = {spot / sizes[cq] % 2 == 0, data[510:256]};
            made[575 +: 59] = 2 * bases[cq] + spot % sizes[cq];
            {made[515], made[513], made[511:256]} = {class(high), high};
        end
    endtask

    task change;
        begin
            if (valid) {placed[cq], used[cq], refuses[cq]} = {alloc_next, used_next, refuses[cq] || overflow};
            if (clear) begin
                {active[cq], unreserved[cq], refuses[cq], placed[cq], origins[cq], used[cq]} = 0;
                {bases[cq], sizes[cq]} = {58'd0, 32'd1};
            end
            if (start) {active[cq], unreserved[cq]} = {1'b1, unres};
            if (stop) active[cq] = 1'b0;
            if (start || fits) begin
                {sizes[cq], bases[cq]} = {32'd1 << log2, base};
                origins[cq] = start ? 0 : alloc;
            end
        end
    endtask

    task advance;
        begin
            // Out.
            if (ent_valid && ent_ready) begin
                if (waits > 0) begin
                    first = (first + 1) % ROOM;
                    waits = waits - 1;
                    if (making) waiting[(first + waits) % ROOM] = made;
                    waits = waits + making;
                end
            end else if (making) begin
                waiting[(first + waits) % ROOM] = made;
                waits = waits + 1;
            end
            outcome;
            make;
            {out_silent, want_cq} = {valid || step, cq};
            change;
            want_silent = used[cq] - placed[cq];
            // In.
            {way_c, op_c, cons_c, grant_c} = {way_r, op_r, cons_r, grant_r};
            dead_c = dead[op_r[OP-1] ? op_r[OP-10 -: CQ_W] : way_r[WAY-3 -: CQ_W]];
            op_r = {op_valid && op_ready, op_code, op_cq, op_base, op_log2, op_unreserved};
            quiet = beat[544] && !half ? beat[527:512] : beat[543:528];
            way_r = {goes && beat[545:544] != 0, quiet < N, quiet[CQ_W-1:0], beat[545] && (takes || half), beat[544] && !half, beat[547:546], quiet[15:0],
                     beat[511:0]};
            if (cons_we) consumed[cons_cq] = consumed[cons_cq] + cons_step;
            if (granted_we) granted[granted_cq] = granted[granted_cq] + grant_step;
            if (granted2_we) granted2[granted2_cq] = granted2[granted2_cq] + grant2_step;
            k = op_valid ? op_cq : quiet[CQ_W-1:0];
            {cons_r, grant_r} = {consumed[k], granted[k] + granted2[k]};
            if (goes) half = !takes;
            if (goes && takes && beats > 0) {beat0, beats} = {beat1, beats - 32'd1};
            else if (goes && takes) dropped = 1'b1;
            if (tvalid && tready && !dropped) begin
                if (beats == 0) beat0 = {tuser, tkeep, tdest, tdata};
                else beat1 = {tuser, tkeep, tdest, tdata};
                beats = beats + 1;
            end
            dropped = 1'b0;
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task completions;
        begin
            tvalid = below(8) < busy;
            for (k = 0; k < 16; k = k + 1) tdata[32*k +: 32] = $random(seed);
            for (k = 0; k < 2; k = k + 1) begin
                if (below(2)) tdata[256*k + `CDE_CQE_TYPE_LSB +: 16] = `CDE_CQETYPE_RECEIVE;
                if (below(2)) tdata[256*k + `CDE_CQE_STATUS_LSB +: 8] = 8'd0;
            end
            tdest[15:0] = $random(seed) & mask & (N - 1);
            tdest[31:16] = below(4) != 0 ? tdest[15:0] : below(N);
            if (below(64) == 0) tdest = tdest ^ (32'd1 << below(32));
            tkeep = below(16) == 0 ? 0 : 1 + below(3);
            tuser = $random(seed) & $random(seed) & {2{!fills || below(8) == 0}};
            ent_ready = below(8) >= slow;
            if (below(aged ? 1024 : 64) == 0) dead = $random(seed) & $random(seed) & $random(seed);
        end
    endtask

    // Bounds that move as their owners move them: what is consumed was placed, what is granted has a place.
    task owners;
        begin
            {cons_cq, granted_cq, granted2_cq} = aged ? 0 : $random(seed);
            cons_step = fills ? below(16) : below(3);
            cons_we = !(fills && n % 4000 < 3500) && active[cons_cq] && placed[cons_cq] - consumed[cons_cq] >= cons_step && below(2);
            cons_index = consumed[cons_cq] + cons_step;
            grant_step = 1 + below(2);
            // Where a ring fills few are promised at a time, and the last place, too: what it must hold is then what it holds.
            granted_we = lots(granted_cq) >= (fills ? grant_step : 4) && below(2) && !(fills && promised(granted_cq) > 8);
            granted_total = granted[granted_cq] + grant_step;
            grant2_step = 1 + below(2);
            granted2_we = lots(granted2_cq) >= 4 && below(2) && !fills;
            granted2_total = granted2[granted2_cq] + grant2_step;
        end
    endtask

    // Places of a CQ that are neither taken nor promised.
    function integer lots;
        input [CQ_W-1:0] of;
        lots = !active[of] || unreserved[of] ? 0 : sizes[of] - (placed[of] - consumed[of]) - promised(of);
    endfunction

    function integer promised;
        input [CQ_W-1:0] of;
        promised = granted[of] + granted2[of] - used[of];
    endfunction

    // A CQ is cleared, started, resized, stopped.
    task steps;
        begin
            since_op = op_valid && op_ready ? 0 : since_op + 1;
            if (!op_valid || op_ready) begin
                op_cq = fills && below(2) ? 0 : $random(seed);
                op_valid = since_op > 3 && below(!active[op_cq] ? 3 : !aged ? 12 : fills ? 8 : 4000) == 0;
                op_base = {$random(seed), $random(seed)};
                op_log2 = !aged ? 2 + below(IDX_W - 3) : IDX_W - 2;
                if (fills && sizes[op_cq] == 1 << (IDX_W - 2) && below(2))
                    op_log2 = $clog2(placed[op_cq] - consumed[op_cq] + promised(op_cq) + 1) - below(3);
                if (op_log2 < 2 || op_log2 > IDX_W - 2) op_log2 = IDX_W - 2;
                op_base = op_base >> op_log2 << op_log2;
                op_unreserved = aged ? 1'b0 : $random(seed);
                if (active[op_cq]) op_code = refuses[op_cq] || below(aged ? 256 : 6) == 0 ? `CDE_TRC_STOP : below(2) ? `CDE_TRC_RESIZE : LOOK;
                else op_code = placed[op_cq] != 0 || used[op_cq] != 0 || below(4) == 0 ? CLEAR : `CDE_TRC_START;
            end
            // One that is cleared begins at 0.
            if (op_valid && op_code == CLEAR) begin
                {cons_we, granted_we, granted2_we, cons_index, granted_total, granted2_total} = {3'b111, {3*IDX_W{1'b0}}};
                {cons_cq, granted_cq, granted2_cq} = {3{op_cq}};
                {cons_step, grant_step, grant2_step} = {-consumed[op_cq], -granted[op_cq], -granted2[op_cq]};
            end
        end
    endtask

    task reset;
        begin
            {tvalid, op_valid, cons_we, granted_we, granted2_we, dropped} = 6'd0;
            reset_and_clear(N + 4);
            for (k = 0; k < N; k = k + 1) begin
                {active[k], unreserved[k], refuses[k], bases[k], placed[k], origins[k], used[k], consumed[k], granted[k], granted2[k]} = 0;
                sizes[k] = 1;
            end
            {way_r, way_c, op_r, op_c, dead_c, half, making, out_res, out_err, out_trace, out_silent, dead} = 0;
            {want_placed, want_refused, want_dropped} = 6'd0;
            {beats, first, waits, cons_r, cons_c, grant_r, grant_c, since_op} = 0;
        end
    endtask

    initial begin
        aged = 1'b0;
        set_up(32000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 4000 == 0 && n <= 16000 || n == 24000) reset;
            // One CQ in long lives at last, so that its indices and credits use all of their bits; then it fills, and is resized about what it holds.
            aged = n >= 16000;
            fills = n >= 24000;
            if (n % 64 == 0) begin
                busy = fills ? 8 : 1 + below(8);
                slow = below(aged ? 2 : 8);
                mask = aged ? 0 : n[6] ? -1 : $random(seed);
            end
            init = below(128) == 0;
            completions;
            owners;
            #1 steps;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
