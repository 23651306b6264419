// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_rpost through its ports, cycle by cycle.
//
// Purpose: posts on own and on shared queues, right ones and ones that differ in a field or a bit, with segments in, about and out of their regions;
//          reaped indices; control steps in between; credit, full queues, dead CQs; settings and numbers of others that move; resets and clearing
//          walks under way. Against a list of what is on its way and the rules of receive posts (SRQ-01, SRQ-09, SRQ-12, SRQ-15). Compares room,
//          each decision, buffer, tail, outcome and trace step in its cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, SRQ_W, CQ_W, PAGE_W, IDX_W as parameters of the bench (NUM_QP is 1 << QP_W, NUM_SRQ 1 << SRQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module rpost_exact;
    parameter QP_W = 2;
    parameter SRQ_W = 1;
    parameter CQ_W = 3;
    parameter PAGE_W = 2;
    parameter IDX_W = 5;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_rx_ops.vh"
    localparam N = 1 << QP_W;
    localparam SRQS = 1 << SRQ_W;
    localparam QUEUES = 2 * N;
    localparam MASK = (1 << IDX_W) - 1;
    localparam SET = 18 + PAGE_W + CQ_W;
    // On its way: {post, step, kind, code, queue, far, reserved, many, page, value, buffer}
    localparam WAY = 1 + 1 + 2 + 2 + QP_W + 1 + 3 + PAGE_W + IDX_W + 448;

    reg                   post_valid = 0, op_valid = 0, rq_hold = 0, gr_room = 0, gr_dead = 0, removed = 0, set_we = 0, done_we = 0;
    reg                   completed_we = 0;
    reg  [1:0]            post_kind = 1, op_code = 0;
    reg  [PAGE_W-1:0]     post_page = 0;
    reg  [511:0]          post_data = 0;
    reg  [63:0]           post_word = 0;
    reg  [QP_W:0]         op_queue = 0, set_queue = 0;
    reg  [IDX_W-1:0]      op_size = 0, done_total = 0, completed_total = 0;
    reg  [SET-1:0]        set_data = 0;
    reg  [N-1:0]          qp_live = 0, qp_open = 0;
    reg  [SRQS-1:0]       srq_live = 0;
    reg  [389:0]          found = 0;
    reg  [QP_W-1:0]       done_qp = 0;
    reg  [SRQ_W-1:0]      completed_srq = 0;
    wire                  post_ready, post_res_valid, op_ready, opr_valid, opr_ok, rq_valid, gr_take, buf_we, tail_we, trace_valid;
    wire [7:0]            post_res_cause;
    wire [4*IDX_W-1:0]    opr_indices;
    wire [CQ_W-1:0]       rq_cq;
    wire [1:0]            rq_count;
    wire [95:0]           keys;
    wire [QP_W:0]         buf_queue, tail_queue;
    wire [IDX_W-1:0]      buf_index, tail;
    wire [447:0]          buf_data;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .post_valid(post_valid), .post_ready(post_ready), .post_kind(post_kind),
        .post_page(post_page), .post_data(post_data), .post_word(post_word), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause),
        .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_queue(op_queue), .op_size(op_size), .opr_valid(opr_valid),
        .opr_ok(opr_ok), .opr_indices(opr_indices), .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq), .rq_count(rq_count),
        .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .removed(removed), .set_we(set_we), .set_queue(set_queue), .set_data(set_data),
        .qp_live(qp_live), .qp_open(qp_open), .srq_live(srq_live), .keys(keys), .found(found), .done_we(done_we), .done_qp(done_qp),
        .done_total(done_total), .completed_we(completed_we), .completed_srq(completed_srq), .completed_total(completed_total),
        .buf_we(buf_we), .buf_queue(buf_queue), .buf_index(buf_index), .buf_data(buf_data), .tail_we(tail_we), .tail_queue(tail_queue),
        .tail(tail), .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each queue, those of QPs first: size, reaped, tail; settings; of QPs what is reported, of SRQs what is completed.
    integer         sizes [0:QUEUES-1], reaped [0:QUEUES-1], tails [0:QUEUES-1], freed [0:QUEUES-1];
    reg  [SET-1:0]  settings [0:QUEUES-1], set_b, set_r, set_c;
    reg  [WAY-1:0]  way_b, way_r, way_c;
    integer         freed_r, freed_c;
    reg  [7:0]      why_r, why_c;
    // The one that is decided.
    reg             post, op, far, reserved, many, shared, live, takes, mine, reap, accept, legal, start, resizes, changes;
    reg  [1:0]      kind, code;
    reg  [QP_W:0]   queue;
    reg  [PAGE_W-1:0] page;
    reg  [447:0]    data;
    reg  [7:0]      cause;
    integer         value, size, done, end_of, used, gone;
    // Behind the edge.
    reg             res_valid, out_valid, out_ok, traced;
    reg  [7:0]      res_cause;
    reg  [4*IDX_W-1:0] out_indices;
    reg  [255:0]    step;
    reg  [127:0]    from, low, high;
    integer         k, busy, mask, pick, number, segments;
    reg  [129:0]    region [0:2];

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: post %b kind %0d, step %b %0d of queue %0d: accepted %b, want %b; cause %h; size %0d reaped %0d tail %0d freed %0d", what,
                     $time, post, kind, op, code, queue, buf_we, accept, cause, size, done, end_of, gone);
            $finish;
        end
    endtask

    // What is wrong with the segments of the post that was taken a cycle ago: the first one that is, in its first respect.
    task look_at_segments;
        begin
            why_r = 8'h00;
            for (k = 2; k >= 0; k = k - 1) begin
                from = way_b[128*k +: 64];
                low = found[130*k + 18 +: 64];
                high = low + found[130*k + 82 +: 48];
                if (way_b[128*k + 64 +: 32] != 0) begin
                    if (!found[130*k]) why_r = `CDE_CAUSE_BAD_REGION;
                    else if (found[130*k + 1 +: 16] != set_b[CQ_W + PAGE_W +: 16]) why_r = `CDE_CAUSE_BAD_ZONE;
                    else if (!found[130*k + 17]) why_r = `CDE_CAUSE_NO_LOCAL_WRITE;
                    else if (from < low || from + way_b[128*k + 64 +: 32] > high) why_r = `CDE_CAUSE_BAD_RANGE;
                end
            end
        end
    endtask

    task decide;
        begin
            {post, op, kind, code, queue, far, reserved, many, page, value[IDX_W-1:0], data} = way_c;
            value = value & MASK;
            {size, done, end_of, gone} = {sizes[queue], reaped[queue], tails[queue], freed_c};
            shared = queue[QP_W];
            live = shared ? srq_live[queue[SRQ_W-1:0]] : qp_live[queue[QP_W-1:0]];
            takes = shared || (qp_open[queue[QP_W-1:0]] && !set_c[CQ_W + PAGE_W + 16]);
            mine = !far && live && page == set_c[CQ_W +: PAGE_W];
            used = (end_of - (shared ? done : gone)) & MASK;
            reap = post && kind == 3;
            legal = ((value - done) & MASK) <= ((gone - done) & MASK);
            // The causes, the last one of which is stronger than those before.
            cause = 8'h00;
            if (reap) begin
                if (!legal) cause = `CDE_CAUSE_BAD_INDEX;
            end else begin
                if (!shared && !gr_room) cause = `CDE_CAUSE_NO_CREDIT;
                if (!shared && gr_dead) cause = `CDE_CAUSE_CQ_ERROR;
                if (used >= size) cause = `CDE_CAUSE_QUEUE_FULL;
                if (!takes) cause = `CDE_CAUSE_BAD_STATE;
                if (why_c != 0) cause = why_c;
                if (many) cause = `CDE_CAUSE_TOO_MANY_SEGMENTS;
                if (reserved) cause = `CDE_CAUSE_RESERVED_BITS;
                if (removed) cause = `CDE_CAUSE_DEVICE_REMOVED;
            end
            if (!mine) cause = `CDE_CAUSE_NOT_OWNER;
            if (!live) cause = shared ? `CDE_CAUSE_NO_SRQ : `CDE_CAUSE_NO_QP;
            if (far) cause = shared ? `CDE_CAUSE_BAD_SRQ : `CDE_CAUSE_BAD_QP;
            if (reap && reserved) cause = `CDE_CAUSE_RESERVED_BITS;
            accept = post && !reap && cause == 0;
            start = op && code == RP_START;
            resizes = op && code == RP_SIZE && value >= used;
            changes = accept || (reap && cause == 0) || start || resizes;
        end
    endtask

    task compare;
        begin
            #1;
            decide;
            if (post_ready !== (!op_valid && !rq_hold && !init) || op_ready !== !init) wrong("room");
            if (keys !== {post_data[511:480], post_data[383:352], post_data[255:224]}) wrong("keys");
            if (rq_valid !== (way_b[WAY-1] && way_b[WAY-3 -: 2] == 1)) wrong("credit asked for");
            if (rq_valid && {rq_cq, rq_count} !== {set_b[CQ_W-1:0], set_b[SET-1] ? 2'd2 : 2'd1}) wrong("credit asked for");
            if (gr_take !== (post && !reap && !shared && (cause == 0 || cause == `CDE_CAUSE_CQ_ERROR || cause == `CDE_CAUSE_NO_CREDIT))) wrong("credit taken");
            if (buf_we !== accept || (accept && {buf_queue, buf_index, buf_data} !== {queue, end_of[IDX_W-1:0], data})) wrong("buffer");
            if (tail_we !== (accept || start) || (tail_we && tail_queue !== queue)) wrong("tail");
            if (tail_we && tail !== ((start ? gone : end_of + 1) & MASK)) wrong("tail");
            if (post_res_valid !== res_valid || (res_valid && post_res_cause !== res_cause)) wrong("answer to a post");
            if (opr_valid !== out_valid || (out_valid && {opr_ok, opr_indices} !== {out_ok, out_indices})) wrong("outcome");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    function [95:0] shown;
        input integer s, r, t;
        begin
            shown = 96'd0;
            shown[0 +: IDX_W] = t;
            shown[16 +: IDX_W] = shared ? r : gone;
            shown[32 +: IDX_W] = s;
        end
    endfunction

    task advance;
        begin
            {traced, res_valid, res_cause} = {((post && !reap && mine) || changes) && !rst, post && !rst, cause};
            step = 256'd0;
            step[7:0] = post && !reap ? `CDE_TRC_RECV_POST : reap ? `CDE_TRC_REAP : `CDE_TRC_RECV_SIZE;
            step[8 +: QP_W] = queue;
            if (reap) step[32 +: IDX_W] = value;
            else step[40:32] = {shared, post ? cause : {7'd0, start}};
            step[159:64] = shown(size, done, end_of);
            if (start || resizes) size = value;
            if (start) {done, end_of} = {gone, gone};
            if (reap && cause == 0) done = value;
            if (accept) end_of = end_of + 1;
            {sizes[queue], reaped[queue], tails[queue]} = {size, done, end_of};
            step[255:160] = shown(size, done, end_of);
            {out_valid, out_ok} = {op && !rst, !(op && code == RP_SIZE) || resizes};
            out_indices = {size[IDX_W-1:0], gone[IDX_W-1:0], done[IDX_W-1:0], end_of[IDX_W-1:0]};
            // Numbers of others count as they are a cycle behind the post.
            {set_c, set_r, why_c, freed_c} = {set_r, set_b, why_r, freed_r};
            if (done_we) freed[done_qp] = done_total;
            if (completed_we) freed[N + completed_srq] = completed_total;
            freed_r = freed[place(way_b[WAY-7 -: QP_W + 1])];
            look_at_segments;
            {way_c, way_r} = {way_r, way_b};
            pick = post_kind == 3 ? post_word[`CDE_SRQ_DB_SRQ_LSB +: 16] : post_data[`CDE_RPOST_QUEUE_LSB +: 16];
            segments = post_data[`CDE_RPOST_SEGMENTS_LSB +: 8];
            number = pick;
            far = number >= (op_valid ? (op_queue[QP_W] ? SRQS : N) : post_kind == 1 ? N : SRQS);
            queue = op_valid ? op_queue : {post_kind != 1, number[QP_W-1:0]};
            if (post_kind == 3) reserved = post_word[63:48] != 0 || post_word[31:0] > MASK;
            else reserved = {post_data[63:48], post_data[31:16], post_data[7:0]} != 0;
            data = {post_data[`CDE_RPOST_CONTEXT_LSB +: 64], segments > 2 ? post_data[511:384] : 128'd0, segments > 1 ? post_data[383:256] : 128'd0,
                    segments > 0 ? post_data[255:128] : 128'd0};
            way_b = {post_valid && post_ready, op_valid && op_ready, post_kind, op_code, queue, far, reserved, segments > 3 && post_kind != 3, post_page,
                     op_valid ? op_size : post_word[IDX_W-1:0], data};
            if (set_we) settings[set_queue] = set_data;
            set_b = settings[queue];
        end
    endtask

    // Of a shared queue its number among the SRQs there are.
    function integer place;
        input [QP_W:0] of;
        place = of[QP_W] ? N + of[SRQ_W-1:0] : of;
    endfunction

    // ---------------------------------------------------------------- what comes in
    task posts;
        begin
            post_valid = below(8) < busy;
            post_kind = 1 + below(3);
            for (k = 0; k < 16; k = k + 1) post_data[32*k +: 32] = $random(seed);
            pick = $random(seed) & mask & ((post_kind == 1 ? N : SRQS) - 1);
            post_data[63:0] = 64'd0;
            post_data[`CDE_RPOST_QUEUE_LSB +: 16] = pick;
            post_data[`CDE_RPOST_SEGMENTS_LSB +: 8] = below(2) ? 3 : below(4);
            for (k = 0; k < 3; k = k + 1) begin
                post_data[128 + 128*k +: 64] = below(4) == 0 ? 64'd0 - below(64) : below(64);
                post_data[192 + 128*k +: 32] = below(4) == 0 ? (below(2) ? 32'd1 << below(32) : $random(seed)) : below(40);
            end
            if (below(32) == 0) post_data[`CDE_RPOST_SEGMENTS_LSB +: 8] = below(2) ? 4 : $random(seed);
            if (below(16) == 0) post_data = post_data ^ (512'd1 << below(64));
            pick = post_kind == 3 ? N + pick : pick;
            post_word = 64'd0;
            post_word[`CDE_SRQ_DB_SRQ_LSB +: 16] = pick - (post_kind == 3 ? N : 0);
            post_word[IDX_W-1:0] = below(8) == 0 ? $random(seed) : reaped[pick] + below(3);
            if (below(16) == 0) post_word = post_word ^ (64'd1 << below(64));
            post_page = below(16) == 0 ? $random(seed) : settings[post_kind == 1 ? pick : N + pick % N][CQ_W +: PAGE_W];
            {gr_room, gr_dead, rq_hold, removed} = {below(16) != 0, below(32) == 0, below(16) == 0, below(64) == 0};
        end
    endtask

    // The regions of the post that is looked at: they hold what it names, or nearly so.
    task regions;
        begin
            for (k = 0; k < 3; k = k + 1) begin
                found[130*k +: 32] = $random(seed);
                found[130*k + 1 +: 16] = set_b[CQ_W + PAGE_W +: 16];
                if (below(24) == 0) found[130*k + 1 + below(16)] = $random(seed);
                found[130*k] = below(24) != 0;
                found[130*k + 17] = below(24) != 0;
                found[130*k + 18 +: 64] = way_b[128*k +: 64] - below(3) + (below(24) == 0);
                found[130*k + 82 +: 48] = way_b[128*k + 64 +: 32] + (way_b[128*k +: 64] - found[130*k + 18 +: 64]) + below(2) - (below(24) == 0);
                // It begins far in front of the segment, or behind it.
                if (k == n % 3 && below(3) == 0) found[130*k + 18 +: 64] = way_b[128*k +: 64] ^ 64'd1 << (below(2) ? 48 + below(16) : below(64));
                // A region ends where addresses do.
                if (found[130*k + 18 +: 64] > way_b[128*k +: 64] && found[130*k + 18 +: 64] > 64'd1 << 63) found[130*k + 82 +: 48] = 48'd1;
            end
        end
    endtask

    task steps;
        begin
            op_valid = below(12) == 0;
            op_code = below(3);
            op_queue = $random(seed);
            if (op_queue[QP_W]) op_queue[QP_W-1:0] = op_queue[QP_W-1:0] % SRQS;
            op_size = below(4) == 0 ? below(1 << (IDX_W - 1)) : 4 + below(8);
            // A queue starts again when nothing of it is left.
            if (op_code == RP_START && sizes[op_queue] != 0 && below(8) != 0) op_code = RP_SIZE;
            set_we = below(24) == 0;
            set_queue = $random(seed);
            if (set_queue[QP_W]) set_queue[QP_W-1:0] = set_queue[QP_W-1:0] % SRQS;
            set_data = {$random(seed), $random(seed)};
            set_data[CQ_W + PAGE_W + 16] = below(4) == 0;
            done_qp = $random(seed);
            done_we = ((tails[done_qp] - freed[done_qp]) & MASK) != 0 && below(2);
            done_total = freed[done_qp] + 1;
            completed_srq = $random(seed);
            completed_we = ((tails[N + completed_srq] - freed[N + completed_srq]) & MASK) != 0 && below(2);
            completed_total = freed[N + completed_srq] + 1;
            if (below(64) == 0) {qp_live, qp_open, srq_live} = {$random(seed), $random(seed)} | {$random(seed), $random(seed)};
        end
    endtask

    task reset;
        begin
            {post_valid, op_valid, set_we, done_we, completed_we} = 5'd0;
            reset_and_clear(QUEUES + 4);
            for (k = 0; k < QUEUES; k = k + 1) begin
                {sizes[k], reaped[k], tails[k], freed[k]} = 128'd0;
                settings[k] = 0;
            end
            {way_b, way_r, way_c, set_b, set_r, set_c, why_r, why_c, res_valid, out_valid, traced} = 0;
            {freed_r, freed_c} = 64'd0;
        end
    endtask

    initial begin
        set_up(20000);
        for (n = 0; n < cycles; n = n + 1) begin
            // A life that is longer than the others is of one queue most of the time: its indices get late.
            if (n % 5000 == 0 && n <= 20000) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                mask = n >= 20000 && n[9:6] != 0 ? 0 : n[6] ? -1 : $random(seed);
            end
            init = below(256) == 0;
            posts;
            regions;
            steps;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
