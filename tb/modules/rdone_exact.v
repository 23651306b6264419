// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_rdone through its ports, cycle by cycle.
//
// Purpose: buffers taken and flushed, with records of every kind, among few and many queue pairs; reports of the transport that are right, too early,
//          repeated, of flushed buffers, or wrong in one bit; a CQ that takes its time; settings that change; resets. Against lists of what is in flight
//          and the rules of receive completions (SRQ-04 to SRQ-07, SRQ-10, SRQ-11, SRQ-14). Compares room, each completion, count, failure, error
//          report and trace step in its cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. QP_W, SRQ_W, CQ_W, IDX_W, RX_LOG2 as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module rdone_exact;
    parameter QP_W = 2;
    parameter SRQ_W = 1;
    parameter CQ_W = 3;
    parameter IDX_W = 5;
    parameter RX_LOG2 = 2;
    `include "exact.vh"
    `include "clearing.vh"
    localparam N = 1 << QP_W;
    localparam SRQS = 1 << SRQ_W;
    localparam FLIGHTS = 1 << RX_LOG2;
    localparam MASK = (1 << IDX_W) - 1;
    localparam REC = 198 + SRQ_W;
    localparam OWN = 16;

    reg                   tvalid = 0, self_valid = 0, rec_we = 0, set_we = 0, cpl_ready = 0;
    reg  [63:0]           tdata = 0;
    reg  [QP_W-1:0]       self_qp = 0, taken_qp = 0, set_qp = 0;
    reg  [IDX_W-1:0]      self_tag = 0, taken_total = 0;
    reg  [QP_W+RX_LOG2-1:0] rec_slot = 0;
    reg  [REC-1:0]        rec_data = 0;
    reg  [65+CQ_W:0]      set_data = 0;
    wire                  tready, self_room, silent, cpl_valid, done_we, completed_we, fail_valid, err_valid, count, trace_valid;
    wire [255:0]          cpl, trace_data;
    wire [15:0]           tdest, err_qp, err_tag;
    wire [QP_W-1:0]       done_qp;
    wire [IDX_W-1:0]      done_total, completed_total;
    wire [SRQ_W-1:0]      completed_srq;
    wire [7:0]            err_cause;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .s_axis_rdone_tdata(tdata), .s_axis_rdone_tvalid(tvalid),
        .s_axis_rdone_tready(tready), .self_valid(self_valid), .self_qp(self_qp), .self_tag(self_tag), .self_room(self_room),
        .taken_we(rec_we), .taken_qp(taken_qp), .taken_total(taken_total), .rec_we(rec_we), .rec_slot(rec_slot), .rec_data(rec_data),
        .set_we(set_we), .set_qp(set_qp), .set_data(set_data), .m_axis_cpl_tdata(cpl), .m_axis_cpl_tdest(tdest), .m_axis_cpl_tuser(silent),
        .m_axis_cpl_tvalid(cpl_valid), .m_axis_cpl_tready(cpl_ready), .done_we(done_we), .done_qp(done_qp), .done_total(done_total),
        .completed_we(completed_we), .completed_srq(completed_srq), .completed_total(completed_total), .fail_valid(fail_valid),
        .err_valid(err_valid), .err_cause(err_cause), .err_qp(err_qp), .err_tag(err_tag), .count(count), .trace_valid(trace_valid),
        .trace_data(trace_data) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each queue pair: buffers taken and reported since the reset, settings; those that were flushed last and not handed over yet.
    integer         taken [0:N-1], reported [0:N-1], flushed [0:N-1];
    reg  [65+CQ_W:0] settings [0:N-1];
    reg  [REC-1:0]  records [0:N*FLIGHTS-1];
    integer         completed [0:SRQS-1];
    // Reports of flushed buffers that wait, the oldest first: {tag, QP}.
    reg  [31:0]     own [0:OWN-1];
    integer         owns;
    // The report that is judged, whether it is the engine's own, whether the first of its two entries has gone; who goes next.
    reg             judged, is_own, own_next, first_gone;
    reg  [63:0]     report;
    // Behind the edge.
    reg             counted, traced;
    integer         counted_srq;
    reg  [255:0]    step;

    integer         k, q, busy, slow, right, mask, at;
    reg             open, from_own, bad, good, two, first, leaves, done, failure, stood;
    reg             flush, bad_token, too_long, solicited, invalidates, shared, waits;
    reg  [7:0]      how, status;
    reg  [SRQ_W-1:0] srq;
    reg  [REC-1:0]  record;
    reg  [65+CQ_W:0] set;
    reg  [255:0]    want;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: report %h (%b, own %b) of QP %0d, taken %0d, reported %0d: good %b; completion %b %h, want %h; error %b %h", what,
                     $time, report, judged, is_own, q, taken[q], reported[q], good, cpl_valid, cpl, want, err_valid, err_cause);
            $finish;
        end
    endtask

    // A report names the oldest buffer in flight, and is the engine's if that was flushed.
    task judge;
        begin
            q = report[15:0] % N;
            set = settings[q];
            record = records[q * FLIGHTS + report[31:16] % FLIGHTS];
            {flush, too_long, solicited, invalidates} = {record[132 + SRQ_W], record[131 + SRQ_W], record[130 + SRQ_W], record[129 + SRQ_W]};
            {bad_token, srq, shared} = {record[133 + SRQ_W], record[129 +: SRQ_W], record[128]};
            {two, waits} = set[64 + CQ_W +: 2];
            bad = report[15:0] >= N || report[63:40] != 0;
            good = judged && !bad && taken[q] != reported[q] && report[31:16] == (reported[q] & MASK) && flush == is_own;
            how = report[39:32];
            status = too_long ? `CDE_CQESTATUS_LENGTH_ERROR : bad_token ? `CDE_CQESTATUS_INVALID_TOKEN : how;
            first = two && !first_gone;
            leaves = judged && (!good || (cpl_ready && !first));
            done = good && leaves;
            failure = good && how != 0 && !is_own && !stood;
            want = 256'd0;
            want[`CDE_CQE_QP_LSB +: QP_W] = q;
            want[`CDE_CQE_QP_CONTEXT_LSB +: 64] = set[63:0];
            if (first) begin
                want[`CDE_CQE_CONTEXT_LSB +: 64] = record[134 + SRQ_W +: 64];
                want[`CDE_CQE_TOKEN_LSB +: 32] = record[127:96];
                want[`CDE_CQE_TYPE_LSB +: 16] = `CDE_CQETYPE_INVALIDATE;
                want[`CDE_CQE_UNSIGNALLED_LSB] = waits && !solicited;
            end else begin
                want[`CDE_CQE_CONTEXT_LSB +: 64] = record[63:0];
                if (status == 0) want[`CDE_CQE_BYTES_LSB +: 32] = record[95:64];
                if (!two) want[`CDE_CQE_TOKEN_LSB +: 32] = record[127:96];
                want[`CDE_CQE_TYPE_LSB +: 16] = invalidates && !two ? `CDE_CQETYPE_RECEIVE_AND_INVALIDATE : `CDE_CQETYPE_RECEIVE;
                want[`CDE_CQE_STATUS_LSB +: 8] = status;
                want[`CDE_CQE_SOLICITED_LSB] = solicited;
                want[`CDE_CQE_UNSIGNALLED_LSB] = waits && !solicited && status == 0;
            end
            // In turns, where both have one.
            open = (!judged || leaves) && !init;
            from_own = owns != 0 && (!tvalid || own_next);
        end
    endtask

    task compare;
        begin
            #1;
            judge;
            if (tready !== (open && !from_own) || self_room !== (owns <= 8)) wrong("room");
            if (cpl_valid !== good) wrong("completion");
            if (good && {cpl, tdest} !== {want, 16'd0 | set[64 +: CQ_W]}) wrong("what completes");
            if (good && silent !== (first && (!invalidates || too_long || bad_token))) wrong("silent");
            if (done_we !== done || (done && {done_qp, done_total} !== {q[QP_W-1:0], reported[q][IDX_W-1:0] + 1'b1})) wrong("reported");
            if (count !== (done && !is_own) || fail_valid !== failure) wrong("count");
            if (err_valid !== (judged && !good)) wrong("error");
            if (err_valid && {err_cause, err_qp, err_tag} !== {bad ? `CDE_CAUSE_RDONE_BAD : `CDE_CAUSE_RDONE_UNEXPECTED, report[15:0], report[31:16]})
                wrong("error");
            if (completed_we !== counted) wrong("completed");
            if (counted && {completed_srq, completed_total} !== {counted_srq[SRQ_W-1:0], completed[counted_srq][IDX_W-1:0]}) wrong("completed");
            if (trace_valid !== traced || (traced && trace_data !== step)) wrong("trace");
        end
    endtask

    task advance;
        begin
            {counted, counted_srq, traced} = {done && shared, 32'd0 | srq, done};
            if (counted) completed[srq] = completed[srq] + 1;
            step = 256'd0;
            step[7:0] = `CDE_TRC_RECEIVE;
            step[8 +: QP_W] = q;
            step[63:32] = {16'd0 | set[64 +: CQ_W], 6'd0, is_own, shared, status};
            step[64 +: IDX_W] = reported[q];
            step[160 +: IDX_W] = reported[q] + 1;
            if (done) reported[q] = reported[q] + 1;
            if (good && cpl_ready) first_gone = first;
            stood = good && !leaves;
            if (open) begin
                judged = from_own || tvalid;
                is_own = from_own;
                if (from_own) report = {24'd0, `CDE_CQESTATUS_CANCELED, own[0]};
                else report = tdata;
                if (judged) own_next = !from_own;
                if (from_own) begin
                    for (k = 0; k < OWN - 1; k = k + 1) own[k] = own[k+1];
                    owns = owns - 1;
                end
            end
            if (self_valid) begin
                own[owns] = {16'd0 | self_tag, 16'd0 | self_qp};
                owns = owns + 1;
            end
            if (rec_we) begin
                records[rec_slot] = rec_data;
                taken[taken_qp] = taken[taken_qp] + 1;
            end
            if (set_we) settings[set_qp] = set_data;
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task reports;
        begin
            tvalid = below(8) < busy;
            at = $random(seed) & mask & (N - 1);
            for (k = 0; k < N; k = k + 1) if (below(4) != 0 && taken[at] == reported[at]) at = (at + 1) % N;
            tdata = 64'd0;
            if (below(3) == 0) tdata[39:32] = $random(seed);
            tdata[15:0] = at;
            tdata[31:16] = reported[at] & MASK;
            // While a report of the same queue pair is on its way, that of the buffer behind it.
            if (judged && q == at && good) tdata[31:16] = (reported[at] + 1) & MASK;
            if (below(right) == 0) tdata = tdata ^ (64'd1 << below(64));
            cpl_ready = below(8) >= slow;
        end
    endtask

    // Buffers are taken while there is room for what is known of them; flushed ones only behind flushed ones, and others not behind those.
    task buffers;
        begin
            at = $random(seed) & mask & (N - 1);
            rec_we = taken[at] - reported[at] < FLIGHTS && below(2);
            for (k = 0; k < REC; k = k + 32) rec_data = {rec_data, $random(seed)};
            flush = flushed[at] > reported[at] || (taken[at] == reported[at] && below(4) == 0);
            // A token is bad, or a message is too long, now and then; no entry says what it need not.
            rec_data[131 + SRQ_W] = below(6) == 0;
            rec_data[133 + SRQ_W] = below(6) == 0;
            rec_data[132 + SRQ_W] = flush;
            if (flush && owns > 10) rec_we = 1'b0;
            taken_qp = at;
            rec_slot = at * FLIGHTS + taken[at] % FLIGHTS;
            taken_total = taken[at] + 1;
            self_valid = rec_we && flush;
            {self_qp, self_tag} = {taken_qp, taken[at][IDX_W-1:0]};
            if (self_valid) flushed[at] = taken[at] + 1;
            // One that names no such buffer.
            if (!self_valid && owns < 10 && below(64) == 0) begin
                self_valid = 1'b1;
                self_tag = self_tag + below(3);
            end
            set_we = below(32) == 0;
            set_qp = $random(seed);
            set_data = {$random(seed), $random(seed), $random(seed)};
        end
    endtask

    task reset;
        begin
            {tvalid, self_valid, rec_we, set_we} = 4'd0;
            reset_and_clear((N * FLIGHTS > SRQS ? N * FLIGHTS : SRQS) + 4);
            for (k = 0; k < N; k = k + 1) {taken[k], reported[k], flushed[k], settings[k]} = 0;
            for (k = 0; k < N * FLIGHTS; k = k + 1) records[k] = 0;
            for (k = 0; k < SRQS; k = k + 1) completed[k] = 0;
            {owns, judged, is_own, own_next, first_gone, stood, report, counted, traced} = 0;
        end
    endtask

    initial begin
        set_up(24000);
        for (n = 0; n < cycles; n = n + 1) begin
            // A life that is longer than the others is of one queue pair most of the time: its indices get late.
            if (n % 6000 == 0 && n <= 24000) reset;
            if (n % 128 == 0) begin
                busy = below(9);
                slow = below(3) * below(4);
                right = n[7] ? 4 : 64;
                mask = n >= 24000 && n[10:8] != 0 ? 0 : n[8] ? -1 : $random(seed);
            end
            // The walk goes on, and nothing is judged.
            init = n % 6000 < 8 && n < 24008;
            reports;
            buffers;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule
