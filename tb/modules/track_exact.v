// SPDX-License-Identifier: Apache-2.0
// Self-checking bench of cde_track through its ports, cycle by cycle.
//
// Purpose: writes of few IDs and of many, as many at once as there is room for, answered early, late and in any order of IDs, answers for nothing,
//          resets under way, against one list of numbers for each ID. Compares readiness, what each answer brings back and what is reported. The design may
//          be the module or one of the netlist of mutants.
// Ports:   none. ID_W, MAX_LOG2 (MAX_WRITES is 1 << MAX_LOG2), W and INIT_W as parameters of the bench; defines and plusargs: exact.vh.
// Latency: none. Prints "passed", or "wrong" with what differs and ends.
`default_nettype none
`timescale 1ns / 1ps

module track_exact;
    parameter ID_W = 3;
    parameter MAX_LOG2 = 3;
    parameter W = 70;
    parameter INIT_W = 5;
    `include "exact.vh"
    localparam IDS = 1 << ID_W;
    localparam ROOM = 1 << MAX_LOG2;

    reg               init = 1'b0, push_valid = 1'b0, b_valid = 1'b0;
    reg  [INIT_W-1:0] init_addr = 0;
    reg  [ID_W-1:0]   push_id = 0, b_id = 0;
    reg  [W-1:0]      push_data = 0;
    reg  [1:0]        b_resp = 2'd0;
    wire              push_ready, pop_valid, pop_error, stray;
    wire [W-1:0]      pop_data;

    `DUT dut (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .push_valid(push_valid), .push_ready(push_ready), .push_id(push_id),
        .push_data(push_data), .b_valid(b_valid), .b_id(b_id), .b_resp(b_resp), .pop_valid(pop_valid), .pop_data(pop_data),
        .pop_error(pop_error), .stray(stray) `SELECT
    );

    // ---------------------------------------------------------------- the model: lists, in memory of the last ROOM * 2 writes of each ID
    reg  [W-1:0] list [0:2*ROOM*IDS-1];
    integer      pushed [0:IDS-1];
    integer      answered [0:IDS-1];
    integer      known [0:IDS-1];       // of those pushed: two cycles ago, which may be answered
    integer      newer [0:IDS-1];       // in the cycle before
    integer      held, freed, k, bias, spread, pick;
    reg          pops, fails, strays;
    reg  [W-1:0] popped;

    task wrong;
        input [8*16-1:0] what;
        begin
            $display("wrong: %0s at %0t: %0d of %0d held; ready %b, answer %b %h error %b stray %b", what, $time, held, ROOM, push_ready, pop_valid,
                     pop_data, pop_error, stray);
            $finish;
        end
    endtask

    task wake;
        begin
            {push_valid, b_valid} = 2'b00;
            rst = 1'b1;
            edge_of_clock;
            rst = 1'b0;
            init = 1'b1;
            for (k = 0; k < (1 << INIT_W); k = k + 1) begin
                init_addr = k;
                #1;
                if (push_ready !== 1'b0) wrong("walk");
                edge_of_clock;
            end
            init = 1'b0;
            {held, freed} = 0;
            for (k = 0; k < IDS; k = k + 1) {pushed[k], answered[k], known[k], newer[k]} = 0;
            {pops, strays} = 2'b00;
        end
    endtask

    task random_inputs;
        begin
            if (n % 128 == 0) begin
                bias = below(5);
                spread = below(2) ? IDS : 1 + below(4);
            end
            push_valid = below(4) < bias;
            push_id = below(spread);
            for (k = 0; k < W; k = k + 16) push_data = {push_data, $random(seed)} >> 16;
            b_valid = below(5) >= bias;
            b_resp = below(2) ? 2'd0 : $random(seed);
            // Mostly an ID of which something is outstanding
            pick = below(IDS);
            for (k = 0; k < IDS && answered[pick] == known[pick] && below(32) != 0; k = k + 1) pick = (pick + 1) % IDS;
            b_id = pick;
            // What was pushed too late to be answered is neither outstanding nor not.
            if (answered[pick] == known[pick] && pushed[pick] != known[pick]) b_valid = 1'b0;
        end
    endtask

    task cycle;
        begin
            #1;
            if (push_ready !== (held < ROOM)) wrong("room");
            if (pop_valid !== pops) wrong("answer");
            if (pops && pop_data !== popped) wrong("record");
            if (pops && pop_error !== fails) wrong("error");
            if (stray !== strays) wrong("stray");
            // Room comes back in the cycle behind the answer's.
            held = held - freed;
            freed = 0;
            if (b_valid && answered[b_id] != known[b_id]) begin
                {pops, strays} = 2'b10;
                fails = b_resp != 2'd0;
                popped = list[2 * ROOM * b_id + answered[b_id] % (2 * ROOM)];
                answered[b_id] = answered[b_id] + 1;
            end else {pops, strays} = {1'b0, b_valid};
            if (push_valid && push_ready) begin
                list[2 * ROOM * push_id + pushed[push_id] % (2 * ROOM)] = push_data;
                pushed[push_id] = pushed[push_id] + 1;
                held = held + 1;
            end
            for (k = 0; k < IDS; k = k + 1) begin
                known[k] = newer[k];
                newer[k] = pushed[k];
            end
            freed = pops;
            edge_of_clock;
        end
    endtask

    initial begin
        set_up(30000);
        wake;
        for (n = 0; n < cycles; n = n + 1) begin
            if (n % 4096 == 4095) wake;
            random_inputs;
            cycle;
        end
        passed;
    end

endmodule

`default_nettype wire
