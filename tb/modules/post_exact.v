// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_post through its ports, cycle by cycle.
//
// Purpose: posts of few and of many queue pairs, right ones and ones of wrong pages, numbers and types, held ones, watermarks and ages; commands,
//          connection events and failures in between; credit, full and dead CQs; settings and retirements that change; resets and clearing walks
//          under way. Against a list of what is on its way, and the rules of posts and of queue pairs' states (DF-01 to DF-11). Compares room, each
//          decision, release, outcome and trace step, and what is known of each queue pair, in its cycle. Posts that get older than any limit are left
//          to tests of the whole design. The design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, CQ_W, PAGE_W, IDX_W, SQ_LOG2, TICK as parameters of the bench (NUM_QP is 1 << QP_W, MOD_TICK is TICK); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module post_exact;
    parameter QP_W = 2;
    parameter CQ_W = 3;
    parameter PAGE_W = 2;
    parameter IDX_W = 5;
    parameter SQ_LOG2 = 2;
    parameter TICK = 4;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_post_ops.vh"
    localparam N = 1 << QP_W;
    localparam DEPTH = 1 << SQ_LOG2;
    localparam MASK = (1 << IDX_W) - 1;
    localparam SET = 33 + SQ_LOG2 + PAGE_W + CQ_W;
    // What is on its way: {post, step, code, target, QP, nothing received, far, page, line}
    localparam WAY = 1 + 1 + 4 + 4 + QP_W + 1 + 1 + PAGE_W + 512;

    reg                   post_valid = 0, op_valid = 0, op_empty = 0, removed = 0, rq_hold = 0, gr_room = 0, gr_dead = 0, set_we = 0;
    reg                   ret_we = 0;
    reg  [PAGE_W-1:0]     post_page = 0;
    reg  [511:0]          post_data = 0;
    reg  [3:0]            op_code = 0, op_target = 0;
    reg  [QP_W-1:0]       op_qp = 0, set_qp = 0, ret_qp = 0;
    reg  [SET-1:0]        set_data = 0;
    reg  [IDX_W-1:0]      ret_index = 0;
    wire                  post_ready, post_res_valid, opr_valid, rq_valid, gr_take, acc_valid, end_we, end_last, rel_valid, rel_we, fresh, closes;
    wire                  trace_valid;
    wire [7:0]            post_res_cause, opr_result;
    wire [3:0]            opr_code, opr_old, opr_new;
    wire [QP_W-1:0]       opr_qp, acc_qp;
    wire [3*IDX_W-1:0]    opr_indices;
    wire [CQ_W-1:0]       rq_cq;
    wire [SQ_LOG2-1:0]    acc_slot, end_slot;
    wire [511:0]          acc_data;
    wire [49:0]           acc_verb;
    wire [IDX_W-1:0]      rel_index;
    wire [N-1:0]          stop, qp_known, qp_live, qp_open, qp_up;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .post_valid(post_valid), .post_ready(post_ready), .post_page(post_page),
        .post_data(post_data), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause), .op_valid(op_valid), .op_code(op_code),
        .op_target(op_target), .op_qp(op_qp), .op_empty(op_empty), .removed(removed), .opr_valid(opr_valid), .opr_code(opr_code), .opr_qp(opr_qp),
        .opr_result(opr_result), .opr_old(opr_old), .opr_new(opr_new), .opr_indices(opr_indices), .rq_valid(rq_valid), .rq_hold(rq_hold),
        .rq_cq(rq_cq), .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .set_we(set_we), .set_qp(set_qp), .set_data(set_data),
        .acc_valid(acc_valid), .acc_qp(acc_qp), .acc_slot(acc_slot), .acc_data(acc_data), .acc_verb(acc_verb), .end_we(end_we),
        .end_slot(end_slot), .end_last(end_last), .rel_valid(rel_valid), .rel_we(rel_we), .rel_index(rel_index), .stop(stop), .fresh(fresh),
        .qp_known(qp_known), .qp_live(qp_live), .qp_open(qp_open), .qp_up(qp_up), .closes(closes), .ret_we(ret_we), .ret_qp(ret_qp),
        .ret_index(ret_index), .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each queue pair: state, indices, when the first one that is held came, settings, and what is known of it outside.
    reg  [3:0]      states [0:N-1], state, next;
    integer         tails [0:N-1], frees [0:N-1], retired [0:N-1], tail, free, gone, held;
    reg  [17:0]     since [0:N-1], now, elapsed;
    reg  [SET-1:0]  settings [0:N-1], set_b, set_r, set_c;
    reg  [N-1:0]    holding, aging, stopped, known, live, open, up;
    reg  [WAY-1:0]  way_b, way_r, way_c;
    integer         gone_r, gone_c, prescale, scan, patience;
    reg             sweep;
    reg  [2:0]      swept;
    // The one that is decided.
    reg             post, op, empty, far, wanted, looks, mine, fault, fits, accepts, releases, ends, aged, changes, leaves, none;
    reg  [3:0]      code, target;
    reg  [QP_W-1:0] qp;
    reg  [PAGE_W-1:0] page;
    reg  [511:0]    line;
    reg  [7:0]      cause, result, opcode;
    reg  [15:0]     watermark, age;
    // Behind the edge.
    reg             res_valid, out_valid, traced;
    reg  [7:0]      res_cause, out_result;
    reg  [3:0]      out_code, out_old, out_new;
    reg  [QP_W-1:0] out_qp;
    reg  [3*IDX_W-1:0] out_indices;
    reg  [255:0]    step;
    integer         k, busy, mask, pick, round;
    reg             late = 1'b0;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: post %b, step %b %0d of QP %0d in state %0d: accepted %b, released %b at %0d; want %b, %b; cause %h, result %h", what,
                     $time, post, op, code, qp, state, acc_valid, rel_valid, rel_index, accepts, releases || leaves, cause, result);
            $finish;
        end
    endtask

    function ends_life;
        input [3:0] of;
        ends_life = of == `CDE_QPS_FREE || of == `CDE_QPS_DESTROYING;
    endfunction

    function joined;
        input [3:0] of;
        joined = of == `CDE_QPS_CONNECTED || of == `CDE_QPS_DISCONNECT_PENDING;
    endfunction

    // The state that a step leaves, and its result.
    task next_state;
        begin
            {next, result} = {state, 8'd0 + `CDE_RES_OK};
            none = tail == gone && empty;
            case (code)
                OP_CREATE: next = `CDE_QPS_IDLE;
                OP_CONNECT: begin
                    if (state == `CDE_QPS_IDLE) next = `CDE_QPS_CONNECTED;
                    else result = `CDE_RES_BAD_STATE;
                end
                OP_SET: begin
                    result = `CDE_RES_BAD_STATE;
                    if ((target == `CDE_QPS_DISCONNECT_PENDING && state == `CDE_QPS_CONNECTED) || (target == `CDE_QPS_DISCONNECTED && joined(state)))
                        {next, result} = {target, 8'd0 + `CDE_RES_OK};
                    if (target == `CDE_QPS_IDLE && (state == `CDE_QPS_DISCONNECTED || state == `CDE_QPS_ERROR))
                        {next, result} = none ? {target, 8'd0 + `CDE_RES_OK} : {state, 8'd0 + `CDE_RES_BUSY};
                end
                OP_FLUSH: begin
                    if (joined(state)) next = `CDE_QPS_ERROR;
                    else if (state != `CDE_QPS_ERROR && state != `CDE_QPS_DISCONNECTED) result = `CDE_RES_BAD_STATE;
                end
                OP_DESTROY: {next, result} = none ? {4'd0 + `CDE_QPS_FREE, 8'd0 + `CDE_RES_OK} : {4'd0 + `CDE_QPS_DESTROYING, 8'd0 + `CDE_RES_PENDING};
                OP_CONN: if (joined(state)) next = `CDE_QPS_DISCONNECTED;
                OP_FAIL: if (joined(state)) next = `CDE_QPS_ERROR;
                default: next = state;
            endcase
        end
    endtask

    task decide;
        begin
            {post, op, code, target, qp, empty, far, page, line} = way_c;
            {state, tail, free, gone} = {states[qp], tails[qp], frees[qp], gone_c};
            {age, watermark} = set_c[SET-1 -: 32];
            opcode = line[`CDE_POST_OPCODE_LSB +: 8];
            mine = !far && !ends_life(state) && set_c[CQ_W +: PAGE_W] == page;
            fits = ((tail - gone) & MASK) != set_c[CQ_W + PAGE_W +: SQ_LOG2 + 1];
            // The causes, the last one of which is stronger than those before.
            cause = 8'h00;
            if (!gr_room) cause = `CDE_CAUSE_NO_CREDIT;
            if (gr_dead) cause = `CDE_CAUSE_CQ_ERROR;
            if (!fits) cause = `CDE_CAUSE_QUEUE_FULL;
            if (state != `CDE_QPS_CONNECTED) cause = `CDE_CAUSE_NOT_CONNECTED;
            if (opcode != `CDE_OPC_WRITE) cause = `CDE_CAUSE_BAD_OPCODE;
            if (removed) cause = `CDE_CAUSE_DEVICE_REMOVED;
            if (!mine) cause = `CDE_CAUSE_NOT_OWNER;
            if (ends_life(state)) cause = `CDE_CAUSE_NO_QP;
            if (far) cause = `CDE_CAUSE_BAD_QP;
            accepts = post && cause == 8'h00;
            fault = !(cause == 8'h00 || cause == `CDE_CAUSE_NO_CREDIT || cause == `CDE_CAUSE_CQ_ERROR);
            held = (tail - free) & MASK;
            elapsed = now - since[qp];
            aged = op && code == OP_AGE && held != 0 && age != 0 && elapsed > age;
            // A post that ends a chain, or one that fails behind some that are held, or the age of those.
            ends = accepts && (!line[`CDE_POST_DEFER_LSB] || (watermark != 0 && held + 1 >= watermark));
            releases = ends || (post && mine && !accepts && held != 0) || aged;
            {next, result} = {state, 8'd0 + `CDE_RES_OK};
            if (op) next_state;
            changes = next != state;
            leaves = changes && state == `CDE_QPS_CONNECTED;
        end
    endtask

    task compare;
        begin
            #1;
            decide;
            wanted = (sweep ? holding[scan] : aging[scan]) && !init;
            looks = wanted && !op_valid && (patience == 0 || !post_valid || rq_hold);
            if (post_ready !== (!op_valid && !rq_hold && !init && !(wanted && patience == 0))) wrong("room");
            if (rq_valid !== way_b[WAY-1] || (rq_valid && rq_cq !== set_b[CQ_W-1:0])) wrong("credit asked for");
            if (gr_take !== (post && !fault)) wrong("credit taken");
            if (acc_valid !== accepts) wrong("acceptance");
            if (accepts && (acc_qp !== qp || acc_slot !== tail % DEPTH || acc_data !== line)) wrong("what is accepted");
            if (accepts && acc_verb !== {2'b00, 16'd0 + `CDE_CQETYPE_WRITE, line[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB +: 32]}) wrong("its kind");
            if (end_we !== (accepts || releases)) wrong("end of a batch");
            if (end_we && (end_last !== releases || end_slot !== ((tail - !accepts) & (DEPTH - 1)))) wrong("end of a batch");
            if (rel_valid !== (releases || leaves) || rel_we !== (post || op)) wrong("release");
            if (rel_we && (acc_qp !== qp || rel_index !== ((releases || leaves ? tail + accepts : free) & MASK))) wrong("what is released");
            if (fresh !== (op && code == OP_CONNECT && changes)) wrong("new connection");
            if (closes !== (changes && (joined(state) || state == `CDE_QPS_IDLE) && !joined(next) && next != `CDE_QPS_IDLE)) wrong("end of receives");
            if ({stop, qp_known, qp_live, qp_open, qp_up} !== {stopped, known, live, open, up}) wrong("what is known of QPs");
            if (post_res_valid !== res_valid || (res_valid && post_res_cause !== res_cause)) wrong("answer to a post");
            if (opr_valid !== out_valid) wrong("outcome");
            if (out_valid && {opr_code, opr_qp, opr_result, opr_old, opr_new, opr_indices} !== {out_code, out_qp, out_result, out_old, out_new, out_indices})
                wrong("outcome");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    function [95:0] shown;
        input [3:0] of;
        input integer t, r;
        begin
            shown = 96'd0;
            shown[3:0] = of;
            shown[16 +: IDX_W] = t;
            shown[32 +: IDX_W] = r;
            shown[48 +: IDX_W] = gone;
        end
    endfunction

    task time_goes_on;
        begin
            if (!wanted || looks) begin
                if (scan == N - 1) {sweep, swept} = {now[17:15] != swept, now[17:15]};
                scan = (scan + 1) % N;
                patience = 60;
            end else if (patience != 0) patience = patience - 1;
            prescale = (prescale + 1) % TICK;
            if (prescale == 0) now = now + 1;
        end
    endtask

    task advance;
        begin
            pick = looks ? scan : 0;
            k = (tail + accepts) & MASK;
            gone = gone & MASK;
            step = 256'd0;
            step[7:0] = post ? `CDE_TRC_POST : aged ? `CDE_TRC_AGE : `CDE_TRC_QP_STATE;
            step[8 +: QP_W] = qp;
            step[63:32] = post ? {line[`CDE_POST_FLAGS_LSB +: 16], opcode, cause} : aged ? 32'd0 : code == OP_CONN ? 32'd1 : code == OP_FAIL ? 32'd2 : 32'd0;
            step[159:64] = shown(state, tail, free);
            step[255:160] = shown(next, k, releases || leaves ? k : free);
            traced = ((post && mine) || aged || changes) && !rst;
            {res_valid, res_cause} = {post && !rst, cause};
            {out_code, out_qp, out_result, out_old, out_new} = {code, qp, result, state, next};
            out_valid = op && code != OP_AGE && !rst;
            out_indices = {gone[IDX_W-1:0], step[192 +: IDX_W], k[IDX_W-1:0]};
            if (post || op) begin
                // Nothing held: the time begins with what comes. No limit is longer than 2^16 ticks, so older ones need no more.
                if (held == 0) since[qp] = now;
                else if (elapsed >= 18'h10000) since[qp] = now - 18'h10000;
                tails[qp] = k;
                if (releases || leaves) frees[qp] = k;
                states[qp] = next;
                holding[qp] = k != frees[qp];
                aging[qp] = holding[qp] && age != 0;
                if (op && code == OP_CONNECT && changes) stopped[qp] = 1'b0;
                if (leaves) stopped[qp] = 1'b1;
                if (changes) {known[qp], live[qp], open[qp], up[qp]} = {next != `CDE_QPS_FREE, !ends_life(next), joined(next) || next == `CDE_QPS_IDLE,
                                                                        joined(next)};
            end
            // Settings count as they were taken with the post or step, retirements as they are a cycle later.
            {set_c, set_r} = {set_r, set_b};
            {gone_c, gone_r} = {gone_r, 32'd0};
            if (ret_we) retired[ret_qp] = ret_index;
            gone_r = retired[way_b[513 + PAGE_W + 1 +: QP_W]];
            {way_c, way_r} = {way_r, way_b};
            way_b = {post_valid && post_ready, op_valid || looks, op_valid ? op_code : OP_AGE, op_target,
                     op_valid ? op_qp : looks ? pick[QP_W-1:0] : post_data[`CDE_POST_QP_LSB +: QP_W], op_empty,
                     post_data[`CDE_POST_QP_LSB +: 16] >= N, post_page, post_data};
            if (set_we) settings[set_qp] = set_data;
            set_b = settings[way_b[513 + PAGE_W + 1 +: QP_W]];
            time_goes_on;
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task posts;
        begin
            post_valid = below(8) < busy;
            for (k = 0; k < 16; k = k + 1) post_data[32*k +: 32] = $random(seed);
            pick = $random(seed) & mask & (N - 1);
            post_data[63:0] = 64'd0;
            post_data[`CDE_POST_QP_LSB +: 16] = pick;
            if (below(32) == 0) post_data[`CDE_POST_QP_LSB +: 16] = pick | (16'd1 << below(16));
            post_data[`CDE_POST_OPCODE_LSB +: 8] = below(32) == 0 ? 8'h80 : `CDE_OPC_WRITE;
            post_data[`CDE_POST_SEGMENTS_LSB +: 8] = 8'd1;
            post_data[`CDE_POST_DEFER_LSB] = below(4) != 0;
            post_data[`CDE_POST_SLOT0_LSB + `CDE_SEGMENT_LENGTH_LSB + 31] = 1'b0;
            post_page = below(32) == 0 ? $random(seed) : settings[pick][CQ_W +: PAGE_W];
            gr_room = below(16) != 0;
            gr_dead = below(64) == 0;
            rq_hold = below(16) == 0;
            removed = below(128) == 0;
        end
    endtask

    task steps;
        begin
            op_valid = below(8) == 0;
            op_qp = $random(seed);
            op_target = below(4) == 0 ? $random(seed) : below(6);
            op_empty = below(4) != 0;
            // On the way to a connection, mostly.
            case (states[op_qp])
                `CDE_QPS_FREE: op_code = OP_CREATE;
                `CDE_QPS_IDLE: op_code = OP_CONNECT;
                `CDE_QPS_CONNECTED: op_code = OP_LOOK;
                `CDE_QPS_DESTROYING: op_code = OP_DESTROY;
                default: {op_code, op_target} = {OP_SET, 4'd0 + `CDE_QPS_IDLE};
            endcase
            if (below(late ? 64 : 5) == 0) op_code = below(8);
            if (late && below(4)) op_qp = op_qp & mask;
            ret_qp = $random(seed);
            if (late && below(4)) ret_qp = ret_qp & mask;
            ret_we = retired[ret_qp] != frees[ret_qp] && below(3) == 0;
            ret_index = retired[ret_qp] + 1;
            set_we = below(32) == 0;
            set_qp = $random(seed);
            set_data = {$random(seed), $random(seed), $random(seed)};
            set_data[SET-1 -: 32] = {16'd0, below(2) ? 16'd0 : 16'd0 + below(DEPTH + 1)};
            if (below(2)) set_data[SET-1 -: 16] = 1 + below(40);
            set_data[CQ_W + PAGE_W +: SQ_LOG2 + 1] = 1 + below(DEPTH);
        end
    endtask

    task reset;
        begin
            {post_valid, op_valid, ret_we, set_we} = 4'd0;
            reset_and_clear(N);
            {holding, aging, stopped, known, live, open, up, way_b, way_r, way_c, set_b, set_r, set_c, now, sweep, swept} = 0;
            {res_valid, out_valid, traced, wanted, looks} = 0;
            {gone_r, gone_c, prescale, scan, patience} = {128'd0, 32'd60};
            for (k = 0; k < N; k = k + 1) begin
                {states[k], tails[k], frees[k], retired[k], since[k]} = 0;
                settings[k] = 0;
            end
            for (n = 0; n < N + 6; n = n + 1) time_goes_on;
        end
    endtask

    initial begin
        set_up(6);
        for (round = 0; round < cycles; round = round + 1) begin
            reset;
            // The last life is long, and of one queue pair most of the time: indices get late.
            late = round == cycles - 1;
            for (n = 0; n < (late ? 2500 * cycles : 2500); n = n + 1) begin
                if (n % 64 == 0) begin
                    busy = n[7] ? 8 : 1 + below(8);
                    mask = late && n[9:6] != 0 ? 0 : n[6] ? -1 : $random(seed);
                end
                init = below(256) == 0;
                posts;
                steps;
                compare;
                advance;
                edge_of_clock;
            end
        end
        passed;
    end

endmodule

`default_nettype wire
