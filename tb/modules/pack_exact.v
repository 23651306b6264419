// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_pack through its ports, cycle by cycle.
//
// Purpose: single entries, pairs, steps without an entry and overflows, of few and of many CQs, in both halves of a line, before a way that is free, blocked
//          and both in turns; overflows that are fetched late; resets. Against an entry kept back and what the word in front has. Compares each beat, the
//          hand of the word and the overflow in each cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, IDX_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module pack_exact;
    parameter CQ_W = 2;
    parameter IDX_W = 5;
    `include "exact.vh"
    localparam ENT_W = 4 + CQ_W + IDX_W + 2 * 59 + 4 + 2 * 256;
    // An entry: {CQ, index behind it, line, does not signal, solicited, entry}
    localparam ONE_W = CQ_W + IDX_W + 59 + 2 + 256;

    reg               ent_valid = 0, cq_ready = 0, ovf_ready = 0;
    reg  [ENT_W-1:0]  ent_data = 0;
    wire              ent_ready, cq_valid, cq_barrier, ovf_valid;
    wire [CQ_W-1:0]   cq_number, ovf_cq;
    wire [63:6]       cq_addr;
    wire [511:0]      cq_data;
    wire [1:0]        cq_half, cq_count, cq_solicited, cq_quiet;
    wire [IDX_W-1:0]  cq_written;

    `DUT dut (
        .clk(clk), .rst(rst), .ent_valid(ent_valid), .ent_ready(ent_ready), .ent_data(ent_data), .cq_valid(cq_valid), .cq_ready(cq_ready),
        .cq_barrier(cq_barrier), .cq_number(cq_number), .cq_addr(cq_addr), .cq_data(cq_data), .cq_half(cq_half), .cq_count(cq_count),
        .cq_solicited(cq_solicited), .cq_quiet(cq_quiet), .cq_written(cq_written), .ovf_valid(ovf_valid), .ovf_ready(ovf_ready),
        .ovf_cq(ovf_cq) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg               keeps, overflowed;
    reg  [CQ_W-1:0]   overflow_cq;
    reg  [ONE_W-1:0]  kept, one, other;
    // Of the word in front: its entries, the second of which is there if `placed` is 2.
    reg               barrier, overflow, seen, offers, joined, leaves, silent, upper;
    reg  [1:0]        placed, sol, quiet;
    reg  [CQ_W-1:0]   cq;
    reg  [IDX_W-1:0]  behind, before;
    reg  [58:0]       line0, line1;
    reg  [255:0]      entry0, entry1;
    reg  [ONE_W-1:0]  entries [0:1];
    reg  [1:0]        half, two;
    reg  [511:0]      want;
    integer           k, busy, slow, late, spread;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: word %b, %0d entries, barrier %b, line %h; kept %b; beat %b halves %b count %0d behind %0d, want %b %b %0d %0d", what, $time,
                     seen, placed, barrier, line0, keeps, cq_valid, cq_half, cq_count, cq_written, offers, half, 1 + joined, other[317 +: IDX_W]);
            $finish;
        end
    endtask

    // The beat: the first entry there is, and the second one with it where they are the halves of a line.
    task compare;
        begin
            #1;
            seen = ent_valid && !overflowed;
            offers = 1'b1;
            {joined, silent} = 2'b00;
            if (keeps) begin
                one = kept;
                joined = seen && placed != 0 && line0[0] && cq == kept[ONE_W-1 -: CQ_W];
                other = joined ? entries[0] : kept;
            end else if (seen && placed != 0) begin
                one = entries[0];
                joined = placed == 2 && !line0[0];
                other = joined ? entries[1] : one;
            end else begin
                silent = seen && barrier;
                offers = silent;
            end
            upper = one[258];
            half = joined ? 2'b11 : upper ? 2'b10 : 2'b01;
            want = joined ? {other[255:0], one[255:0]} : upper ? {one[255:0], 256'd0} : {256'd0, one[255:0]};
            // The word leaves with its first entry, or when nothing of it is to be written; a lower half that is blocked is kept.
            leaves = keeps ? joined && cq_ready : seen && (cq_ready || (!barrier && placed == 0) || (placed == 1 && !line0[0]));
            two = {joined, 1'b1};
            if (cq_valid !== offers) wrong("beat");
            if (ent_ready !== leaves) wrong("hand");
            if (offers && cq_barrier !== silent) wrong("barrier");
            if (silent && {cq_number, cq_written} !== {cq, behind}) wrong("barrier");
            if (offers && !silent) begin
                if (cq_number !== one[ONE_W-1 -: CQ_W] || cq_addr !== one[316:259] || cq_half !== half || cq_count !== 1 + joined) wrong("what the beat is");
                if (cq_written !== other[317 +: IDX_W]) wrong("index");
                if (cq_solicited !== ({other[256], one[256]} & two) || cq_quiet !== ({other[257], one[257]} & two)) wrong("class");
                for (k = 0; k < 2; k = k + 1) if (half[k] && cq_data[256*k +: 256] !== want[256*k +: 256]) wrong("data");
            end
            if (ovf_valid !== overflowed || (overflowed && ovf_cq !== overflow_cq)) wrong("overflow");
        end
    endtask

    task advance;
        begin
            if (ovf_ready) overflowed = 1'b0;
            if (leaves && overflow) {overflowed, overflow_cq} = {1'b1, cq};
            if (keeps) begin
                if (cq_ready) keeps = 1'b0;
                if (leaves && placed == 2) {keeps, kept} = {1'b1, entries[1]};
            end else if (leaves && !barrier) begin
                if (placed == 2 && !joined) {keeps, kept} = {1'b1, entries[1]};
                if (placed == 1 && !cq_ready) {keeps, kept} = {1'b1, entries[0]};
            end
        end
    endtask

    task inputs;
        begin
            ent_valid = below(8) < busy;
            {cq_ready, ovf_ready} = {below(8) >= slow, below(8) >= late};
            barrier = below(8) == 0;
            overflow = !barrier && below(8) == 0;
            placed = barrier ? 0 : below(3);
            cq = $random(seed) & spread;
            {behind, sol, quiet} = {$random(seed), $random(seed)};
            line0 = {$random(seed), $random(seed)};
            line1 = line0 + 1;
            // The first entry behind the end of a ring
            if (line0[0] && below(4) == 0) line1 = {$random(seed), $random(seed), 1'b0};
            for (k = 0; k < 256; k = k + 32) {entry0[k +: 32], entry1[k +: 32]} = {$random(seed), $random(seed)};
            ent_data = {barrier, overflow, placed, cq, behind, line1, line0, quiet, sol, entry1, entry0};
            before = behind - (placed == 2);
            entries[0] = {cq, before, line0, quiet[0], sol[0], entry0};
            entries[1] = {cq, behind, line1, quiet[1], sol[1], entry1};
        end
    endtask

    initial begin
        set_up(12000);
        {keeps, overflowed} = 2'b00;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(2) ? 0 : below(8);
                late = below(8);
                spread = below(2) ? 0 : -1;
            end
            inputs;
            rst = n % 1024 == 1023;
            compare;
            advance;
            if (rst) {keeps, overflowed} = 2'b00;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
