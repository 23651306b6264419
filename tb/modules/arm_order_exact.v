// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of the turns of cde_arm through its ports, cycle by cycle.
//
// Purpose: refused doorbells in few, many and all cycles, and control steps beside them, which begin and end lives and look at them, one behind another.
//          Against a list of what was taken: a control step gives way to doorbells for 15 cycles, then it takes one (ISO-04). Compares who is taken in each
//          cycle, and when which answer comes. The design may be the module or one of the netlist of mutants.
// Ports:   none. CQ_W, EQ_W, PAGE_W, IDX_W, RETRY_W, EV_W as parameters of the bench (NUM_CQ is 1 << CQ_W); defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps
`include "cde_defs.vh"
`include "cde_mem.vh"

module arm_order_exact;
    parameter CQ_W = 2;
    parameter EQ_W = 2;
    parameter PAGE_W = 2;
    parameter IDX_W = 5;
    parameter RETRY_W = 74;
    parameter EV_W = 86;
    `include "exact.vh"
    `include "clearing.vh"
    localparam N = 1 << CQ_W, PATIENCE = 15, DOORBELL = 4, CONTROL = 5, LOOK = 8'hff;

    reg                db_valid = 0, ct_valid = 0, db_arm = 0;
    reg  [7:0]         db_op = 0, db_cause = 0, ct_op = 0;
    reg  [CQ_W-1:0]    db_cq = 0, ct_cq = 0;
    reg  [PAGE_W-1:0]  db_page = 0;
    reg  [IDX_W-1:0]   db_index = 0, ct_index = 0;
    reg  [1:0]         db_type = 0;
    wire               db_ready, ct_ready, res_db_valid, res_ct_valid, cons_we, ev_pub_valid, ev_db_valid;
    wire [7:0]         res_db_cause;
    wire [95:0]        res_ct_state;
    wire [CQ_W-1:0]    cons_cq;
    wire [IDX_W-1:0]   cons_index;
    wire [N-1:0]       dead;
    wire [1:0]         trace_valid;

    `DUT dut (
        .clk(clk), .mem_i(mem_i), .mem_o(), .rst(rst), .init(init), .pub_valid(1'b0), .pub_op(8'd0), .pub_cq({CQ_W{1'b0}}), .pub_count(2'd0),
        .pub_solicited(2'd0), .pub_quiet(2'd0), .pub_status(2'd0), .pub_give_up(1'b0), .pub_retry({RETRY_W{1'b0}}), .db_valid(db_valid),
        .db_ready(db_ready), .db_op(db_op), .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index), .db_arm(db_arm),
        .db_type(db_type), .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index), .res_db_valid(res_db_valid),
        .res_db_cause(res_db_cause), .res_ct_valid(res_ct_valid), .res_ct_state(res_ct_state), .cfg_we(1'b0), .cfg_hold(), .cfg_cq({CQ_W{1'b0}}),
        .cfg_data({(20+IDX_W+EQ_W+PAGE_W){1'b0}}), .wr_we(1'b0), .wr_cq({CQ_W{1'b0}}), .wr_index({IDX_W{1'b0}}), .cons_we(cons_we), .cons_cq(cons_cq),
        .cons_index(cons_index), .dead(dead), .ev_pub_valid(ev_pub_valid), .ev_pub_data(), .ev_db_valid(ev_db_valid), .ev_db_data(),
        .trace_valid(trace_valid), .trace_data() `SELECT
    );

    // ---------------------------------------------------------------- the model
    reg  [1:0]         life [0:N-1];
    // Taken so many cycles ago: {doorbell, control step, its traces, CQ, cause, life}.
    reg  [CQ_W+12:0]   taken [0:CONTROL+1];
    reg                doorbell, control, traced;
    integer            waited, k, busy, eager;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: doorbell %b %b, control %b %b, waited %0d; answers %b %h, %b %h", what, $time, db_valid, db_ready, ct_valid, ct_ready,
                     waited, res_db_valid, res_db_cause, res_ct_valid, res_ct_state);
            $finish;
        end
    endtask

    task compare;
        begin
            #1;
            control = ct_valid && !init && (!db_valid || waited == PATIENCE);
            doorbell = db_valid && !init && !(ct_valid && waited == PATIENCE);
            if (db_valid && db_ready !== doorbell) wrong("doorbell's turn");
            if (ct_valid && ct_ready !== control) wrong("control's turn");
            if (cons_we !== (taken[3][CQ_W+12] || taken[3][CQ_W+11])) wrong("index");
            if (cons_we && {cons_cq, cons_index} !== {taken[3][10 +: CQ_W], {IDX_W{1'b0}}}) wrong("index");
            if (res_db_valid !== taken[DOORBELL][CQ_W+12]) wrong("answer");
            if (res_db_valid && res_db_cause !== taken[DOORBELL][9:2]) wrong("cause");
            if (res_ct_valid !== taken[CONTROL][CQ_W+11]) wrong("state");
            if (res_ct_valid && res_ct_state !== taken[CONTROL][1:0]) wrong("state");
            if (trace_valid !== {taken[CONTROL][CQ_W+10], 1'b0}) wrong("trace");
            if (ev_pub_valid || ev_db_valid || dead) wrong("callback");
        end
    endtask

    task advance;
        begin
            for (k = CONTROL + 1; k > 1; k = k - 1) taken[k] = taken[k-1];
            traced = control && ct_op != LOOK;
            if (traced) life[ct_cq] = ct_op == `CDE_TRC_CREATE ? `CDE_LIFE_READY : `CDE_LIFE_FREE;
            taken[1] = {doorbell, control, traced, doorbell ? db_cq : ct_cq, db_cause, life[ct_cq]};
            waited = !ct_valid || control ? 0 : waited == PATIENCE ? PATIENCE : waited + 1;
        end
    endtask

    // What was not taken stays, a doorbell too; one that is refused already changes nothing, whatever it says.
    task inputs;
        begin
            if (!db_valid || doorbell) begin
                db_valid = below(64) < busy;
                {db_cq, db_page, db_index, db_arm, db_type} = $random(seed);
                db_op = below(2) ? `CDE_TRC_DOORBELL : `CDE_TRC_CB_RETURN;
                db_cause = 1 + below(255);
            end
            if (!ct_valid || control) begin
                ct_valid = below(8) < eager;
                ct_cq = $random(seed);
                ct_index = 0;
                ct_op = below(2) ? LOOK : life[ct_cq] == `CDE_LIFE_FREE ? `CDE_TRC_CREATE : `CDE_TRC_DESTROY;
            end
            init = below(256) == 0;
        end
    endtask

    task reset;
        begin
            {db_valid, ct_valid} = 2'b00;
            // Nothing that was under way answers.
            rst = 1'b1;
            edge_of_clock;
            for (k = 0; k < CONTROL + 2; k = k + 1) begin
                #1;
                if (res_db_valid || res_ct_valid || trace_valid != 0) wrong("reset");
                edge_of_clock;
            end
            reset_and_clear(N);
            for (k = 0; k < N; k = k + 1) life[k] = `CDE_LIFE_FREE;
            for (k = 0; k <= CONTROL + 1; k = k + 1) taken[k] = 0;
            {waited, doorbell, control} = 0;
        end
    endtask

    initial begin
        set_up(20000);
        for (n = 0; n < cycles; n = n + 1) begin
            if (n < 8000 && n % 2000 == 0) reset;
            if (n % 128 == 0) begin
                busy = n[7] ? 64 : below(65);
                eager = below(9);
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
