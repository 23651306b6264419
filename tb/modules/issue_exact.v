// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_issue through its ports, cycle by cycle.
//
// Purpose: completion beats, beats that write nothing and event entries, alone and against each other; a port whose address and data channels take their
//          time each for itself; answers early, late, wrong, for nothing; as many writes under way as there is room for; resets and clearing walks.
//          Against one beat on the port and one list of writes for each AXI ID (CQ-22, ISO-04). Compares both hands, the port, the written index, answers
//          and counts in each cycle. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, IDX_W, MAX_LOG2 (MAX_WRITES is 1 << MAX_LOG2), EQ_REC_W, INIT_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module issue_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 1;
    parameter IDX_W = 5;
    parameter MAX_LOG2 = 3;
    parameter EQ_REC_W = 80;
    parameter INIT_W = 4;
    parameter M_ID_W = CQ_W + 1;
    `include "exact.vh"
    localparam REC_W = EQ_REC_W + 1;
    localparam IDS = 1 << M_ID_W;
    localparam ROOM = 1 << MAX_LOG2;

    reg                 init = 1, cq_valid = 0, cq_barrier = 0, eq_valid = 0, eq_void = 0, awready = 0, wready = 0, bvalid = 0, bready = 0;
    reg  [INIT_W-1:0]   init_addr = 0;
    reg  [CQ_W-1:0]     cq_number = 0;
    reg  [63:6]         cq_addr = 0;
    reg  [511:0]        cq_data = 0;
    reg  [1:0]          cq_half = 0, cq_count = 0, cq_solicited = 0, cq_quiet = 0, bresp = 0;
    reg  [IDX_W-1:0]    cq_written = 0;
    reg  [EQ_W-1:0]     eq_number = 0;
    reg  [63:4]         eq_addr = 0;
    reg  [127:0]        eq_data = 0;
    reg  [EQ_REC_W-1:0] eq_record = 0;
    reg  [M_ID_W-1:0]   bid = 0;
    wire                cq_ready, eq_ready, barrier_done, awvalid, wvalid, wr_we, ans_valid, ans_error, stray, count_cqe, count_eqe;
    wire [M_ID_W-1:0]   awid;
    wire [63:0]         awaddr, wstrb;
    wire [511:0]        wdata;
    wire [CQ_W-1:0]     wr_cq;
    wire [IDX_W-1:0]    wr_index;
    wire [REC_W-1:0]    ans_record;

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .cq_valid(cq_valid), .cq_ready(cq_ready), .cq_barrier(cq_barrier),
        .cq_number(cq_number), .cq_addr(cq_addr), .cq_data(cq_data), .cq_half(cq_half), .cq_count(cq_count), .cq_solicited(cq_solicited),
        .cq_quiet(cq_quiet), .cq_written(cq_written), .barrier_done(barrier_done), .eq_valid(eq_valid), .eq_ready(eq_ready),
        .eq_number(eq_number), .eq_addr(eq_addr), .eq_data(eq_data), .eq_void(eq_void), .eq_record(eq_record), .m_axi_awid(awid),
        .m_axi_awaddr(awaddr), .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_bid(bid), .m_axi_bresp(bresp), .m_axi_bvalid(bvalid), .m_axi_bready(bready),
        .wr_we(wr_we), .wr_cq(wr_cq), .wr_index(wr_index), .ans_valid(ans_valid), .ans_record(ans_record), .ans_error(ans_error),
        .stray(stray), .count_cqe(count_cqe), .count_eqe(count_eqe) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // On the port: nothing, or a beat whose address, whose data are still to be taken.
    reg                 there, aw_left, w_left, of_cq, silent, last_eq, silent_done;
    reg  [M_ID_W-1:0]   id;
    reg  [63:0]         addr, strobes;
    reg  [511:0]        data;
    reg  [CQ_W-1:0]     number;
    reg  [IDX_W-1:0]    written;
    // Of each ID the writes under way, of which those known may be answered; slots in use, and one that comes back.
    reg  [REC_W-1:0]    list [0:2*ROOM*IDS-1], answer, record;
    integer             pushed [0:IDS-1], answered [0:IDS-1], known [0:IDS-1], newer [0:IDS-1];
    integer             held, freed;
    reg                 answers, fails, strays;

    integer             k, pick, busy, events, slow, late, spread;
    reg                 done, room, passes, takes_eq, loads_eq, loads_cq;

    task wrong;
        input [8*20-1:0] what;
        begin
            $display("wrong: %0s at %0t: ready %b %b, address %b %h of %0d, data %b %h, answer %b %h; %0d of %0d held", what, $time, cq_ready, eq_ready, awvalid,
                     awaddr, awid, wvalid, wstrb, ans_valid, ans_record, held, ROOM);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            done = there && (!aw_left || awready) && (!w_left || wready);
            room = (!there || done) && held < ROOM && !init;
            // What writes nothing needs no room for an answer.
            passes = (!there || done) && cq_valid && cq_barrier && !room;
            takes_eq = eq_valid && !passes && (!cq_valid || !last_eq);
            {loads_eq, loads_cq} = {room && takes_eq, (room || passes) && !takes_eq && cq_valid};
            if (eq_ready !== loads_eq || cq_ready !== ((room || passes) && !takes_eq)) wrong("hand");
            if (awvalid !== aw_left || (aw_left && {awid, awaddr} !== {id, addr})) wrong("address");
            if (wvalid !== w_left || (w_left && wstrb !== strobes)) wrong("strobes");
            for (k = 0; k < 64; k = k + 1) if (w_left && strobes[k] && wdata[8*k +: 8] !== data[8*k +: 8]) wrong("data");
            if (wr_we !== (done && of_cq) || (wr_we && {wr_cq, wr_index} !== {number, written})) wrong("written index");
            if (count_cqe !== (done && of_cq && !silent) || count_eqe !== (done && !of_cq)) wrong("count");
            if (barrier_done !== silent_done) wrong("barrier");
            if (ans_valid !== answers || stray !== strays) wrong("answer");
            if (answers && {ans_record, ans_error} !== {answer, fails}) wrong("what was answered");
        end
    endtask

    task advance;
        begin
            silent_done = done && silent;
            if (awready) aw_left = 1'b0;
            if (wready) w_left = 1'b0;
            if (done) there = 1'b0;
            held = held - freed;
            if (bvalid && bready && answered[bid] != known[bid]) begin
                {answers, strays, fails} = {2'b10, bresp != 0};
                answer = list[2 * ROOM * bid + answered[bid] % (2 * ROOM)];
                answered[bid] = answered[bid] + 1;
            end else {answers, strays} = {1'b0, bvalid && bready};
            freed = answers;
            if (loads_eq || loads_cq) begin
                {there, of_cq, silent, last_eq} = {1'b1, loads_cq, loads_cq && cq_barrier, loads_eq};
                {aw_left, w_left} = {2{!silent}};
                {number, written} = {cq_number, cq_written};
                if (loads_eq) begin
                    id = eq_number + IDS / 2;
                    addr = eq_addr[63:6] << 6;
                    data = eq_data << 128 * eq_addr[5:4];
                    strobes = eq_void ? 64'd0 : 64'hffff << 16 * eq_addr[5:4];
                    record = {1'b1, eq_record};
                end else begin
                    id = cq_number;
                    addr = {cq_addr, 6'd0};
                    data = cq_data;
                    strobes = (cq_half[0] ? 64'hffffffff : 64'd0) + (cq_half[1] ? 64'hffffffff << 32 : 64'd0);
                    record = {cq_quiet, cq_solicited, cq_count, cq_number};
                end
                if (!silent) begin
                    list[2 * ROOM * id + pushed[id] % (2 * ROOM)] = record;
                    pushed[id] = pushed[id] + 1;
                    held = held + 1;
                end
            end
            for (k = 0; k < IDS; k = k + 1) begin
                known[k] = newer[k];
                newer[k] = pushed[k];
            end
        end
    endtask

    // ---------------------------------------------------------------- what comes in
    task inputs;
        begin
            cq_valid = below(8) < busy;
            eq_valid = below(8) < events;
            {cq_barrier, eq_void} = {below(6) == 0, below(6) == 0};
            cq_number = $random(seed) & spread;
            eq_number = $random(seed) & spread;
            cq_addr = {$random(seed), $random(seed)};
            eq_addr = {$random(seed), $random(seed)};
            for (k = 0; k < 512; k = k + 32) cq_data[k +: 32] = $random(seed);
            for (k = 0; k < 128; k = k + 32) eq_data[k +: 32] = $random(seed);
            for (k = 0; k < EQ_REC_W; k = k + 16) eq_record = {eq_record, 16'd0} | $unsigned($random(seed)) % 65536;
            {cq_half, cq_count, cq_solicited, cq_quiet} = $random(seed);
            cq_written = $random(seed);
            {awready, wready} = {below(8) >= slow, below(8) >= slow};
            bvalid = below(8) >= late;
            bready = below(8) != 0;
            bresp = below(2) ? 2'd0 : $random(seed);
            // Mostly an ID of which something is under way
            pick = below(IDS);
            for (k = 0; k < IDS && answered[pick] == known[pick] && below(32) != 0; k = k + 1) pick = (pick + 1) % IDS;
            bid = pick;
            // What was given too late to be answered is neither under way nor not.
            if (answered[pick] == known[pick] && pushed[pick] != known[pick]) bvalid = 1'b0;
        end
    endtask

    task reset;
        begin
            {cq_valid, eq_valid, bvalid} = 3'd0;
            rst = 1'b1;
            edge_of_clock;
            rst = 1'b0;
            init = 1'b1;
            {there, aw_left, w_left, of_cq, silent, last_eq, silent_done, answers, strays, held, freed} = 0;
            for (k = 0; k < IDS; k = k + 1) {pushed[k], answered[k], known[k], newer[k]} = 128'd0;
            for (pick = 0; pick < (1 << INIT_W); pick = pick + 1) begin
                init_addr = pick;
                // Nothing is taken yet.
                {cq_valid, eq_valid} = $random(seed);
                compare;
                advance;
                edge_of_clock;
            end
            init = 1'b0;
        end
    endtask

    initial begin
        set_up(20000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 4000 == 0) reset;
            // Long enough for all writes that there is room for.
            if (n % (ROOM > 32 ? 4 * ROOM : 128) == 0) begin
                busy = below(9);
                events = below(9);
                slow = below(2) ? 0 : below(8);
                late = below(9);
                spread = below(2) ? -1 : $random(seed);
            end
            inputs;
            compare;
            advance;
            edge_of_clock;
        end
        passed;
    end

endmodule

`default_nettype wire
