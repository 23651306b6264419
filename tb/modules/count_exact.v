// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_arm_count through its ports.
//
// Purpose: publications, failures and doorbells of CQs whose indices lie near each other, about each other or anywhere, two operations of one CQ or
//          of two. Against whole numbers that lie on the ring of indices (CQ-08, CQ-17, CQ-18, CQ-22). Compares each index and fact. The design may
//          be the module or one of the netlist of mutants.
// Ports:   none. IDX_W as parameter of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module count_exact;
    parameter IDX_W = 5;
    `include "exact.vh"
    `include "cde_arm_state.vh"
    localparam RING = 1 << IDX_W;
    localparam HALF = RING / 2;

    reg  [7:0]       p_op = 8'd0;
    reg  [1:0]       p_count = 0, p_solicited = 0, p_status = 0;
    reg  [X_W-1:0]   p_x = 0, d_x_mem = 0;
    reg              chained = 0, d_doorbell = 0, d_create = 0, d_destroy = 0, d_clean = 0;
    reg  [IDX_W-1:0] d_index = 0, d_ahead = 0;
    wire [X_W-1:0]   p_x_next, d_x, d_x_next;
    wire [1:0]       p_live;
    wire             p_publish, p_fail, p_open, d_legal, d_present, d_sol_remains, d_answered;

    `DUT dut (
        .p_op(p_op), .p_count(p_count), .p_solicited(p_solicited), .p_status(p_status), .p_x(p_x), .p_x_next(p_x_next), .p_live(p_live),
        .p_publish(p_publish), .p_fail(p_fail), .p_open(p_open), .chained(chained), .d_doorbell(d_doorbell), .d_create(d_create),
        .d_destroy(d_destroy), .d_clean(d_clean), .d_index(d_index), .d_ahead(d_ahead), .d_x_mem(d_x_mem), .d_x(d_x), .d_x_next(d_x_next),
        .d_legal(d_legal), .d_present(d_present), .d_sol_remains(d_sol_remains), .d_answered(d_answered) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [X_W-1:0] want_p, want_d, then;
    reg            open, publish, fail, overflow;
    reg  [1:0]     live;
    integer        early, k, spread, at;

    // How far b lies before a on the ring, negative behind it: from -HALF to HALF - 1.
    function integer distance;
        input integer a, b;
        begin
            distance = ((a - b) % RING + RING) % RING;
            if (distance >= HALF) distance = distance - RING;
        end
    endfunction

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s: step %h of %0d: %h to %h, want %h; doorbell %0d: %h to %h, want %h", what, p_op, p_count, p_x, p_x_next, want_p, d_index,
                     d_x_mem, d_x_next, want_d);
            $finish;
        end
    endtask

    task publication;
        begin
            want_p = p_x;
            open = p_x[X_READY] && !p_x[X_FROZEN];
            publish = open && p_op == `CDE_TRC_PUBLISH;
            overflow = p_op == `CDE_TRC_CQ_ERROR && p_status == `CDE_CQST_BUFFER_OVERFLOW;
            fail = overflow || p_op == `CDE_TRC_EVENT_FAILED || (p_op == `CDE_TRC_CQ_ERROR && open);
            live = 2'b00;
            // Entries that were consumed already.
            early = distance(p_x[X_CONS +: IDX_W], p_x[X_PROD +: IDX_W]);
            for (k = 0; k < 2; k = k + 1) if (publish && (k == 0 ? p_count != 0 : p_count[1])) begin
                if (k == 0 || p_count == 2) live[k] = early <= k;
                if (p_solicited[k]) want_p[X_SOLP +: IDX_W] = p_x[X_PROD +: IDX_W] + k + 1;
            end
            if (publish) want_p[X_PROD +: IDX_W] = p_x[X_PROD +: IDX_W] + (p_count[1] ? 2 : p_count);
            if (p_op == `CDE_TRC_PUBLISH || p_op == `CDE_TRC_CQ_ERROR) want_p[X_ACKP +: IDX_W] = p_x[X_ACKP +: IDX_W] + p_count;
            if (fail && p_x[X_ERR +: 2] == `CDE_CQST_OK)
                want_p[X_ERR +: 2] = p_op == `CDE_TRC_CQ_ERROR ? p_status : `CDE_CQST_INTERNAL_ERROR;
            if (fail && !overflow) want_p[X_FROZEN] = 1'b1;
            if ({p_open, p_publish, p_fail} !== {open, publish, fail}) wrong("kind of step");
            if (p_live !== live) wrong("entries that are new");
            if (p_x_next !== want_p) wrong("publication");
        end
    endtask

    task doorbell;
        begin
            then = chained ? want_p : d_x_mem;
            want_d = then;
            if (d_x !== then) wrong("doorbell finds");
            // The legal range is that of before the publication: this one only adds to what is written.
            at = distance(d_index, d_x_mem[X_CONS +: IDX_W]);
            if (d_legal !== (at >= 0 && distance(d_ahead, 0) >= 0)) wrong("legal range");
            if (d_present !== (distance(then[X_PROD +: IDX_W], d_index) > 0)) wrong("entries that remain");
            if (d_sol_remains !== (distance(then[X_SOLP +: IDX_W], d_index) > 0)) wrong("solicited remain");
            if (d_answered !== (then[X_ACKP +: IDX_W] == d_index)) wrong("answered");
            if (d_doorbell && d_clean && then[X_READY] && d_legal) want_d[X_CONS +: IDX_W] = d_index;
            if (d_create) begin
                want_d = {X_W{1'b0}};
                want_d[X_READY] = 1'b1;
            end else if (d_destroy) want_d[X_READY] = 1'b0;
            if (d_x_next !== want_d) wrong("doorbell leaves");
        end
    endtask

    // Indices about one place.
    function [X_W-1:0] some;
        input integer where, width;
        begin
            some[3:0] = $random(seed);
            some[X_ERR +: 2] = below(2) ? `CDE_CQST_OK : below(3);
            some[X_READY] = below(8) != 0;
            some[X_FROZEN] = below(4) == 0;
            some[X_PROD +: IDX_W] = where + below(width);
            some[X_CONS +: IDX_W] = where + below(width);
            some[X_SOLP +: IDX_W] = where + below(width);
            some[X_ACKP +: IDX_W] = where + below(width);
        end
    endfunction

    initial begin
        set_up(30000);
        for (n = 0; n < cycles; n = n + 1) begin
            spread = below(3) == 0 ? RING : below(2) ? 4 : 1 + below(HALF);
            at = $random(seed);
            case (below(5))
                0, 1: p_op = `CDE_TRC_PUBLISH;
                2: p_op = `CDE_TRC_CQ_ERROR;
                3: p_op = `CDE_TRC_EVENT_FAILED;
                4: p_op = below(2) ? `CDE_TRC_EVENT_DONE : `CDE_TRC_PUBLISH ^ (8'd1 << below(8));
            endcase
            p_count = below(8) == 0 ? 3 : below(3);
            p_solicited = $random(seed);
            p_status = $random(seed);
            p_x = some(at, spread);
            chained = below(2);
            d_x_mem = chained ? p_x : some(at, spread);
            {d_create, d_destroy, d_doorbell} = 3'd0;
            case (below(8))
                0: d_create = 1'b1;
                1: d_destroy = 1'b1;
                2: d_doorbell = 1'b0;
                default: d_doorbell = 1'b1;
            endcase
            d_clean = below(8) != 0;
            d_index = at + below(spread);
            d_ahead = below(2) ? below(4) : $random(seed);
            #1;
            publication;
            doorbell;
        end
        passed;
    end

endmodule

`default_nettype wire
