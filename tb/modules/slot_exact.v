// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_slot through its ports, cycle by cycle.
//
// Purpose: neighbours anywhere in rings of every size, of every class and of almost that class, entries that are taken at once and late, silent
//          completions, against places counted by division and a list. Compares each entry, the level, and what is told to the granting side. The design
//          may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, IDX_W and LEVEL_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module slot_exact;
    parameter CQ_W = 2;
    parameter IDX_W = 6;
    parameter LEVEL_W = 4;
    `include "exact.vh"
    localparam M = 1 << IDX_W;
    localparam ENT_W = 4 + CQ_W + IDX_W + 2 * 59 + 4 + 2 * 256;
    localparam ROOM = 1 << (LEVEL_W - 1);

    reg               step = 1'b0, push = 1'b0, barrier = 1'b0, overflow = 1'b0, put0 = 1'b0, ready = 1'b0;
    reg  [1:0]        placed = 2'd0;
    reg  [CQ_W-1:0]   cq = 0;
    reg  [IDX_W-1:0]  alloc = 0, origin = 0, size = 1, alloc_next = 0, used_next = 0;
    reg  [57:0]       base = 58'd0;
    reg  [511:0]      data = 512'd0;
    wire              silent_we, valid;
    wire [CQ_W-1:0]   silent_cq;
    wire [IDX_W-1:0]  silent_total;
    wire [ENT_W-1:0]  entry;
    wire [LEVEL_W-1:0] level;

    `DUT dut (
        .clk(clk), .rst(rst), .step(step), .push(push), .barrier(barrier), .overflow(overflow), .put0(put0), .placed(placed), .cq(cq),
        .alloc(alloc), .origin(origin), .size(size), .base(base), .alloc_next(alloc_next), .used_next(used_next), .data(data),
        .silent_we(silent_we), .silent_cq(silent_cq), .silent_total(silent_total), .ent_valid(valid), .ent_ready(ready), .ent_data(entry),
        .ent_level(level) `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [ENT_W-1:0] list [0:ROOM-1];
    reg  [ENT_W-1:0] offered;
    integer          first, count, k, lines, place0, place1, wait_some, log2;
    reg              steps, pushes;
    reg  [CQ_W-1:0]  step_cq;
    reg  [IDX_W-1:0] step_total;
    reg  [ENT_W-1:0] made;
    reg  [255:0]     low, high;
    reg  [58:0]      line0, line1;
    reg  [1:0]       class0, class1;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: %b %h level %0d, want %b %h level %0d", what, $time, valid, entry, level, count != 0 || pushes, offered,
                     count);
            $finish;
        end
    endtask

    `include "entry.vh"

    task random_inputs;
        begin
            if (n % 64 == 0) wait_some = below(5);
            step = below(4) != 0;
            push = count + pushes < ROOM - 1 && below(4) != 0;
            {barrier, overflow, put0, placed, cq} = $random(seed);
            {alloc, origin, alloc_next, used_next} = {$random(seed), $random(seed)};
            for (k = 0; k < 512; k = k + 32) data[k +: 32] = $random(seed);
            for (k = 0; k < 2; k = k + 1) begin
                // Of every class, and one bit beside it
                case (below(4))
                    0: data[256 * k + `CDE_CQE_TYPE_LSB +: 16] = `CDE_CQETYPE_RECEIVE;
                    1: data[256 * k + `CDE_CQE_TYPE_LSB +: 16] = `CDE_CQETYPE_RECEIVE_AND_INVALIDATE;
                    2: data[256 * k + `CDE_CQE_TYPE_LSB +: 16] = `CDE_CQETYPE_INVALIDATE;
                    default: data[256 * k + `CDE_CQE_TYPE_LSB +: 16] = $random(seed);
                endcase
                if (below(4) == 0) data[256 * k + `CDE_CQE_TYPE_LSB + below(16)] = $random(seed);
                case (below(4))
                    0: data[256 * k + `CDE_CQE_STATUS_LSB +: 8] = $random(seed);
                    1: data[256 * k + `CDE_CQE_STATUS_LSB +: 8] = 8'd1 << below(8);
                    default: data[256 * k + `CDE_CQE_STATUS_LSB +: 8] = 8'd0;
                endcase
            end
            log2 = 1 + below(IDX_W - 1);
            size = 1 << log2;
            // A ring begins at a multiple of its bytes; a line has half of 64.
            base = {$random(seed), $random(seed)} >> 3;
            base = base >> (log2 - 1) << (log2 - 1);
            ready = below(4) >= wait_some;
        end
    endtask

    task cycle;
        begin
            #1;
            offered = count != 0 ? list[first] : made;
            if (valid !== (count != 0 || pushes)) wrong("handshake");
            if (valid && entry !== offered) wrong("entry");
            if (level !== count) wrong("level");
            if (silent_we !== steps) wrong("step");
            if (steps && (silent_cq !== step_cq || silent_total !== step_total)) wrong("silent");
            if (valid && ready) begin
                if (count != 0) begin
                    first = (first + 1) % ROOM;
                    count = count - 1;
                    if (pushes) list[(first + count) % ROOM] = made;
                    count = count + pushes;
                end
            end else if (pushes) begin
                list[(first + count) % ROOM] = made;
                count = count + 1;
            end
            // What comes out of this cycle's inputs in the next one
            steps = step && !rst;
            pushes = push && !rst;
            step_cq = cq;
            step_total = used_next - alloc_next;
            place0 = (alloc - origin + M) % M;
            place1 = (place0 + 1) % M;
            line0 = 2 * base + place0 % size;
            line1 = 2 * base + place1 % size;
            // Laps are told apart by the phase, which starts at 1.
            low = {place0 / size % 2 == 0, put0 ? data[254:0] : data[510:256]};
            high = {place1 / size % 2 == 0, data[510:256]};
            {class0, class1} = {class(low), class(high)};
            made = {barrier, overflow, placed, cq, alloc_next, line1, line0, class1[1], class0[1], class1[0], class0[0], high, low};
            if (rst) {first, count} = 0;
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(8000);
        {first, count} = 0;
        {steps, pushes} = 2'b00;
        for (n = 0; n < cycles; n = n + 1) begin
            random_inputs;
            rst = n % 512 == 511;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
