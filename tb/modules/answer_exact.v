// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_answer through its ports, cycle by cycle.
//
// Purpose: answers of every kind, strays and overflows, alone, beside each other and one behind another, with resets and the clearing of
//          memories under way, against a list of what each of them means. Compares the step, the hand of the overflow, the readiness for answers,
//          interrupt requests and reports in each cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, RETRY_W as parameters of the bench (an index has (RETRY_W - 65) / 2 bits); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module answer_exact;
    parameter CQ_W = 3;
    parameter EQ_W = 2;
    parameter RETRY_W = 89;
    `include "exact.vh"
    localparam IDX_W = (RETRY_W - 65) / 2;
    localparam REC_W = 1 + RETRY_W + EQ_W + CQ_W;
    localparam IRQ = 2 + EQ_W;
    localparam ERR = 48;

    reg                init = 1'b0, ans_valid = 1'b0, ans_error = 1'b0, stray = 1'b0, ovf_valid = 1'b0;
    reg  [REC_W-1:0]   record = 0;
    reg  [CQ_W-1:0]    ovf_cq = 0;
    wire               bready, ovf_ready, pub_valid, pub_give_up, irq_set, irq_lap, err_valid, count_error, count_stray;
    wire [7:0]         pub_op, err_cause, err_kind;
    wire [CQ_W-1:0]    pub_cq;
    wire [1:0]         pub_count, pub_solicited, pub_quiet, pub_status;
    wire [RETRY_W-1:0] pub_retry;
    wire [EQ_W-1:0]    irq_eq;
    wire [15:0]        err_object, err_index;

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .m_axi_bready(bready), .ans_valid(ans_valid), .ans_record(record), .ans_error(ans_error), .stray(stray),
        .ovf_valid(ovf_valid), .ovf_ready(ovf_ready), .ovf_cq(ovf_cq), .pub_valid(pub_valid), .pub_op(pub_op), .pub_cq(pub_cq),
        .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet), .pub_status(pub_status), .pub_give_up(pub_give_up),
        .pub_retry(pub_retry), .irq_set(irq_set), .irq_eq(irq_eq), .irq_lap(irq_lap), .err_valid(err_valid), .err_cause(err_cause),
        .err_kind(err_kind), .err_object(err_object), .err_index(err_index), .count_error(count_error), .count_stray(count_stray) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // What an answer of each kind leads to: step, interrupt, cause of a report, and whether that names an index.
    reg                event_write, failed, last, lap;
    reg  [1:0]         attempt, count, solicited, quiet;
    reg  [RETRY_W-1:0] retry;
    reg  [IDX_W-1:0]   index, snap;
    reg  [EQ_W-1:0]    eq;
    reg  [CQ_W-1:0]    cq;
    // Behind the edge.
    reg                want_ready, want_irq, want_report, want_error, want_stray, want_lap;
    reg  [EQ_W-1:0]    want_eq;
    reg  [7:0]         want_cause, want_kind;
    reg  [15:0]        want_object, want_index;
    integer            busy;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t", what, $time);
            $finish;
        end
    endtask

    task now;
        begin
            #1;
            if (pub_valid !== (ans_valid || ovf_valid)) wrong("step");
            if (ovf_ready !== (ovf_valid && !ans_valid)) wrong("hand of the overflow");
            if (ans_valid) begin
                if (pub_cq !== cq) wrong("CQ of the step");
                case ({event_write, failed})
                    2'b00: if (pub_op !== `CDE_TRC_PUBLISH) wrong("publication");
                    2'b01: if (pub_op !== `CDE_TRC_CQ_ERROR || pub_status !== `CDE_CQST_INTERNAL_ERROR) wrong("failed CQE write");
                    2'b10: if (pub_op !== `CDE_TRC_EVENT_DONE) wrong("event");
                    2'b11: if (pub_op !== `CDE_TRC_EVENT_FAILED) wrong("failed event");
                endcase
                if (pub_count !== (event_write ? 2'd0 : count)) wrong("count");
                if (!event_write && {pub_solicited, pub_quiet} !== {solicited, quiet}) wrong("solicited or quiet");
                if (event_write && {pub_give_up, pub_retry} !== {last, retry}) wrong("retry");
            end else if (ovf_valid) begin
                if (pub_op !== `CDE_TRC_CQ_ERROR || pub_status !== `CDE_CQST_BUFFER_OVERFLOW) wrong("overflow");
                if (pub_cq !== ovf_cq || pub_count !== 2'd0) wrong("CQ of the overflow");
            end
        end
    endtask

    task next;
        begin
            want_ready = !rst && !init && !(ovf_valid && ans_valid);
            want_irq = ans_valid && event_write && (!failed || last) && !rst;
            {want_eq, want_lap} = {eq, lap};
            want_error = ans_valid && failed && !rst;
            want_stray = stray && !rst;
            want_report = want_error || want_stray;
            if (!want_error) {want_cause, want_kind, want_object, want_index} = {`CDE_CAUSE_STRAY_B, `CDE_KIND_PORT, 32'd0};
            else begin
                want_kind = `CDE_KIND_CQ;
                want_object = cq;
                if (!event_write) {want_cause, want_index} = {`CDE_CAUSE_CQE_WRITE_ERROR, 16'd0};
                else begin
                    want_cause = last ? `CDE_CAUSE_EQ_FAILED : `CDE_CAUSE_EQE_WRITE_ERROR;
                    want_index = last ? index : snap;
                end
            end
        end
    endtask

    task behind;
        begin
            #1;
            if (bready !== want_ready) wrong("readiness for answers");
            if (irq_set !== want_irq) wrong("interrupt");
            if (want_irq && {irq_eq, irq_lap} !== {want_eq, want_lap}) wrong("EQ of the interrupt");
            if ({err_valid, count_error, count_stray} !== {want_report, want_error, want_stray}) wrong("report");
            if (want_report && {err_cause, err_kind, err_object, err_index} !== {want_cause, want_kind, want_object, want_index})
                wrong("what is reported");
        end
    endtask

    initial begin
        set_up(8000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 64 == 0) busy = 1 + below(8);
            ans_valid = below(8) < busy;
            event_write = $random(seed);
            failed = below(8) < busy;
            last = $random(seed);
            attempt = last ? 2'd3 : below(3);
            {lap, index, snap} = {$random(seed), $random(seed)};
            retry = {$random(seed), $random(seed), index, snap};
            retry[RETRY_W-1 -: 3] = {attempt, lap};
            {eq, cq} = $random(seed);
            {count, solicited, quiet} = $random(seed);
            record = {event_write, retry, eq, cq};
            if (!event_write) record[CQ_W +: 6] = {quiet, solicited, count};
            ans_error = failed;
            stray = below(4) == 0;
            // It waits until it has had its cycle.
            if (!ovf_valid || ovf_ready) begin
                ovf_valid = below(4) == 0;
                ovf_cq = $random(seed);
            end
            init = below(32) == 0;
            rst = below(128) == 0;
            now;
            next;
            edge_of_clock;
            behind;
        end
        passed;
    end

endmodule

`default_nettype wire
