// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_mbox through its ports, cycle by cycle.
//
// Purpose: commands of event queues and of CQs whose arguments are right but for a bit or at a limit, one behind another; pipelines that let wait and answer
//          anything. The bench goes with each command step by step: what it asks for, what the others are told, its result and outputs (interfaces.md).
//          Compares every output in each cycle in which it says something. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, PAGE_W, IDX_W as parameters of the bench (NUM_CQ is 1 << CQ_W, and so on); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module mbox_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 8;
    `include "exact.vh"
    `include "clearing.vh"
    localparam CQS = 1 << CQ_W, EQS = 1 << EQ_W, PAGES = 1 << PAGE_W, MOST = IDX_W - 2;
    localparam [7:0] CLEAR = 8'h00, LOOK = 8'hff;

    reg                start = 0, ct_ready = 0, ct_res_valid = 0, op_ready = 0, op_res_valid = 0, barrier_done = 0, clear_ready = 0, cqi_used = 0,
                       eqc_left = 0, cfg_hold = 0;
    reg  [7:0]         command = 0, op_res_result = 0;
    reg  [191:0]       args = 0;
    reg  [95:0]        ct_res_state = 0;
    reg  [IDX_W-1:0]   op_res_index = 0, op_res_held = 0, eqc_index = 0;
    wire               busy, done, ct_valid, cfg_we, op_valid, op_unreserved, limit_we, clear_valid, cqi_we, cqi_alive, eqc_valid, eqc_create,
                       eqc_vector_we, eqc_ring_we;
    wire [7:0]         result, ct_op, op_code;
    wire [191:0]       outs;
    wire [CQ_W-1:0]    ct_cq, cfg_cq, op_cq, limit_cq, clear_cq, cqi_cq;
    wire [IDX_W-1:0]   ct_index;
    wire [19+IDX_W+EQ_W+PAGE_W:0] cfg_data;
    wire [63:6]        op_base, eqc_base;
    wire [4:0]         op_log2, eqc_log2;
    wire [IDX_W+1:0]   limit_data;
    wire [PAGE_W-1:0]  cqi_page;
    wire [EQ_W-1:0]    eqc_eq;
    wire [15:0]        eqc_vector;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .start(start), .command(command), .args(args), .busy(busy), .done(done), .result(result),
        .outs(outs), .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index), .ct_res_valid(ct_res_valid),
        .ct_res_state(ct_res_state), .cfg_we(cfg_we), .cfg_hold(cfg_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data), .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code),
        .op_cq(op_cq), .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved), .op_res_valid(op_res_valid), .op_res_result(op_res_result),
        .op_res_index(op_res_index), .op_res_held(op_res_held), .barrier_done(barrier_done), .limit_we(limit_we), .limit_cq(limit_cq),
        .limit_data(limit_data), .clear_valid(clear_valid), .clear_ready(clear_ready), .clear_cq(clear_cq), .cqi_we(cqi_we), .cqi_alive(cqi_alive),
        .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used), .eqc_valid(eqc_valid), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we),
        .eqc_ring_we(eqc_ring_we), .eqc_eq(eqc_eq), .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index),
        .eqc_left(eqc_left) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of each CQ and event queue what its commands have set.
    reg  [1:0]         life [0:CQS-1];
    reg  [15:0]        count_of [0:CQS-1], interval_of [0:CQS-1], page_of [0:CQS-1], vector [0:EQS-1], eq_page [0:EQS-1];
    reg  [2:0]         modes [0:CQS-1];     // {re-arm, typed, unreserved}
    integer            eq_of [0:CQS-1], log2_of [0:CQS-1], eq_log2 [0:EQS-1], attached [0:EQS-1];
    reg  [EQS-1:0]     eq_there;
    // What this cycle has: a command is under way or ends; a step of the arm state or of the producer side is asked for, and so on.
    reg                runs, ends, arms, produces, sets, limits, clears, tells, alive, rings;
    reg  [7:0]         arm_op, produce_op, want_result;
    reg  [191:0]       want;
    reg  [95:0]        peek;
    reg  [19+IDX_W+EQ_W+PAGE_W:0] settings;
    reg  [IDX_W+1:0]   limit;
    reg  [IDX_W-1:0]   stopped;
    reg  [15:0]        count, interval;
    reg  [2:0]         mode;
    reg                of_eq, known, off, by_count, by_interval, eq_fits, used;
    integer            cq, eq, log2, k, turns, slow, page, late;
    wire               make_eq = command == `CDE_CMD_CREATE_EQ, make_cq = command == `CDE_CMD_CREATE_CQ, change_eq = command == `CDE_CMD_MODIFY_EQ,
                       change_cq = command == `CDE_CMD_MODIFY_CQ, size_eq = command == `CDE_CMD_RESIZE_EQ, size_cq = command == `CDE_CMD_RESIZE_CQ,
                       ask_eq = command == `CDE_CMD_QUERY_EQ, ask_cq = command == `CDE_CMD_QUERY_CQ, end_eq = command == `CDE_CMD_DESTROY_EQ,
                       end_cq = command == `CDE_CMD_DESTROY_CQ;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: command %h %h: result %h, want %h; outputs %h, want %h; arm state %b %h, producer %b %h, settings %b %h, limit %b %h", what,
                     $time, command, args, result, want_result, outs, want, ct_valid, ct_op, op_valid, op_code, cfg_we, cfg_data, limit_we, limit_data);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            if (busy !== runs) wrong("busy");
            if (done !== ends || (ends && {result, outs} !== {want_result, want})) wrong("end of a command");
            if (ct_valid !== arms || (arms && {ct_op, ct_cq} !== {arm_op, cq[CQ_W-1:0]})) wrong("arm state");
            if (arms && arm_op != LOOK && ct_index !== stopped) wrong("index");
            if (op_valid !== produces || (produces && {op_code, op_cq} !== {produce_op, cq[CQ_W-1:0]})) wrong("producer");
            if (produces && (produce_op == `CDE_TRC_START || produce_op == `CDE_TRC_RESIZE) && {op_base, op_log2} !== {args[95:38], args[100:96]})
                wrong("ring");
            if (produces && produce_op == `CDE_TRC_START && op_unreserved !== args[104]) wrong("reservation");
            if (cfg_we !== sets || (sets && {cfg_cq, cfg_data} !== {cq[CQ_W-1:0], settings})) wrong("settings");
            if (limit_we !== limits || (limits && {limit_cq, limit_data} !== {cq[CQ_W-1:0], limit})) wrong("limit");
            if (clear_valid !== clears || (clears && clear_cq !== cq[CQ_W-1:0])) wrong("clearing");
            if (cqi_we !== tells || (tells && {cqi_alive, cqi_cq} !== {alive, cq[CQ_W-1:0]})) wrong("life");
            if (tells && alive && cqi_page !== args[128 +: PAGE_W]) wrong("page");
            if (eqc_valid !== rings) wrong("event queue");
            if (rings && {eqc_create, eqc_vector_we, eqc_ring_we, eqc_eq} !== {make_eq, change_eq, size_eq, eq[EQ_W-1:0]}) wrong("event queue");
            if (rings && !change_eq && {eqc_base, eqc_log2} !== {args[95:38], args[100:96]}) wrong("event ring");
            if (rings && !size_eq && eqc_vector !== args[127:112]) wrong("vector");
        end
    endtask

    task cycle;
        begin
            compare;
            edge_of_clock;
            cfg_hold = below(slow) != 0;
            {start, ends, sets, limits, tells, rings, ct_res_valid, op_res_valid} = 8'd0;
            {ct_ready, op_ready, clear_ready, barrier_done, eqc_left} = {below(slow) == 0, below(slow) == 0, below(slow) == 0, below(slow) == 0, below(slow) == 0};
            {op_res_index, op_res_held, eqc_index, op_res_result} = {$random(seed), $random(seed)};
            if (below(2)) op_res_result = `CDE_RES_OK;
            ct_res_state = {$random(seed), $random(seed), $random(seed)};
            cqi_used = below(4) == 0;
        end
    endtask

    task cycles_of;
        input integer number;
        for (late = number; late > 0; late = late - 1) cycle;
    endtask

    // Asked for from the second cycle on until it is taken; the cycle of the answer is yet to come.
    task arm_step;
        input [7:0] code;
        begin
            cycle;
            arm_op = code;
            arms = 1'b1;
            while (!ct_ready) cycle;
            cycle;
            arms = 1'b0;
            cycles_of(below(4));
            ct_res_valid = 1'b1;
        end
    endtask

    task producer_step;
        input [7:0] code;
        begin
            cycle;
            produce_op = code;
            produces = 1'b1;
            while (!op_ready) cycle;
            cycle;
            produces = 1'b0;
            cycles_of(below(4));
            op_res_valid = 1'b1;
        end
    endtask

    task tell_limit;
        input integer of;
        begin
            limits = 1'b1;
            limit = {1'b1, mode[0], {IDX_W{1'b0}}} | (32'd1 << of);
            if (end_cq) limit = 0;
            cycle;
        end
    endtask

    task some_command;
        begin
            case (below(16))
                0, 1: command = `CDE_CMD_CREATE_EQ;
                2: command = `CDE_CMD_MODIFY_EQ;
                3: command = `CDE_CMD_RESIZE_EQ;
                4: command = `CDE_CMD_QUERY_EQ;
                5, 6: command = `CDE_CMD_DESTROY_EQ;
                7, 8, 9: command = `CDE_CMD_CREATE_CQ;
                10: command = `CDE_CMD_MODIFY_CQ;
                11: command = `CDE_CMD_RESIZE_CQ;
                12: command = `CDE_CMD_QUERY_CQ;
                13, 14: command = `CDE_CMD_DESTROY_CQ;
                15: command = (below(2) ? `CDE_CMD_CREATE_EQ : `CDE_CMD_CREATE_CQ) ^ (8'd1 << below(8));
            endcase
            of_eq = command < 8'h10;
            for (k = 0; k < 6; k = k + 1) args[32*k +: 32] = $random(seed);
            cq = below(of_eq ? EQS : CQS);
            // One that is there, or that is not yet, mostly.
            for (k = 0; k < (of_eq ? EQS : CQS); k = k + 1)
                if ((of_eq ? eq_there[cq] == make_eq : (life[cq] != `CDE_LIFE_FREE) == make_cq) && below(8) != 0) cq = (cq + 1) % (of_eq ? EQS : CQS);
            args[31:0] = cq;
            args[63:32] = args[63:32] & ~32'd0 << (below(4) == 0 ? 4 + below(4) : 9 + below(16));
            k = below(8) == 0 ? below(32) : 1 + below(below(2) ? MOST : 4);
            if (make_eq || size_eq || make_cq || size_cq) args[100:96] = k;
            eq = below(EQS);
            for (k = 0; k < EQS && !eq_there[eq]; k = k + 1) eq = (eq + 1) % EQS;
            if (make_eq) {args[159:144], args[143:128], args[111:101]} = {16'd0, 16'd0 | (args[128 +: PAGE_W] & args[159 -: PAGE_W]), 11'd0};
            if (make_cq) {args[159:144], args[143:128]} = {eq[15:0], eq_page[eq]};
            if ((make_eq || make_cq) && below(8) == 0) args[143:128] = below(2) ? PAGES : below(PAGES);
            if (change_eq) args[111:96] = 16'd0;
            if (size_eq || size_cq) args[127:101] = 27'd0;
            if (make_cq) {args[103:101], args[127:107]} = 24'd0;
            if (change_cq) {args[104:96], args[127:107]} = 30'd0;
            // Counts: none, of one ring, off; intervals: none, off.
            k = below(8);
            if (k < 3) args[175:160] = k == 0 ? 16'hffff : below(3);
            else if (k < 6) args[175:160] = (1 << args[100:96]) + below(3) - 1;
            k = below(4);
            if (k < 2) args[191:176] = k == 0 ? 16'hffff : below(3);
            k = below(3) ? 192 : below(2) ? below(192) : 96 + below(16);
            if (k < 192) args[k] = !args[k];
        end
    endtask

    // What the checks make of the command, the first cause last (interfaces.md).
    task judge;
        begin
            {count, interval, log2} = {count_of[cq], interval_of[cq], log2_of[cq]};
            if (make_cq || change_cq) {interval, count} = args[191:160];
            if (make_eq || size_eq || make_cq || size_cq) log2 = args[100:96];
            off = interval == 0 || count < 2;
            by_count = !off && count != 16'hffff && count <= (1 << log2);
            by_interval = !off && interval != 16'hffff;
            page = args[143:128];
            eq_fits = args[159:144] < EQS && eq_there[args[144 +: EQ_W]];
            want_result = `CDE_RES_OK;
            if (end_eq && attached[eq] != 0) want_result = `CDE_RES_IN_USE;
            if (end_cq && used) want_result = `CDE_RES_IN_USE;
            if ((make_cq || change_cq || size_cq) && !off && !by_count && !by_interval) want_result = `CDE_RES_BAD_MODERATION;
            if (make_cq && eq_fits && attached[args[144 +: EQ_W]] >= 1 << eq_log2[args[144 +: EQ_W]]) want_result = `CDE_RES_EQ_FULL;
            if (size_eq && attached[eq] > 1 << log2) want_result = `CDE_RES_EQ_FULL;
            if (make_cq && !eq_fits) want_result = `CDE_RES_NO_EQ;
            if (make_cq && eq_fits && eq_page[args[144 +: EQ_W]] != page) want_result = `CDE_RES_BAD_PAGE;
            if ((make_eq || make_cq) && page >= PAGES) want_result = `CDE_RES_BAD_PAGE;
            if (make_eq || size_eq || make_cq || size_cq) begin
                if (args[63:32] % 64 != 0 || args[63:32] % ((of_eq ? 16 : 32) << log2) != 0) want_result = `CDE_RES_BAD_ALIGN;
                if (log2 == 0 || log2 > MOST) want_result = `CDE_RES_BAD_SIZE;
            end
            if (of_eq ? make_eq && eq_there[eq] : make_cq && life[cq] != `CDE_LIFE_FREE) want_result = `CDE_RES_EXISTS;
            if (of_eq ? !make_eq && !eq_there[eq] : !make_cq && peek[1:0] == `CDE_LIFE_FREE) want_result = `CDE_RES_NO_OBJECT;
            if ((change_cq || size_cq) && peek[1:0] != `CDE_LIFE_READY) want_result = `CDE_RES_NO_OBJECT;
            if (args[31:0] >= (of_eq ? EQS : CQS)) want_result = `CDE_RES_BAD_OBJECT;
            if (make_eq && {args[159:144], args[111:101]} != 0) want_result = `CDE_RES_RESERVED;
            if (change_eq && args[111:96] != 0) want_result = `CDE_RES_RESERVED;
            if ((size_eq || size_cq) && args[127:101] != 0) want_result = `CDE_RES_RESERVED;
            if (make_cq && {args[103:101], args[127:107]} != 0) want_result = `CDE_RES_RESERVED;
            if (change_cq && {args[104:96], args[127:107]} != 0) want_result = `CDE_RES_RESERVED;
            if (!known) want_result = `CDE_RES_UNKNOWN;
        end
    endtask

    task serve_eq;
        begin
            rings = make_eq || change_eq || size_eq;
            if (size_eq || ask_eq) want[63:0] = ask_eq ? {32'd0 | eqc_index, vector[eq], 3'd0, eq_log2[eq][4:0], 8'd1} : eqc_index;
            if (ask_eq) want[127:64] = {16'd0, eq_page[eq], 16'd0, attached[eq][15:0]};
            if (make_eq || size_eq) eq_log2[eq] = log2;
            if (make_eq || change_eq) vector[eq] = args[127:112];
            if (make_eq) {eq_page[eq], attached[eq]} = {args[143:128], 32'd0};
            if (make_eq || end_eq) eq_there[eq] = make_eq;
            cycle;
            if (size_eq) begin
                while (!eqc_left) cycle;
                cycle;
            end
        end
    endtask

    // Settings of the CQ as they are from here on.
    task set;
        begin
            while (cfg_hold) cycle;
            sets = 1'b1;
            {count_of[cq], interval_of[cq], log2_of[cq], modes[cq]} = {count, interval, log2, mode};
            settings = {page_of[cq][PAGE_W-1:0], eq_of[cq][EQ_W-1:0], interval, count[IDX_W-1:0], by_interval, by_count, mode[2:1]};
            cycle;
        end
    endtask

    task serve_cq;
        begin
            mode = modes[cq];
            if (make_cq) mode = args[106:104];
            if (change_cq) mode[2:1] = args[106:105];
            cycle;
            if (make_cq) begin
                clears = 1'b1;
                while (!clear_ready) cycle;
                cycle;
                clears = 1'b0;
                producer_step(CLEAR);
            end else if (ask_cq) producer_step(LOOK);
            else if (!change_cq) begin
                {tells, alive} = {end_cq, 1'b0};
                tell_limit(log2 < log2_of[cq] ? log2 : log2_of[cq]);
                cycles_of(8);
                producer_step(end_cq ? `CDE_TRC_STOP : `CDE_TRC_RESIZE);
            end
            if (change_cq) set;
            if (ask_cq) begin
                want = {interval, count, 32'd0 | op_res_held, 32'd0 | op_res_index, 16'd0, peek[47:32], 16'd0, peek[31:16], 11'd0, log2[4:0], 6'd0, peek[10],
                        peek[8:0]};
                cycle;
            end
            if (size_cq) begin
                want_result = op_res_result;
                if (want_result == `CDE_RES_OK) want = op_res_index;
                cycle;
                tell_limit(want_result == `CDE_RES_OK ? log2 : log2_of[cq]);
                if (want_result == `CDE_RES_OK) set;
            end
            if (make_cq || end_cq) begin
                stopped = op_res_index;
                cycle;
                while (!barrier_done) cycle;
                cycle;
                if (make_cq) begin
                    {page_of[cq], eq_of[cq]} = {args[143:128], 16'd0, args[159:144]};
                    attached[eq_of[cq]] = attached[eq_of[cq]] + 1;
                    while (cfg_hold) cycle;
                    {tells, alive} = 2'b11;
                    set;
                end
                arm_step(make_cq ? `CDE_TRC_CREATE : `CDE_TRC_DESTROY);
                if (make_cq) life[cq] = `CDE_LIFE_READY;
                if (end_cq) begin
                    if (below(2)) ct_res_state[1:0] = `CDE_LIFE_FREE;
                    else ct_res_state[1:0] = 1 + below(3);
                    life[cq] = ct_res_state[1:0];
                    if (life[cq] == `CDE_LIFE_FREE) attached[eq_of[cq]] = attached[eq_of[cq]] - 1;
                    else want_result = `CDE_RES_PENDING;
                end
                cycle;
            end
            if (make_cq) begin
                tell_limit(log2);
                producer_step(`CDE_TRC_START);
                cycle;
            end
        end
    endtask

    task serve_command;
        begin
            some_command;
            cq = args[31:0] % CQS;
            eq = args[31:0] % EQS;
            of_eq = command < 8'h10;
            known = make_eq || change_eq || size_eq || ask_eq || end_eq || make_cq || change_cq || size_cq || ask_cq || end_cq;
            start = 1'b1;
            cycle;
            {runs, want, peek} = 1 << 288;
            cycles_of(5);
            if (known && !of_eq && args[31:0] < CQS) begin
                arm_step(LOOK);
                if (life[cq] == `CDE_LIFE_FREE || below(4) != 0) ct_res_state[1:0] = life[cq];
                else ct_res_state[1:0] = 1 + below(3);
                peek = ct_res_state;
                cycle;
            end
            used = cqi_used;
            cycle;
            judge;
            cycle;
            if (want_result == `CDE_RES_OK) begin
                if (of_eq) serve_eq;
                else serve_cq;
            end
            cycle;
            {runs, ends} = 2'b01;
        end
    endtask

    task reset;
        begin
            {start, ct_res_valid, op_res_valid} = 3'd0;
            reset_and_clear(CQS);
            for (k = 0; k < CQS; k = k + 1) {life[k], count_of[k], interval_of[k], page_of[k], modes[k], eq_of[k], log2_of[k]} = 0;
            for (k = 0; k < EQS; k = k + 1) {vector[k], eq_page[k], eq_log2[k], attached[k]} = 0;
            {eq_there, runs, ends, arms, produces, sets, limits, clears, tells, rings} = 0;
        end
    endtask

    initial begin
        set_up(6000);
        slow = 1;
        for (turns = 0; turns < cycles; turns = turns + 1) begin
            if (turns % 500 == 0) reset;
            if (turns % 16 == 0) slow = below(3) ? 1 + below(3) : 1 + below(12);
            for (n = below(2) ? below(8) : 0; n > 0; n = n - 1) cycle;
            serve_command;
        end
        passed;
    end

endmodule

`default_nettype wire
