// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_take through its ports, cycle by cycle.
//
// Purpose: requests of queue pairs with own and with shared queues, right ones and ones that differ in a bit, messages that end in, between and behind
//          segments, invalidations; flushes; watermarks; credit and dead CQs; states, settings and counts of others that move; a sink that takes its
//          time; resets and clearing walks under way. Against queues of buffers, a list of what is on its way, and the rules of receives (SRQ-02,
//          SRQ-10, SRQ-14, SRQ-16). Compares room, each decision, answer, record, event and trace step in its cycle. The design may be the module or
//          one of the netlist of mutants.
// Ports:   none. QP_W, SRQ_W, CQ_W, IDX_W, RQ_LOG2, SRQ_LOG2, RX_LOG2 as parameters of the bench (NUM_QP is 1 << QP_W, NUM_SRQ 1 << SRQ_W); defines and
//          plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module take_exact;
    parameter QP_W = 2;
    parameter SRQ_W = 1;
    parameter CQ_W = 3;
    parameter IDX_W = 5;
    parameter RQ_LOG2 = 2;
    parameter SRQ_LOG2 = 2;
    parameter RX_LOG2 = 1;
    `include "exact.vh"
    `include "clearing.vh"
    `include "cde_rx_ops.vh"
    localparam N = 1 << QP_W;
    localparam SRQS = 1 << SRQ_W;
    localparam QUEUES = N + SRQS;               // those of QPs first
    localparam SLOTS = RQ_LOG2 > SRQ_LOG2 ? 1 << RQ_LOG2 : 1 << SRQ_LOG2;
    localparam MASK = (1 << IDX_W) - 1;
    localparam SET = SRQ_W + CQ_W + 3;
    // On its way: {request, flush, step, code, mark, SRQ of a step, QP, name, bad, message {token, length, invalidate, solicited}}
    localparam WAY = 3 + 2 + 16 + SRQ_W + QP_W + 16 + 1 + 66;
    // Decided: {request, flush, taken, refused, shared, guarded, SRQ, QP, name, message, tag, buffer}
    localparam TOOK = 6 + SRQ_W + QP_W + 16 + 66 + IDX_W + 448;
    localparam ROOM = 16;

    reg                   tvalid = 0, ready = 0, hold = 0, flush_valid = 0, self_room = 0, op_valid = 0, rq_hold = 0, gr_room = 0, gr_dead = 0;
    reg                   set_we = 0, removed = 0, peer_good = 0, fresh = 0, tail_we = 0, done_we = 0, buf_we = 0;
    reg  [127:0]          request = 0;
    reg  [QP_W-1:0]       flush_qp = 0, set_qp = 0, fresh_qp = 0, done_qp = 0;
    reg  [1:0]            op_code = 0;
    reg  [SRQ_W-1:0]      op_srq = 0;
    reg  [15:0]           op_mark = 0;
    reg  [SET-1:0]        set_data = 0;
    reg  [N-1:0]          known = 0, open = 0, up = 0;
    reg  [63:0]           peer_context = 0;
    reg  [QP_W:0]         tail_queue = 0, buf_queue = 0;
    reg  [IDX_W-1:0]      tail_index = 0, done_total = 0, buf_index = 0;
    reg  [447:0]          buf_data = 0;
    reg  [SRQS-1:0]       ev_waits = 0;
    wire                  tready, avalid, flush_take, flush_again, self_valid, op_ready, opr_valid, opr_busy, rq_valid, gr_take, peer_valid, peer_counts;
    wire                  taken_we, rec_we, fail_valid, bad_token, ev_valid, err_valid, trace_valid;
    wire [383:0]          adata;
    wire [15:0]           adest, err_qp;
    wire [31:0]           auser, peer_key;
    wire [QP_W-1:0]       flush_again_qp, self_qp, peer_qp, taken_qp, fail_qp;
    wire [IDX_W-1:0]      self_tag, taken_total, rec_total;
    wire [16+IDX_W:0]     opr_state;
    wire [CQ_W-1:0]       rq_cq;
    wire [1:0]            rq_count;
    wire [QP_W+RX_LOG2-1:0] rec_slot;
    wire [197+SRQ_W:0]    rec_data;
    wire [SRQ_W-1:0]      ev_srq;
    wire [2:0]            count;
    wire [255:0]          trace_data;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .s_axis_rreq_tdata(request), .s_axis_rreq_tvalid(tvalid),
        .s_axis_rreq_tready(tready), .m_axis_scatter_tdata(adata), .m_axis_scatter_tdest(adest), .m_axis_scatter_tuser(auser),
        .m_axis_scatter_tvalid(avalid), .m_axis_scatter_tready(ready), .hold(hold), .flush_valid(flush_valid), .flush_take(flush_take),
        .flush_qp(flush_qp), .flush_again(flush_again), .flush_again_qp(flush_again_qp), .self_room(self_room), .self_valid(self_valid),
        .self_qp(self_qp), .self_tag(self_tag), .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_srq(op_srq), .op_mark(op_mark),
        .opr_valid(opr_valid), .opr_busy(opr_busy), .opr_state(opr_state), .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq),
        .rq_count(rq_count), .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take), .set_we(set_we), .set_qp(set_qp), .set_data(set_data),
        .qp_known(known), .qp_open(open), .qp_up(up), .removed(removed), .peer_valid(peer_valid), .peer_qp(peer_qp), .peer_key(peer_key),
        .peer_counts(peer_counts), .peer_good(peer_good), .peer_context(peer_context), .fresh(fresh), .fresh_qp(fresh_qp), .tail_we(tail_we),
        .tail_queue(tail_queue), .tail_index(tail_index), .done_we(done_we), .done_qp(done_qp), .done_total(done_total), .buf_we(buf_we),
        .buf_queue(buf_queue), .buf_index(buf_index), .buf_data(buf_data), .taken_we(taken_we), .taken_qp(taken_qp), .taken_total(taken_total),
        .rec_we(rec_we), .rec_total(rec_total), .rec_slot(rec_slot), .rec_data(rec_data), .fail_valid(fail_valid), .fail_qp(fail_qp),
        .bad_token(bad_token), .ev_valid(ev_valid), .ev_srq(ev_srq), .ev_waits(ev_waits), .err_valid(err_valid), .err_qp(err_qp),
        .count(count), .trace_valid(trace_valid), .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each queue its buffers and how many came; of each SRQ how many went, its watermark and whether that is armed; of each QP how many were taken and
    // reported, and its settings.
    reg  [447:0]    buffers [0:QUEUES*SLOTS-1];
    integer         tails [0:QUEUES-1], heads [0:SRQS-1], taken [0:N-1], done [0:N-1];
    reg  [15:0]     marks [0:SRQS-1];
    reg             armed [0:SRQS-1];
    reg  [SET-1:0]  settings [0:N-1], set_b, set_r, set_c;
    reg  [N-1:0]    flushing;
    reg  [WAY-1:0]  way_b, way_r, way_c;
    reg  [TOOK-1:0] took_d, took_e;
    reg  [63:0]     context_e;
    reg             flush_turn;
    // Answers that wait, the oldest first: {user, dest, data}
    reg  [431:0]    waiting [0:ROOM-1];
    integer         first, waits;
    // Decided in this cycle.
    reg             req, flush, op, bad, shared, guard, may, some, goes, drops, sets, clears, event_now, flushes, offered, takes, changes;
    reg  [1:0]      code;
    reg  [15:0]     mark, name, next_mark;
    reg  [SRQ_W-1:0] srq;
    reg  [QP_W-1:0] qp;
    reg  [65:0]     msg;
    integer         queue, available, flight, head, number, left;
    reg  [16+IDX_W:0] line, next_line;
    // At the end.
    reg             e_req, e_flush, e_take, e_refused, e_shared, e_guard, longer, wrong_key, fits;
    reg  [SRQ_W-1:0] e_srq;
    reg  [QP_W-1:0] e_qp;
    reg  [15:0]     e_name;
    reg  [65:0]     e_msg;
    reg  [IDX_W-1:0] e_tag;
    reg  [447:0]    e_buf;
    reg  [383:0]    list;
    reg  [3:0]      said;
    reg  [431:0]    answer;
    reg  [33:0]     rest;
    reg  [31:0]     part;
    // Behind the edge.
    reg             out_valid, out_busy, traced;
    reg  [16+IDX_W:0] out_state;
    reg  [255:0]    step;
    integer         k, busy, slow, mask, pick, place, slots;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: request %b, flush %b, step %b %0d; QP %0d, SRQ %0d, available %0d, in flight %0d; taken %b, want %b or %b", what, $time,
                     req, flush, op, code, qp, srq, available, flight, taken_we, goes, drops);
            $finish;
        end
    endtask

    task decide;
        begin
            {req, flush, op, code, mark, srq, qp, name, bad, msg} = way_c;
            {guard, shared} = {set_c[SET-1], set_c[SET-3]};
            if (op) shared = 1'b1;
            else srq = set_c[CQ_W +: SRQ_W];
            queue = shared ? N + srq : qp;
            head = shared ? heads[srq] : taken[qp];
            available = (tails[queue] - head) & MASK;
            flight = (taken[qp] - done[qp]) & MASK;
            may = req && !bad && !removed && up[qp];
            some = available != 0 && flight != 1 << RX_LOG2;
            goes = may && some && !gr_dead && (!shared || gr_room);
            drops = flush && known[qp] && !open[qp] && !shared && some && (flushing[qp] || flight == 0);
            sets = op && code == TK_MARK && mark != 0 && !ev_waits[srq];
            clears = op && code == TK_CLEAR;
            left = available - (goes && shared);
            next_mark = clears ? 16'd0 : sets ? mark : marks[srq];
            event_now = ((goes && shared && armed[srq]) || sets) && left < next_mark;
            changes = (goes && shared) || sets || clears;
            number = heads[srq];
            line = {armed[srq], marks[srq], number[IDX_W-1:0]};
            number = heads[srq] + (goes && shared);
            next_line = {(armed[srq] || sets) && !event_now && !clears, next_mark, number[IDX_W-1:0]};
        end
    endtask

    // The scatter list: each segment takes what is left.
    task scatter;
        begin
            {e_req, e_flush, e_take, e_refused, e_shared, e_guard, e_srq, e_qp, e_name, e_msg, e_tag, e_buf} = took_e;
            rest = e_msg[33:2];
            list = e_buf[383:0];
            for (k = 0; k < 3; k = k + 1) begin
                part = rest < e_buf[128*k + 64 +: 32] ? rest[31:0] : e_buf[128*k + 64 +: 32];
                list[128*k + 64 +: 32] = part;
                rest = rest - part;
            end
            longer = rest != 0;
            wrong_key = e_req && e_take && !longer && e_msg[1] && e_guard && !peer_good;
            fits = e_take && !longer && !wrong_key;
            said = e_refused ? `CDE_SCATTER_REFUSED : !e_take ? `CDE_SCATTER_NOT_READY : longer ? `CDE_SCATTER_LENGTH_ERROR :
                   wrong_key ? `CDE_SCATTER_BAD_TOKEN : `CDE_SCATTER_SCATTER;
            answer = {16'd0, 7'd0, e_take && e_shared, 4'd0, said, e_name, fits ? list : 384'd0};
            if (e_take) answer[416 +: IDX_W] = e_tag;
        end
    endtask

    task compare;
        begin
            #1;
            decide;
            scatter;
            offered = tvalid && waits <= 10 && !init && !hold;
            flushes = !op_valid && !rq_hold && !init && flush_valid && self_room && (!offered || flush_turn);
            if (tready !== (!op_valid && !rq_hold && !init && waits <= 10 && !flushes && !hold) || op_ready !== !init) wrong("room");
            if (flush_take !== flushes) wrong("turn of a flush");
            if (rq_valid !== way_b[WAY-1] || (rq_valid && {rq_cq, rq_count} !== {set_b[CQ_W-1:0], set_b[SET-2] ? 2'd2 : 2'd1})) wrong("credit asked for");
            if (gr_take !== (may && some && shared)) wrong("credit taken");
            if (taken_we !== (goes || drops) || (taken_we && {taken_qp, taken_total} !== {qp, taken_next(qp)})) wrong("what is taken");
            if (peer_valid !== (goes && msg[1] && guard) || (peer_valid && {peer_qp, peer_key} !== {qp, msg[65:34]})) wrong("invalidation");
            if (ev_valid !== event_now || (event_now && ev_srq !== srq)) wrong("event");
            if (flush_again !== (drops && available != 1) || (flush_again && flush_again_qp !== qp)) wrong("rest of a flush");
            if (err_valid !== (req && (bad || !known[qp])) || (err_valid && err_qp !== name)) wrong("report");
            if (count !== {req && !may, may && !goes, goes}) wrong("count");
            if (rec_we !== ((e_req && e_take) || e_flush)) wrong("record");
            if (rec_we && {rec_slot, rec_total} !== {e_qp, e_tag[RX_LOG2-1:0], tag_next(e_tag)}) wrong("place of a record");
            if (rec_we && rec_data !== {context_e, wrong_key, e_flush, e_take && longer, e_msg[0], e_msg[1], e_srq, e_shared, e_msg[65:34], e_msg[33:2],
                                        e_buf[447:384]}) wrong("what is recorded");
            if (self_valid !== e_flush || (e_flush && {self_qp, self_tag} !== {e_qp, e_tag})) wrong("own report");
            if (fail_valid !== (e_req && ((e_take && longer) || wrong_key)) || (fail_valid && fail_qp !== e_qp)) wrong("failure");
            if (bad_token !== wrong_key) wrong("token");
            if (e_req && e_take && peer_counts !== !longer) wrong("whether an invalidation counts");
            if (avalid !== (waits > 0 || e_req)) wrong("answer");
            if (avalid && {auser, adest, adata} !== (waits > 0 ? waiting[first] : answer)) wrong("what is answered");
            if (opr_valid !== out_valid || (out_valid && {opr_busy, opr_state} !== {out_busy, out_state})) wrong("outcome");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    function [IDX_W-1:0] taken_next;
        input [QP_W-1:0] of;
        taken_next = taken[of] + 1;
    endfunction

    function [IDX_W-1:0] tag_next;
        input [IDX_W-1:0] of;
        tag_next = of + 1;
    endfunction

    function [95:0] shown;
        input integer n;
        input [16+IDX_W:0] l;
        begin
            shown = 96'd0;
            if (!op) shown[0 +: IDX_W] = n;
            shown[32 +: IDX_W] = tails[queue];
            shown[48 +: IDX_W] = done[qp];
            if (shared) {shown[80:64], shown[16 +: IDX_W]} = l;
        end
    endfunction

    task advance;
        begin
            // Answers.
            if (avalid && ready) begin
                if (waits > 0) begin
                    first = (first + 1) % ROOM;
                    waits = waits - 1;
                    if (e_req) waiting[(first + waits) % ROOM] = answer;
                    waits = waits + e_req;
                end
            end else if (e_req) begin
                waiting[(first + waits) % ROOM] = answer;
                waits = waits + 1;
            end
            // Decisions.
            out_valid = op;
            out_busy = code == TK_MARK && mark != 0 && ev_waits[srq];
            out_state = changes ? next_line : line;
            traced = may || drops || sets;
            step = 256'd0;
            step[7:0] = op ? `CDE_TRC_WATERMARK : `CDE_TRC_TAKE;
            step[23:8] = op ? srq : qp;
            step[63:32] = op ? {15'd0, event_now, mark}
                             : {16'd0, 9'd0, event_now, drops, shared, goes || drops ? 4'd0 + `CDE_SCATTER_SCATTER : 4'd0 + `CDE_SCATTER_NOT_READY};
            if (!op && shared) step[48 +: SRQ_W] = srq;
            step[159:64] = shown(taken[qp], line);
            step[255:160] = shown(taken[qp] + (goes || drops), changes ? next_line : line);
            context_e = took_d[TOOK-6] ? peer_context : 64'd0;
            took_e = took_d;
            number = taken[qp];
            took_d = {req, drops, goes, !may, shared, guard, srq, qp, name, msg, number[IDX_W-1:0],
                      buffers[queue * SLOTS + head % (shared ? 1 << SRQ_LOG2 : 1 << RQ_LOG2)]};
            if (goes || drops) taken[qp] = taken[qp] + 1;
            if (changes) {armed[srq], marks[srq]} = next_line[16+IDX_W -: 17];
            if (goes && shared) heads[srq] = heads[srq] + 1;
            if (drops) flushing[qp] = 1'b1;
            if (fresh) flushing[fresh_qp] = 1'b0;
            // What others say counts from the next cycle on.
            if (buf_we) buffers[place * SLOTS + tails[place] % slots] = buf_data;
            if (tail_we) tails[place] = tails[place] + 1;
            if (done_we) done[done_qp] = done[done_qp] + 1;
            // In.
            {set_c, set_r, way_c, way_r} = {set_r, set_b, way_r, way_b};
            takes = tvalid && tready;
            if (takes || flushes) flush_turn = takes;
            way_b = {takes, flushes, op_valid && op_ready, op_code, op_mark, op_srq, flushes ? flush_qp : request[QP_W-1:0], request[15:0],
                     !flushes && (request[15:0] >= N || request[31:18] != 0 || request[127:96] != 0 || (!request[17] && request[95:64] != 0)),
                     flushes ? 66'd0 : {request[95:32], request[17:16]}};
            if (set_we) settings[set_qp] = set_data;
            set_b = settings[flushes ? flush_qp : request[QP_W-1:0]];
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task requests;
        begin
            tvalid = below(8) < busy;
            request = 128'd0;
            pick = $random(seed) & mask & (N - 1);
            request[15:0] = pick;
            request[17:16] = $random(seed);
            request[63:32] = below(3) == 0 ? $random(seed) : below(30);
            if (request[17]) request[95:64] = $random(seed);
            if (below(16) == 0) request = request ^ (128'd1 << below(128));
            {hold, self_room, rq_hold, removed} = {below(16) == 0, below(4) != 0, below(16) == 0, below(64) == 0};
            flush_valid = below(3) == 0;
            flush_qp = $random(seed);
            {gr_room, gr_dead, peer_good} = {below(16) != 0, below(32) == 0, below(4) != 0};
            peer_context = {$random(seed), $random(seed)};
            ready = below(8) >= slow;
            if (below(64) == 0) begin
                known = $random(seed) | $random(seed);
                open = $random(seed);
                up = open & ($random(seed) | $random(seed));
            end
            fresh = below(16) == 0;
            fresh_qp = $random(seed);
            if (below(16) == 0) ev_waits = $random(seed) & $random(seed);
        end
    endtask

    task others;
        begin
            op_valid = below(16) == 0;
            op_code = below(3);
            op_srq = $random(seed);
            op_mark = below(8) == 0 ? $random(seed) : below(6);
            set_we = below(48) == 0;
            set_qp = $random(seed);
            set_data = $random(seed);
            // A buffer comes to a queue that has room; segments of all lengths.
            place = below(QUEUES);
            slots = place < N ? 1 << RQ_LOG2 : 1 << SRQ_LOG2;
            buf_we = (place < N ? tails[place] - taken[place] : tails[place] - heads[place - N]) < slots && below(2);
            tail_we = buf_we;
            tail_queue = place < N ? place : place - N;
            tail_queue[QP_W] = place >= N;
            buf_queue = tail_queue;
            buf_index = tails[place];
            tail_index = tails[place] + 1;
            for (k = 0; k < 14; k = k + 1) buf_data[32*k +: 32] = $random(seed);
            pick = below(4);
            for (k = 0; k < 3; k = k + 1) if (pick != 0 && below(8) != 0) buf_data[128*k + 64 +: 32] = below(16);
            done_qp = $random(seed);
            done_we = ((taken[done_qp] - done[done_qp]) & MASK) != 0 && below(2);
            done_total = done[done_qp] + 1;
        end
    endtask

    task reset;
        begin
            {tvalid, flush_valid, op_valid, set_we, tail_we, done_we, buf_we, fresh} = 8'd0;
            reset_and_clear(QUEUES * SLOTS + 4);
            for (k = 0; k < QUEUES; k = k + 1) tails[k] = 0;
            for (k = 0; k < QUEUES * SLOTS; k = k + 1) buffers[k] = 448'd0;
            for (k = 0; k < SRQS; k = k + 1) {heads[k], marks[k], armed[k]} = 0;
            for (k = 0; k < N; k = k + 1) {taken[k], done[k], settings[k]} = 0;
            {way_b, way_r, way_c, took_d, took_e, set_b, set_r, set_c, context_e, flushing, flush_turn, out_valid, traced} = 0;
            {first, waits} = 64'd0;
        end
    endtask

    initial begin
        set_up(16000);
        for (n = 0; n < cycles; n = n + 1) begin
            // A life that is longer than the others is of one queue most of the time: its indices get late.
            if (n % 4000 == 0 && n <= 16000) reset;
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(8);
                mask = n >= 16000 && n[9:6] != 0 ? 0 : n[6] ? -1 : $random(seed);
            end
            init = below(256) == 0;
            requests;
            others;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
