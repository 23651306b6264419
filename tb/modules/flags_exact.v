// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_arm_flags through its ports.
//
// Purpose: every step of a CQ's life, alone and chained behind a publication, from any state, with any facts; arms of each type on standing ones. Against
//          the rules CQ-06 to CQ-14 and CQ-21 one after another. Compares the flags that each operation leaves, callbacks and causes. The design may be
//          the module or one of the netlist of mutants.
// Ports:   none. Defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"

module flags_exact;
    parameter IDX_W = 4;
    `include "exact.vh"
    `include "cde_arm_state.vh"

    reg  [7:0]     p_op = 0, d_op = 0, d_cause_in = 0;
    reg  [1:0]     p_live = 0, p_solicited = 0, p_quiet = 0, d_type = 0;
    reg            p_publish = 0, p_fail = 0, p_give_up = 0, p_prompt = 0, chained = 0, d_host = 0, d_owner = 0, d_ready = 0, d_legal = 0, d_arm = 0,
                   d_present = 0, d_sol_remains = 0, d_answered = 0, d_typed = 0, d_rearm = 0, d_prompt = 0, d_ripe = 0;
    reg  [Y_W-1:0] p_y = 0, d_y_mem = 0;
    wire [Y_W-1:0] p_y_next, d_y, d_y_next;
    wire           p_call, p_becomes_due, d_acts, d_call, d_becomes_due, d_freed;
    wire [7:0]     d_cause;

    `DUT dut (
        .p_op(p_op), .p_live(p_live), .p_solicited(p_solicited), .p_quiet(p_quiet), .p_publish(p_publish), .p_fail(p_fail), .p_give_up(p_give_up),
        .p_prompt(p_prompt), .p_y(p_y), .p_y_next(p_y_next), .p_call(p_call), .p_becomes_due(p_becomes_due), .chained(chained), .d_op(d_op),
        .d_host(d_host), .d_cause_in(d_cause_in), .d_owner(d_owner), .d_ready(d_ready), .d_legal(d_legal), .d_arm(d_arm), .d_type(d_type),
        .d_present(d_present), .d_sol_remains(d_sol_remains), .d_answered(d_answered), .d_typed(d_typed), .d_rearm(d_rearm), .d_prompt(d_prompt),
        .d_ripe(d_ripe), .d_y_mem(d_y_mem), .d_y(d_y), .d_y_next(d_y_next), .d_cause(d_cause), .d_acts(d_acts), .d_call(d_call),
        .d_becomes_due(d_becomes_due), .d_freed(d_freed) `SELECT
    );

    // ---------------------------------------------------------------- the model
    // Of the CQ that is looked at, and what is to come out of both operations.
    reg            exists, armed, busy, due, mature, event_open, since, sol, called, becomes, acts, freed, calls_p, due_p, satisfied, past;
    reg  [1:0]     kind;
    reg  [7:0]     cause;
    reg  [Y_W-1:0] want_p, start;
    integer        k;

    task wrong;
        input [8*20-1:0] what;
        begin
            $display("wrong: %0s: step %h of %b to %b, want %b; step %h (cause %h) of %b to %b, want %b, cause %h, calls %b", what, p_op, p_y, p_y_next, want_p,
                     d_op, d_cause, start, d_y_next, pack(0), cause, called);
            $finish;
        end
    endtask

    task unpack;
        input [Y_W-1:0] y;
        begin
            {exists, armed, kind, busy} = {y[Y_EXISTS], y[Y_ARMED], y[Y_TYPE +: 2], y[Y_BUSY]};
            {due, mature, event_open, since, sol} = {y[Y_DUE], y[Y_MATURE], y[Y_EQE], y[Y_SINCE], y[Y_SOL]};
        end
    endtask

    function [Y_W-1:0] pack;
        input ignored;
        begin
            pack = 0;
            {pack[Y_EXISTS], pack[Y_ARMED], pack[Y_TYPE +: 2], pack[Y_BUSY]} = {exists, armed, kind, busy};
            {pack[Y_DUE], pack[Y_MATURE], pack[Y_EQE], pack[Y_SINCE], pack[Y_SOL]} = {due, mature, event_open, since, sol};
        end
    endfunction

    // CQ-07, CQ-13, CQ-21: what is due and released calls, unless a callback is in progress; the arm goes with the call.
    task call_if_due;
        input release_now;
        begin
            if (due && release_now) mature = 1'b1;
            if (!due) mature = 1'b0;
            called = mature && !busy && !event_open;
            if (called) begin
                {armed, kind, due, mature, since, sol} = 7'd0;
                {busy, event_open} = 2'b11;
            end
        end
    endtask

    task publication;
        begin
            unpack(p_y);
            satisfied = armed && p_fail;
            for (k = 0; k < 2; k = k + 1) begin
                // CQ-06, CQ-11: a quiet entry satisfies no standing arm, but is new for later ones.
                if (armed && p_live[k] && !p_quiet[k] && (kind == `CDE_ARM_ANY || (kind == `CDE_ARM_SOLICITED && p_solicited[k]))) satisfied = 1'b1;
                if (p_live[k] && p_solicited[k]) sol = 1'b1;
            end
            if (p_publish) since = 1'b1;
            due_p = satisfied && !due;
            if (satisfied) due = 1'b1;
            if (p_op == `CDE_TRC_EVENT_DONE || (p_op == `CDE_TRC_EVENT_FAILED && p_give_up)) event_open = 1'b0;
            call_if_due(p_prompt);
            {want_p, calls_p} = {pack(0), called};
        end
    endtask

    task judge_host;
        begin
            cause = d_cause_in;
            if (d_host && cause == 0) begin
                if (d_op == `CDE_TRC_CB_RETURN && !busy) cause = `CDE_CAUSE_NO_CALLBACK;
                if (d_op == `CDE_TRC_DOORBELL && !d_legal) cause = `CDE_CAUSE_BAD_INDEX;
                if (d_op == `CDE_TRC_DOORBELL && !d_ready) cause = `CDE_CAUSE_CQ_DESTROYING;
                if (!d_owner) cause = `CDE_CAUSE_NOT_OWNER;
                if (!exists) cause = `CDE_CAUSE_NO_CQ;
            end
        end
    endtask

    task second_step;
        begin
            start = chained ? want_p : d_y_mem;
            unpack(start);
            judge_host;
            {acts, becomes, called} = 3'd0;
            freed = d_op == `CDE_TRC_DESTROY && d_answered && !busy && !event_open;
            if (cause == 0) begin
                acts = 1'b1;
                case (d_op)
                    `CDE_TRC_DOORBELL: begin
                        // CQ-08: what was taken away is no longer new. CQ-12: the strongest of both arms stands.
                        past = d_present && !since;
                        since = since && d_present;
                        sol = sol && d_sol_remains;
                        if (d_arm) begin
                            armed = 1'b1;
                            if (kind != `CDE_ARM_ANY && d_type != `CDE_ARM_ERRORS) kind = d_type == `CDE_ARM_ANY ? `CDE_ARM_ANY : `CDE_ARM_SOLICITED;
                            // CQ-09, CQ-10: typed, an arm is satisfied by what it is for; with re-arm by old entries, too.
                            if (!d_typed || kind == `CDE_ARM_ANY) satisfied = since;
                            else satisfied = kind == `CDE_ARM_SOLICITED && sol;
                            if (d_rearm && past) satisfied = 1'b1;
                            becomes = satisfied && !due;
                            if (satisfied) due = 1'b1;
                        end
                        // Whether something was published is told as it was.
                        since = start[Y_SINCE];
                    end
                    `CDE_TRC_CB_RETURN: busy = 1'b0;
                    `CDE_TRC_CREATE: begin
                        {armed, kind, busy, due, mature, event_open, since, sol} = 9'd0;
                        exists = 1'b1;
                    end
                    `CDE_TRC_DESTROY: begin
                        {armed, kind, due, mature} = 5'd0;
                        if (freed) {exists, busy, event_open, since, sol} = 5'd0;
                    end
                    `CDE_TRC_MODERATION: ;
                    default: acts = 1'b0;
                endcase
                if (acts) call_if_due(d_prompt || (d_op == `CDE_TRC_MODERATION && d_ripe));
            end
        end
    endtask

    task step;
        begin
            #1;
            publication;
            second_step;
            if (p_y_next !== want_p) wrong("publication");
            if (p_call !== calls_p || p_becomes_due !== due_p) wrong("callback of entries");
            if (d_y !== start) wrong("state before");
            if (d_cause !== cause || d_acts !== acts) wrong("cause");
            if (d_y_next !== pack(0)) wrong("step");
            if (d_call !== called || d_becomes_due !== becomes) wrong("callback");
            if (d_freed !== freed) wrong("end of a life");
        end
    endtask

    // Any bits, or what a life can hold; never a type that there is not.
    function [Y_W-1:0] some_state;
        input ignored;
        begin
            some_state = $random(seed);
            if (below(4) != 0) some_state[Y_EXISTS] = 1'b1;
            if (below(2)) {some_state[Y_BUSY], some_state[Y_EQE]} = 2'b00;
            if (below(2) && !some_state[Y_ARMED]) {some_state[Y_TYPE +: 2], some_state[Y_DUE], some_state[Y_MATURE]} = 4'd0;
            if (some_state[Y_TYPE +: 2] == 2'd3) some_state[Y_TYPE +: 2] = below(3);
        end
    endfunction

    initial begin
        set_up(60000);
        for (n = 0; n < cycles; n = n + 1) begin
            p_op = below(8) == 0 ? $random(seed) : below(4) == 0 ? `CDE_TRC_EVENT_FAILED : below(3) == 0 ? `CDE_TRC_EVENT_DONE : `CDE_TRC_PUBLISH;
            {p_live, p_solicited, p_quiet, p_publish, p_fail, p_give_up, p_prompt, chained} = $random(seed);
            if (below(4) != 0) {p_fail, p_quiet} = 3'd0;
            d_op = below(8) == 0 ? `CDE_TRC_DOORBELL ^ (8'd1 << below(8)) : `CDE_TRC_DOORBELL + (below(2) ? 0 : below(5));
            d_host = d_op == `CDE_TRC_DOORBELL || d_op == `CDE_TRC_CB_RETURN || below(4) == 0;
            d_cause_in = d_host && below(4) == 0 ? 8'd1 << below(8) : 8'd0;
            {d_owner, d_ready, d_legal} = below(2) ? 3'b111 : $random(seed);
            {d_arm, d_present, d_sol_remains, d_answered, d_typed, d_rearm, d_prompt, d_ripe} = $random(seed);
            d_type = below(3);
            {p_y, d_y_mem} = {some_state(0), some_state(0)};
            step;
        end
        passed;
    end

endmodule

`default_nettype wire
