// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_eqs through its ports, cycle by cycle.
//
// Purpose: event queues (EQs) that are made, resized, changed, destroyed and attached to, numbers beyond all EQs that differ from one in a bit, pages that nearly
//          are the same, one step behind another; resets. Against one record for each EQ. Compares what is known of the EQ that is named, in each cycle.
//          The design may be the module or one of the netlist of mutants.
// Ports:   none. EQ_W, PAGE_W, CQ_W as parameters of the bench (NUM_EQ is 1 << EQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module eqs_exact;
    parameter EQ_W = 2;
    parameter PAGE_W = 3;
    parameter CQ_W = 3;
    `include "exact.vh"
    localparam EQS = 1 << EQ_W;
    localparam CQS = 1 << CQ_W;

    reg               create = 0, resize = 0, modify = 0, destroy = 0, attach = 0, detach = 0;
    reg  [15:0]       eq = 0, page = 0, new_vector = 0;
    reg  [4:0]        new_log2 = 0;
    wire              ok, same_page;
    wire [31:0]       entries;
    wire [15:0]       attached, vector;
    wire [4:0]        log2;
    wire [PAGE_W-1:0] eq_page;

    `DUT dut (
        .clk(clk), .rst(rst), .eq(eq), .page(page), .ok(ok), .same_page(same_page), .entries(entries), .attached(attached), .log2(log2),
        .vector(vector), .eq_page(eq_page), .create(create), .resize(resize), .modify(modify), .destroy(destroy), .attach(attach),
        .detach(detach), .new_log2(new_log2), .new_vector(new_vector) `SELECT
    );

    // ---------------------------------------------------------------- the model
    integer           sizes [0:EQS-1], pages [0:EQS-1], vectors [0:EQS-1], users [0:EQS-1];
    reg  [EQS-1:0]    there, known;
    integer           at, ups, users_now, pages_now, sizes_now;
    reg               was_known, was_there, begun;
    reg  [15:0]       asked_page;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: EQ %h: exists %b, %0d entries, %0d CQs, page same %b, vector %h", what, $time, eq, ok, entries, attached, same_page,
                     vector);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            if (begun && ok !== was_there) wrong("existence");
            if (begun && was_known) begin
                if (same_page !== (pages_now == asked_page)) wrong("page");
                if (entries !== 32'd1 << sizes_now) wrong("entries");
                if (attached !== users_now) wrong("CQs");
            end
            if (known[at] && {log2, vector, eq_page} !== {sizes[at][4:0], vectors[at][15:0], pages[at][PAGE_W-1:0]}) wrong("settings");
        end
    endtask

    task inputs;
        begin
            at = below(EQS);
            eq = at;
            {create, resize, modify, destroy, attach, detach} = 6'd0;
            new_log2 = $random(seed);
            new_vector = $random(seed);
            page = known[at] && below(2) ? pages[at] : below(1 << PAGE_W);
            // Numbers of no EQ and of no page are asked for, never set.
            if (below(4) == 0) eq = eq ^ 1 << below(16);
            if (below(8) == 0) page = page ^ 1 << below(16);
            at = eq % EQS;
            if (eq < EQS) begin
                if (!there[at]) create = page < (1 << PAGE_W) && below(2);
                else case (below(16))
                    0: destroy = users[at] == 0;
                    1, 2: resize = 1'b1;
                    3, 4: modify = 1'b1;
                    default: if (below(8) < ups) attach = users[at] < CQS; else detach = users[at] > 0;
                endcase
            end
        end
    endtask

    task advance;
        begin
            begun = 1'b1;
            {was_known, was_there} = {known[at], there[at] && eq < EQS};
            {users_now, pages_now, sizes_now, asked_page} = {users[at], pages[at], sizes[at], page};
            if (create || resize) sizes[at] = new_log2;
            if (create || modify) vectors[at] = new_vector;
            if (create) {pages[at], users[at], there[at], known[at]} = {32'd0 | page, 32'd0, 2'b11};
            if (destroy) there[at] = 1'b0;
            users[at] = users[at] + attach - detach;
            if (rst) {there, begun} = 0;
        end
    endtask

    initial begin
        set_up(12000 + (40 << (EQ_W + CQ_W)));
        {there, known, begun, at} = 0;
        for (at = 0; at < EQS; at = at + 1) {sizes[at], pages[at], vectors[at], users[at]} = 128'd0;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % (EQS * CQS * 4) == 0) ups = n % (EQS * CQS * 8) == 0 ? 7 : 1;
            inputs;
            rst = n < 4096 && n % 512 == 511;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
