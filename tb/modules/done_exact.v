// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_done through its ports, cycle by cycle.
//
// Purpose: requests that are indicated, reports that are right, too early, repeated or wrong in one bit, failures one behind another, connections that begin
//          beside them, looks that were taken or not, of few and of many queue pairs; clearing walks. Against lists of what is unreported (ISO-03,
//          DF-15). Compares each verdict, what is ripe, the failure that is kept and error reports in each cycle. The design may be the module or one of
//          the netlist of mutants.
// Ports:   none. QP_W, IDX_W, SQ_LOG2 as parameters of the bench (NUM_QP is 1 << QP_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module done_exact;
    parameter QP_W = 2;
    parameter IDX_W = 5;
    parameter SQ_LOG2 = 2;
    `include "exact.vh"
    `include "clearing.vh"
    localparam N = 1 << QP_W;
    localparam DEPTH = 1 << SQ_LOG2;
    localparam MASK = (1 << IDX_W) - 1;

    reg                tvalid = 0, tags_we = 0, fresh = 0, seen_taken = 0;
    reg  [63:0]        tdata = 0;
    reg  [QP_W-1:0]    tags_qp = 0, fresh_qp = 0;
    reg  [IDX_W-1:0]   tags = 0, tags_next = 0;
    reg  [SQ_LOG2-1:0] tags_newest = 0;
    wire               tready, fail_valid, seen_valid, ask, rep_we, bad_we, err_valid;
    wire [QP_W-1:0]    fail_qp, seen_qp, rep_qp;
    wire [IDX_W-1:0]   rep_total, rep_ripe, bad_tag;
    wire [7:0]         bad_status, err_cause;
    wire [N-1:0]       bad;
    wire [15:0]        err_qp, err_tag;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .s_axis_done_tdata(tdata), .s_axis_done_tvalid(tvalid),
        .s_axis_done_tready(tready), .tags_we(tags_we), .tags_qp(tags_qp), .tags(tags), .tags_newest(tags_newest), .tags_next(tags_next),
        .fail_valid(fail_valid), .fail_qp(fail_qp), .fresh(fresh), .fresh_qp(fresh_qp), .seen_valid(seen_valid), .seen_qp(seen_qp),
        .seen_taken(seen_taken), .ask(ask), .rep_we(rep_we), .rep_qp(rep_qp), .rep_total(rep_total), .rep_ripe(rep_ripe), .bad_we(bad_we),
        .bad_tag(bad_tag), .bad_status(bad_status), .bad(bad), .err_valid(err_valid), .err_cause(err_cause), .err_qp(err_qp),
        .err_tag(err_tag) `SELECT
    );

    // ---------------------------------------------------------------- the model
    integer            indicated [0:N-1], reported [0:N-1];
    reg  [IDX_W-1:0]   ripe [0:N*DEPTH-1];
    reg  [N-1:0]       failed;
    // The report that is judged, and whether retirement has looked at its queue pair.
    reg                judged, looked, malformed, good, fails;
    reg  [63:0]        report;
    integer            k, q, at, busy, right, mask;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: report %h (%b), QP %0d has %0d of %0d: good %b, want %b; ripe %h; error %b %h", what, $time, report, judged, q, reported[q],
                     indicated[q], rep_we, good, rep_ripe, err_valid, err_cause);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            q = report[15:0] % N;
            malformed = report[15:0] >= N || report[63:40] != 0;
            good = judged && !malformed && indicated[q] > reported[q] && report[`CDE_DONE_TAG_LSB +: 16] == (reported[q] & MASK);
            fails = good && report[`CDE_DONE_STATUS_LSB +: 8] != 0 && !failed[q];
            if (tready !== !init || seen_valid !== (tvalid && !init) || (seen_valid && seen_qp !== tdata[QP_W-1:0])) wrong("report seen");
            if (rep_we !== good || ask !== (good && !looked)) wrong("verdict");
            if (good && {rep_qp, rep_total, rep_ripe} !== {q[QP_W-1:0], reported[q][IDX_W-1:0] + 1'b1, ripe[q * DEPTH + reported[q] % DEPTH]}) wrong("what is ripe");
            if (fail_valid !== fails || bad_we !== fails) wrong("failure");
            if (fails && {fail_qp, bad_tag, bad_status} !== {q[QP_W-1:0], reported[q][IDX_W-1:0], report[`CDE_DONE_STATUS_LSB +: 8]}) wrong("failure");
            if (bad !== failed) wrong("QPs that failed");
            if (err_valid !== (judged && !good)) wrong("error");
            if (err_valid && {err_cause, err_qp, err_tag} !== {malformed ? `CDE_CAUSE_DONE_BAD : `CDE_CAUSE_DONE_UNEXPECTED, report[15:0], report[31:16]})
                wrong("error");
        end
    endtask

    task advance;
        begin
            if (good) reported[q] = reported[q] + 1;
            if (fails) failed[q] = 1'b1;
            if (fresh) failed[fresh_qp] = 1'b0;
            if (tags_we) begin
                ripe[tags_qp * DEPTH + indicated[tags_qp] % DEPTH] = tags_next;
                indicated[tags_qp] = indicated[tags_qp] + 1;
            end
            {judged, looked, report} = {tvalid && !init, seen_taken, tdata};
        end
    endtask

    task inputs;
        begin
            tvalid = below(8) < busy;
            at = $random(seed) & mask & (N - 1);
            for (k = 0; k < N; k = k + 1) if (below(4) != 0 && indicated[at] == reported[at]) at = (at + 1) % N;
            tdata = 64'd0;
            tdata[`CDE_DONE_STATUS_LSB +: 8] = below(3) ? 8'd0 : below(2) ? 8'd1 << below(8) : $random(seed);
            tdata[15:0] = at;
            // That behind the one on its way, if that is of the same queue pair.
            tdata[`CDE_DONE_TAG_LSB +: 16] = (reported[at] + (judged && report[15:0] == at && indicated[at] > reported[at])) & MASK;
            if (below(right) == 0) tdata = tdata ^ (64'd1 << below(64));
            seen_taken = $random(seed);
            at = $random(seed) & mask & (N - 1);
            tags_we = indicated[at] - reported[at] < DEPTH && below(3);
            tags_qp = at;
            tags = indicated[at] + 1;
            tags_newest = indicated[at];
            tags_next = $random(seed);
            fresh = below(8) == 0;
            fresh_qp = $random(seed) & mask;
            init = below(64) == 0;
        end
    endtask

    task reset;
        begin
            {tvalid, tags_we, fresh} = 3'd0;
            reset_and_clear(N * DEPTH + 4);
            for (k = 0; k < N; k = k + 1) {indicated[k], reported[k]} = 64'd0;
            for (k = 0; k < N * DEPTH; k = k + 1) ripe[k] = 0;
            {failed, judged, looked, report} = 0;
        end
    endtask

    initial begin
        set_up(24000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n < 8000 && n % 2000 == 0) reset;
            if (n % 128 == 0) begin
                busy = 1 + below(8);
                right = n[7] ? 4 : 64;
                // Mostly queue pair 0 in the last life, so that its indices use all of their bits.
                mask = n[8] ? -1 : n < 8000 ? $random(seed) : 0;
            end
            inputs;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule
