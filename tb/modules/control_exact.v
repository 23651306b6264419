// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the commands through the ports of cde_control, by what software reads and writes and what the others ask and answer.
//
// Purpose: lives of an event queue and a CQ with arguments of any value, commands of the posting side, every number of a command, each of them on a removed
//          device, too (interfaces.md, windows.md). The mailbox has a bench of its own: this one compares what passes between it, software and the ports. The
//          design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, PAGE_W, IDX_W, POSTS as parameters of the bench (NUM_CQ is 1 << CQ_W, and so on); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module control_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 8;
    parameter POSTS = 1;
    `include "exact.vh"
    `include "clearing.vh"
    `include "control.vh"
    localparam MOST = IDX_W - 2;
    localparam [7:0] CLEAR = 8'h00, LOOK = 8'hff;
    // What a command asks of the others.
    localparam ARM = 0, PRODUCE = 1, SET = 2, LIMIT = 3, EMPTY = 4, TELL = 5, RING = 6, SIDE = 7, KINDS = 8;

    // ---------------------------------------------------------------- the model
    reg  [255:0]       args, want;          // of the command that runs, its outputs
    reg  [7:0]         command, want_result;
    reg  [31:0]        size;
    integer            lives, turn, first, last, wanted [0:KINDS-1], seen [0:KINDS-1],
                       log2_now, log2, k, arm_late, produce_late, slow;
    reg                barred, answered, fenced, left;   // the barrier is passed; the ring that was left has nothing under way
    reg  [IDX_W-1:0]   stopped, held;
    reg  [95:0]        state;
    // What the queues have been given.
    reg  [CQ_W-1:0]    cq;
    reg  [EQ_W-1:0]    eq;
    reg  [PAGE_W-1:0]  page;
    reg  [15:0]        vector, count, interval;
    reg  [2:0]         modes;               // {re-arm, typed, unreserved}
    reg  [4:0]         eq_log2, cq_log2;
    reg                by_count, by_interval;
    wire               make_eq = command == `CDE_CMD_CREATE_EQ, change_eq = command == `CDE_CMD_MODIFY_EQ, size_eq = command == `CDE_CMD_RESIZE_EQ,
                       make_cq = command == `CDE_CMD_CREATE_CQ, size_cq = command == `CDE_CMD_RESIZE_CQ, end_cq = command == `CDE_CMD_DESTROY_CQ;

    task wrong;
        input [8*24-1:0] what;
        begin
            $display("wrong: %0s at %0t: command %h %h removed %b: result %h, outputs %h; register %h: %h", what, $time, command, args, barred, want_result, want,
                     addr, rdata);
            $finish;
        end
    endtask

    task asked;
        input integer kind;
        begin
            seen[kind] = seen[kind] + 1;
            if (seen[kind] > wanted[kind]) wrong("asked too often");
        end
    endtask

    // What a step of the arm state or the producer side must be: the first, then another.
    function [7:0] arm_op;
        input integer number;
        arm_op = number == 0 ? LOOK : make_cq ? `CDE_TRC_CREATE : `CDE_TRC_DESTROY;
    endfunction

    function [7:0] produce_op;
        input integer number;
        produce_op = make_cq ? (number == 0 ? CLEAR : `CDE_TRC_START) : end_cq ? `CDE_TRC_STOP : size_cq ? `CDE_TRC_RESIZE : LOOK;
    endfunction

    // What is asked in this cycle.
    task watch;
        begin
            #1;
            if (ct_valid && {ct_op, ct_cq} !== {arm_op(seen[ARM]), cq}) wrong("arm state");
            if (ct_valid && ct_op != LOOK && ct_index !== stopped) wrong("index");
            if (op_valid && {op_code, op_cq} !== {produce_op(seen[PRODUCE]), cq}) wrong("producer");
            if (op_valid && (size_cq || seen[PRODUCE] == 1) && {op_base, op_log2} !== {args[95:38], args[100:96]}) wrong("ring");
            if (op_valid && make_cq && seen[PRODUCE] == 1 && op_unreserved !== args[104]) wrong("reservation");
            if (cfg_we && cfg_hold) wrong("settings on hold");
            if (ct_valid && ct_op != LOOK && !fenced) wrong("writes under way");
            if (cfg_we && {cfg_cq, cfg_data} !== {cq, page, eq, interval, count[IDX_W-1:0], by_interval, by_count, modes[2:1]}) wrong("settings");
            log2_now = end_cq ? 0 : make_cq || (seen[LIMIT] == 1) == (want_result == `CDE_RES_OK) ? log2 : cq_log2;
            if (seen[LIMIT] == 0 && size_cq) log2_now = log2 < cq_log2 ? log2 : cq_log2;
            size = 1 << log2_now;
            if (limit_we && {limit_cq, limit_data} !== {cq, end_cq ? {(IDX_W + 2){1'b0}} : {1'b1, modes[0], size[IDX_W-1:0]}}) wrong("limit");
            if (clear_valid && clear_cq !== cq) wrong("clearing");
            if (cqi_we && {cqi_alive, cqi_cq} !== {make_cq, cq}) wrong("life");
            if (cqi_we && make_cq && cqi_page !== page) wrong("page");
            if (eqc_valid && {eqc_create, eqc_vector_we, eqc_ring_we, eqc_eq} !== {make_eq, change_eq, size_eq, eq}) wrong("event queue");
            if (eqc_valid && !change_eq && {eqc_base, eqc_log2} !== {args[95:38], args[100:96]}) wrong("event ring");
            if (eqc_valid && !size_eq && eqc_vector !== args[127:112]) wrong("vector");
            if (qc_start && {qc_command, qc_args} !== {command, args}) wrong("posting side");
            fenced = !op_res_valid && (fenced || barrier_done);
            left = !eqc_valid && (left || eqc_left);
            if (ct_valid && ct_ready) asked(ARM);
            if (op_valid && op_ready) asked(PRODUCE);
            if (cfg_we) asked(SET);
            if (limit_we) asked(LIMIT);
            if (clear_valid && clear_ready) asked(EMPTY);
            if (cqi_we) asked(TELL);
            if (eqc_valid) asked(RING);
            if (qc_start) asked(SIDE);
        end
    endtask

    task cycle;
        begin
            watch;
            // Answers come one to four cycles behind the question.
            if (ct_valid && ct_ready) arm_late = 1 + below(4);
            if (op_valid && op_ready) produce_late = 1 + below(4);
            if (qc_start) answered = 1'b0;
            edge_of_clock;
            {ct_ready, op_ready, clear_ready, barrier_done, eqc_left, cfg_hold} =
                {below(slow) == 0, below(slow) == 0, below(slow) == 0, below(slow) == 0, below(8 * slow) == 0, below(slow) != 0};
            {op_res_index, op_res_held, op_res_result} = {$random(seed), $random(seed)};
            ct_res_state = {$random(seed), $random(seed), $random(seed)};
            {ct_res_valid, op_res_valid} = {arm_late == 1, produce_late == 1};
            if (ct_res_valid) begin
                if (seen[ARM] == 1) ct_res_state[1:0] = make_cq ? `CDE_LIFE_FREE : `CDE_LIFE_READY;
                else if (end_cq) ct_res_state[1:0] = `CDE_LIFE_FREE;
                if (seen[ARM] == 1) state = ct_res_state;
            end
            if (op_res_valid) begin
                if (below(2)) op_res_result = `CDE_RES_OK;
                stopped = op_res_index;
                held = op_res_held;
                if (size_cq) want_result = op_res_result;
            end
            arm_late = arm_late - (arm_late > 0);
            produce_late = produce_late - (produce_late > 0);
            qc_done = 1'b0;
            if (!answered) begin
                for (k = 0; k < 8; k = k + 1) qc_outs[32*k +: 32] = $random(seed);
                qc_result = $random(seed);
                {qc_done, answered} = {2{below(slow) == 0}};
                if (qc_done) {want, want_result} = {qc_outs, qc_result};
            end
        end
    endtask

    // ---------------------------------------------------------------- commands
    task expects;
        input integer kind, times_asked;
        wanted[kind] = times_asked;
    endtask

    // Any arguments, or others in one word; nothing that is asked of others.
    task prepare;
        input [7:0] number;
        input       whole;
        begin
            command = number;
            for (k = 0; k < KINDS; k = k + 1) {wanted[k], seen[k]} = 64'd0;
            first = whole ? 0 : below(8);
            last = whole ? 7 : first;
            for (k = first; k <= last; k = k + 1) args[32*k +: 32] = $random(seed);
            {want, want_result, slow, eqc_index} = {256'd0, `CDE_RES_OK, 32'd1 + below(4), {IDX_W{1'b0}}};
            eqc_index = $random(seed);
        end
    endtask

    // The command in `command` and `args`, to its end; whether it finds the device removed.
    task run_command;
        input device_removed;
        begin
            case (command)
                `CDE_CMD_CREATE_EQ, `CDE_CMD_MODIFY_EQ, `CDE_CMD_RESIZE_EQ, `CDE_CMD_CREATE_CQ, `CDE_CMD_MODIFY_CQ, `CDE_CMD_RESIZE_CQ, `CDE_CMD_CREATE_QP,
                `CDE_CMD_MODIFY_QP, `CDE_CMD_CONNECT_QP, `CDE_CMD_CREATE_SRQ, `CDE_CMD_RESIZE_SRQ, `CDE_CMD_SET_SRQ_WATERMARK, `CDE_CMD_REGISTER_MR,
                `CDE_CMD_ALLOC_MR, `CDE_CMD_CREATE_MW, `CDE_CMD_REMOVE_DEVICE: barred = device_removed;
                default: barred = 1'b0;
            endcase
            for (n = first; n <= last; n = n + 1) write(`CDE_REG_ARG0 + 4 * n, args[32*n +: 32], 1'b1);
            if (barred) for (n = 0; n < KINDS; n = n + 1) wanted[n] = 0;
            if (barred) {want, want_result} = `CDE_RES_DEVICE_REMOVED;
            removed = device_removed;
            write(`CDE_REG_CMD, command, 1'b1);
            word = 32'd1;
            for (n = 0; word[0]; n = n + 1) begin
                // What becomes of the device then is for the next command.
                removed = below(2);
                read(`CDE_REG_CMD_STATUS, 1'b1);
                if (n == 500) wrong("command without end");
            end
            if (size_cq && !barred) begin
                wanted[SET] = want_result == `CDE_RES_OK;
                want[IDX_W-1:0] = want_result == `CDE_RES_OK ? stopped : 0;
            end
            if (command == `CDE_CMD_QUERY_CQ && wanted[ARM] == 1)
                want = {interval, count, 32'd0 | held, 32'd0 | stopped, 16'd0, state[47:32], 16'd0, state[31:16], 11'd0, cq_log2, 6'd0, state[10], state[8:0]};
            if (word !== {16'd0, want_result, 8'h02}) wrong("result");
            if (size_eq && wanted[RING] == 1 && !left) wrong("ring in use");
            for (n = first; n <= last; n = n + 1) begin
                read(`CDE_REG_OUT0 + 4 * n, 1'b1);
                if (word !== want[32*n +: 32]) wrong("output");
            end
            for (n = 0; n < KINDS; n = n + 1) if (seen[n] != wanted[n]) wrong("asked too rarely");
        end
    endtask

    // A ring of any place and size.
    task some_ring;
        begin
            log2 = 1 + below(MOST);
            args[63:32] = args[63:32] & ~32'd0 << (log2 + 6);
            args[100:96] = log2;
        end
    endtask

    // If the device is `gone`, what would make or change something leaves all as it is.
    task event_queue;
        input [7:0]   number;
        input integer attached;
        input         gone;
        begin
            prepare(number, 1'b1);
            args[31:0] = eq;
            expects(RING, make_eq || change_eq || size_eq);
            if (make_eq || size_eq) some_ring;
            if (make_eq) {args[159:128], args[111:101]} = {32'd0 | page, 11'd0};
            if (change_eq) args[111:96] = 16'd0;
            if (size_eq) args[127:101] = 27'd0;
            if (!gone && (make_eq || change_eq)) vector = args[127:112];
            if (!gone && (make_eq || size_eq)) eq_log2 = log2;
            if (size_eq) want = eqc_index;
            if (number == `CDE_CMD_QUERY_EQ) want = {32'd0 | page, 16'd0, attached[15:0], 32'd0 | eqc_index, vector, 3'd0, eq_log2, 8'd1};
            run_command(gone || (below(2) && (number == `CDE_CMD_QUERY_EQ || number == `CDE_CMD_DESTROY_EQ)));
        end
    endtask

    task completion_queue;
        input [7:0] number;
        input       gone;
        begin
            prepare(number, 1'b1);
            args[31:0] = cq;
            expects(ARM, make_cq || (end_cq && !cqi_used) ? 2 : 1);
            expects(PRODUCE, make_cq ? 2 : number != `CDE_CMD_MODIFY_CQ && !(end_cq && cqi_used));
            expects(LIMIT, size_cq ? 2 : make_cq || (end_cq && !cqi_used));
            expects(EMPTY, make_cq);
            expects(TELL, make_cq || (end_cq && !cqi_used));
            expects(SET, make_cq || size_cq || number == `CDE_CMD_MODIFY_CQ);
            if (end_cq && cqi_used) want_result = `CDE_RES_IN_USE;
            if (make_cq || size_cq) some_ring;
            if (make_cq) {args[159:128], args[127:107], args[103:101]} = {16'd0 | eq, 16'd0 | page, 24'd0};
            if (number == `CDE_CMD_MODIFY_CQ) {args[127:107], args[104:96]} = 30'd0;
            if (size_cq) args[127:101] = 27'd0;
            // A count without an interval fits every ring; with one it may be any.
            k = below(4);
            if (k < 2) args[191:160] = k == 0 ? {16'hffff, 16'd2} : {16'd0 | below(2), args[175:160]};
            else if (args[191:176] == 16'hffff) args[176] = 1'b0;
            if (!gone && (make_cq || number == `CDE_CMD_MODIFY_CQ)) {interval, count, modes[2:1]} = {args[191:160], args[106:105]};
            if (!gone && make_cq) {modes[0], cq_log2} = {args[104], log2[4:0]};
            if (number == `CDE_CMD_MODIFY_CQ) log2 = cq_log2;
            by_count = interval != 0 && count > 1 && count != 16'hffff && count <= 1 << log2;
            by_interval = interval != 0 && count > 1 && interval != 16'hffff;
            run_command(gone || (below(2) && (number == `CDE_CMD_QUERY_CQ || end_cq)));
            if (size_cq && want_result == `CDE_RES_OK) cq_log2 = log2;
        end
    endtask

    // Any other number, in eight lives on a device that is there, in eight on one that is removed.
    task other;
        input [7:0] number;
        begin
            prepare(number, 1'b0);
            if (number >= 8'h20 && POSTS != 0) expects(SIDE, 1);
            else want_result = `CDE_RES_UNKNOWN;
            run_command((lives / 8 + turn / 8) % 2);
        end
    endtask

    task life;
        begin
            {cq, eq, page} = {$random(seed), $random(seed)};
            event_queue(`CDE_CMD_CREATE_EQ, 0, 1'b1);
            event_queue(`CDE_CMD_CREATE_EQ, 0, 1'b0);
            event_queue(`CDE_CMD_MODIFY_EQ + below(2), 0, 1'b1);
            for (turn = 0; turn < 3; turn = turn + 1) event_queue(`CDE_CMD_MODIFY_EQ + below(3), 0, 1'b0);
            completion_queue(`CDE_CMD_CREATE_CQ, 1'b1);
            completion_queue(`CDE_CMD_CREATE_CQ, 1'b0);
            completion_queue(`CDE_CMD_MODIFY_CQ + below(2), 1'b1);
            for (turn = 0; turn < 5; turn = turn + 1) completion_queue(`CDE_CMD_MODIFY_CQ + below(3), 1'b0);
            event_queue(`CDE_CMD_QUERY_EQ, 1, 1'b0);
            cqi_used = 1'b1;
            completion_queue(`CDE_CMD_DESTROY_CQ, 1'b0);
            cqi_used = 1'b0;
            completion_queue(`CDE_CMD_DESTROY_CQ, 1'b0);
            event_queue(`CDE_CMD_DESTROY_EQ, 0, 1'b0);
        end
    endtask

    // Every number; those of lives on a removed device only.
    task numbers;
        input integer lowest;
        for (turn = lowest; turn < 256; turn = turn + 8) begin
            if ((turn > 0 && turn < 6) || (turn > 15 && turn < 21)) begin
                if (turn % 16 + turn / 16 < 4) begin        // creates, modifies, resizes
                    prepare(turn, 1'b0);
                    run_command(1'b1);
                end
            end else other(turn);
        end
    endtask

    task reset;
        begin
            reset_and_clear(1 << CQ_W);
            {arm_late, produce_late, answered, removed, cqi_used, fenced, left} = 69'd16;
            prepare(8'd0, 1'b1);
            args = 256'd0;
            cycle;
        end
    endtask

    initial begin
        set_up(16);
        for (lives = 0; lives < cycles; lives = lives + 1) begin
            if (lives % 4 == 0) reset;
            life;
            numbers(lives % 8);
        end
        passed;
    end

endmodule

`default_nettype wire
