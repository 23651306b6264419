// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_doorbell through its ports, cycle by cycle.
//
// Purpose: writes of every kind to every offset, right ones and ones that differ in a bit, bursts, addresses before and behind their data, receivers
//          and answers that take their time, with resets and clearing under way. Against lists of addresses, beats and answers, and the rules of a
//          write in words of bits. Compares the room for both channels, each doorbell, post, status and answer in its cycle. The design may be
//          the module or one of the netlist of mutants.
// Ports:   none. CQ_W, IDX_W, PAGE_W, ID_W, ADDR_W, FULL (posts and receives) as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module doorbell_exact;
    parameter CQ_W = 3;
    parameter IDX_W = 12;
    parameter PAGE_W = 3;
    parameter ID_W = 4;
    parameter ADDR_W = 32;
    parameter FULL = 1;
    `include "exact.vh"
    localparam ROOM = 10;       // answers, when a write is still taken
    localparam RING = 16;       // writes between the generator and both channels
    localparam TAG = ID_W + 35;

    reg                init = 1'b0, aw_valid = 1'b0, w_valid = 1'b0, bready = 1'b0, db_ready = 1'b0, post_ready = 1'b0, res_valid = 1'b0;
    reg                post_res_valid = 1'b0;
    reg  [7:0]         res_cause = 0, post_res_cause = 0;
    wire               awready, wready, bvalid, db_valid, db_arm, post_valid, st_valid, st_page_known, st_post, st_srq;
    wire [ID_W-1:0]    bid;
    wire [1:0]         bresp, db_type, post_kind;
    wire [7:0]         buser, db_op, db_cause, st_cause;
    wire [CQ_W-1:0]    db_cq;
    wire [PAGE_W-1:0]  db_page, post_page;
    wire [IDX_W-1:0]   db_index;
    wire [511:0]       post_data;
    wire [63:0]        post_word;
    wire [15:0]        st_page, st_object;

    // ---------------------------------------------------------------- what comes in: writes, whose address and data go their own ways
    reg  [ID_W+ADDR_W+10:0] made_a [0:RING-1];     // {id, address, length, size}
    reg  [575:0]            made_w [0:RING-1];     // {strobes, data}
    integer                 made_beats [0:RING-1];
    integer                 made, next_a, next_w, beat;

    wire [ID_W+ADDR_W+10:0] address = made_a[next_a % RING];
    wire [575:0]            data = made_w[next_w % RING];
    wire                    last = beat + 1 >= made_beats[next_w % RING];

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .s_axi_awid(address[ADDR_W+11 +: ID_W]), .s_axi_awaddr(address[11 +: ADDR_W]), .s_axi_awlen(address[10:3]),
        .s_axi_awsize(address[2:0]), .s_axi_awvalid(aw_valid), .s_axi_awready(awready), .s_axi_wdata(data[511:0]), .s_axi_wstrb(data[575:512]),
        .s_axi_wlast(last), .s_axi_wvalid(w_valid), .s_axi_wready(wready), .s_axi_bid(bid), .s_axi_bresp(bresp), .s_axi_buser(buser),
        .s_axi_bvalid(bvalid), .s_axi_bready(bready), .db_valid(db_valid), .db_ready(db_ready), .db_op(db_op), .db_cause(db_cause), .db_cq(db_cq),
        .db_page(db_page), .db_index(db_index), .db_arm(db_arm), .db_type(db_type), .res_valid(res_valid), .res_cause(res_cause),
        .post_valid(post_valid), .post_ready(post_ready), .post_page(post_page), .post_kind(post_kind), .post_data(post_data),
        .post_word(post_word), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause), .st_valid(st_valid),
        .st_page_known(st_page_known), .st_page(st_page), .st_post(st_post), .st_srq(st_srq), .st_object(st_object), .st_cause(st_cause) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Taken, the oldest first: addresses and beats, two at most; answers.
    reg  [ID_W+ADDR_W+10:0] in_a0, in_a1;
    reg  [576:0]            in_w0, in_w1;
    reg  [ID_W+7:0]         answers [0:31];
    integer                 count_a, count_w, count_b, first_b;
    reg                     burst;
    // Writes that took effect one to four cycles ago.
    reg  [TAG-1:0]          tag [1:4];
    reg  [1:0]              way [1:4];             // {post, doorbell}
    reg  [ID_W-1:0]         id;
    reg  [ADDR_W-1:0]       at;
    reg  [7:0]              length, cause;
    reg  [2:0]              size;
    reg  [63:0]             strobes, word, others;
    reg  [511:0]            line;
    reg  [11:0]             offset;
    reg  [31:0]             page;
    reg                     end_of_write, portal, srq_db, known, fits, posts, whole, goes, drains;
    // Of the edge before: what was taken, and whether that beat ended its write.
    reg                     awready_was, wready_was, ended_was;
    reg  [1:0]              kind;
    integer                 k, lane, busy, slow, pick;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: doorbell %b, post %b, status %b, answer %b; offset %h, size %0d, length %0d, want cause %h", what, $time, db_valid,
                     post_valid, st_valid, bvalid, offset, size, length, cause);
            $finish;
        end
    endtask

    // The rules of a write (ISO-01, ISO-02): the first that it breaks.
    task judge;
        begin
            {id, at, length, size} = in_a0;
            {end_of_write, strobes, line} = in_w0;
            lane = at[5:3];
            word = line >> (64 * lane);
            offset = at;
            page = at >> 12;
            known = page < (1 << PAGE_W);
            portal = FULL != 0 && offset < 12'h100 && offset % 64 == 0;
            srq_db = FULL != 0 && offset == `CDE_PAGE_SRQ_DB;
            if (portal) fits = size == 6 && strobes == ~64'd0;
            else fits = size >= 3 && offset % 8 == 0 && strobes == (64'hff << (8 * lane));
            kind = offset == `CDE_PAGE_RECV ? 2'd1 : offset == `CDE_PAGE_SRQ_RECV ? 2'd2 : srq_db ? 2'd3 : 2'd0;
            posts = (portal && (offset == `CDE_PAGE_SEND || kind != 0)) || srq_db;
            whole = !burst && length == 0;
            // All bits but those that are in use.
            others = offset == `CDE_PAGE_CQ_DB ? word & ~(64'h8000_FFFF_0000_0000 | ((64'd1 << IDX_W) - 64'd1) | (word[63] ? 64'h000F_0000_0000_0000 : 64'd0))
                                              : word & ~64'h0000_FFFF_0000_0000;
            if (!whole) cause = `CDE_CAUSE_BURST;
            else if (!fits) cause = `CDE_CAUSE_BAD_SIZE;
            else if (!known) cause = `CDE_CAUSE_BAD_PAGE;
            else if (offset != `CDE_PAGE_CQ_DB && offset != `CDE_PAGE_CB_RETURN) cause = `CDE_CAUSE_BAD_OFFSET;
            else if (others != 64'd0) cause = `CDE_CAUSE_RESERVED_BITS;
            else if (offset == `CDE_PAGE_CQ_DB && word[51:48] > 4'd2) cause = `CDE_CAUSE_BAD_ARM_TYPE;
            else if (word[47:32] >= (1 << CQ_W)) cause = `CDE_CAUSE_BAD_CQ;
            else cause = 8'h00;
            posts = posts && whole && fits && known;
        end
    endtask

    task compare;
        begin
            #1;
            judge;
            if (awready !== (count_a < 2 && !init) || wready !== (count_w < 2 && !init)) wrong("room");
            goes = count_a > 0 && count_w > 0 && end_of_write && count_b <= ROOM;
            drains = count_a > 0 && count_w > 0 && !end_of_write;
            if (db_valid !== (goes && !posts)) wrong("doorbell");
            if (post_valid !== (goes && posts)) wrong("post");
            if (db_valid && db_cause !== cause) wrong("cause");
            if (db_valid && db_op !== (offset == `CDE_PAGE_CB_RETURN ? `CDE_TRC_CB_RETURN : `CDE_TRC_DOORBELL)) wrong("step");
            if (db_valid && (db_cq !== word[32 +: CQ_W] || db_page !== page[PAGE_W-1:0])) wrong("CQ or page");
            if (db_valid && (db_index !== word[IDX_W-1:0] || {db_arm, db_type} !== {word[63], word[49:48]})) wrong("index or arm");
            if (post_valid && {post_page, post_kind} !== {page[PAGE_W-1:0], kind}) wrong("page or kind of a post");
            if (post_valid && kind != 2'd3 && post_data !== line) wrong("data of a post");
            if (post_valid && kind == 2'd3 && post_word !== word) wrong("doorbell of an SRQ");
            if (st_valid !== (res_valid || post_res_valid)) wrong("status");
            if (st_valid && st_cause !== (res_valid ? res_cause : post_res_cause)) wrong("cause of a status");
            if (st_valid && {st_page_known, st_page, st_srq, st_post, st_object} !== tag[4][34:0]) wrong("what a status is of");
            if (bvalid !== (count_b > 0)) wrong("answer");
            if (bvalid && {bid, buser} !== answers[first_b % 32]) wrong("answer's number or cause");
            if (bvalid && bresp !== (buser == 8'h00 ? 2'b00 : 2'b10)) wrong("response");
        end
    endtask

    task step;
        begin
            goes = (db_valid && db_ready) || (post_valid && post_ready);
            if (bvalid && bready) begin
                first_b = first_b + 1;
                count_b = count_b - 1;
            end
            if (st_valid) begin
                answers[(first_b + count_b) % 32] = {tag[4][TAG-1:35], st_cause};
                count_b = count_b + 1;
            end
            for (k = 4; k > 1; k = k - 1) {tag[k], way[k]} = {tag[k-1], way[k-1]};
            tag[1] = {id, known, page[15:0], posts && kind[1], posts, word[47:32]};
            way[1] = {goes && posts, goes && !posts};
            if (drains) burst = 1'b1;
            if (goes) burst = 1'b0;
            // Out, then in.
            if (goes) begin
                in_a0 = in_a1;
                count_a = count_a - 1;
            end
            if (goes || drains) begin
                in_w0 = in_w1;
                count_w = count_w - 1;
            end
            if (aw_valid && awready_was) begin
                if (count_a == 0) in_a0 = address;
                else in_a1 = address;
                count_a = count_a + 1;
            end
            if (w_valid && wready_was) begin
                if (count_w == 0) in_w0 = {last, data};
                else in_w1 = {last, data};
                count_w = count_w + 1;
            end
        end
    endtask

    task forget;
        begin
            {count_a, count_w, count_b, first_b} = 128'd0;
            {in_a0, in_a1, in_w0, in_w1} = 0;
            for (k = 1; k <= 4; k = k + 1) {tag[k], way[k]} = 0;
            {made, next_a, next_w, beat} = 128'd0;
            burst = 1'b0;
        end
    endtask

    // A write that breaks at most a few rules.
    task make;
        begin
            case (below(8))
                0, 1: offset = `CDE_PAGE_CQ_DB;
                2: offset = `CDE_PAGE_CB_RETURN;
                3: offset = `CDE_PAGE_SEND;
                4: offset = `CDE_PAGE_RECV;
                5: offset = `CDE_PAGE_SRQ_RECV;
                6: offset = `CDE_PAGE_SRQ_DB;
                7: offset = 8 * below(512);
            endcase
            portal = FULL != 0 && offset < 12'h100 && offset % 64 == 0;
            if (below(8) == 0) offset = offset ^ (12'd1 << below(12));
            at = below(1 << PAGE_W) << 12 | offset;
            if (below(8) == 0) at = at ^ (32'd1 << (12 + below(ADDR_W - 12)));
            lane = at[5:3];
            for (k = 0; k < 16; k = k + 1) line[32*k +: 32] = $random(seed);
            // Words that are right but for a few bits.
            if (below(8) != 0) begin
                word = 64'd0;
                word[31:0] = offset == `CDE_PAGE_CQ_DB ? $random(seed) & ((1 << IDX_W) - 1) : 32'd0;
                word[63] = offset == `CDE_PAGE_CQ_DB && below(2) != 0;
                word[51:48] = word[63] ? below(3) : 0;
                word[47:32] = below(1 << CQ_W);
                for (pick = below(3); pick > 0; pick = pick - 1) if (below(2) != 0) word[below(64)] = 1'b1;
                line[64*lane +: 64] = word;
            end
            strobes = portal ? ~64'd0 : 64'hff << (8 * lane);
            if (below(12) == 0) strobes = strobes ^ (64'd1 << below(64));
            size = portal ? 6 : below(4) == 0 ? 3 + below(4) : 3;
            if (below(12) == 0) size = $random(seed);
            length = below(12) == 0 ? 1 << below(8) : 0;
            k = made % RING;
            made_beats[k] = below(12) == 0 ? 1 + below(4) : length < 4 ? length + 1 : 1;
            made_a[k] = {$random(seed), at, length, size};
            made_a[k][ADDR_W+11 +: ID_W] = $random(seed);
            made_w[k] = {strobes, line};
            made = made + 1;
        end
    endtask

    task inputs;
        begin
            // What was taken at the last edge makes room for what comes behind.
            if (aw_valid && awready_was) next_a = next_a + 1;
            if (w_valid && wready_was) begin
                beat = beat + 1;
                if (ended_was) begin
                    beat = 0;
                    next_w = next_w + 1;
                end
            end
            while (made <= next_a || made <= next_w) make;
            aw_valid = below(8) < busy && next_a < next_w + RING - 2;
            w_valid = below(8) < busy && next_w < next_a + RING - 2;
            init = below(64) == 0;
            bready = below(8) >= slow;
            db_ready = below(8) >= slow;
            post_ready = below(8) >= slow;
            {post_res_valid, res_valid} = way[4];
            res_cause = below(2) ? $random(seed) : 8'h00;
            post_res_cause = below(2) ? $random(seed) : 8'h00;
        end
    endtask

    initial begin
        set_up(30000);
        rst = 1'b0;
        forget;
        {awready_was, wready_was, ended_was} = 3'b000;
        {busy, slow} = 64'd0;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 64 == 0) begin
                busy = 1 + below(8);
                slow = below(8);
            end
            inputs;
            rst = below(500) == 0;
            compare;
            {awready_was, wready_was, ended_was} = {awready, wready, last};
            step;
            if (rst) begin
                forget;
                {aw_valid, w_valid} = 2'b00;
            end
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
