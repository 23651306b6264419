// SPDX-License-Identifier: Apache-2.0
// cde_arm_flags: stage F of the arm pipeline; arms, dues and callbacks of one or two CQs, none after DESTROY (CQ-20).
//
// Purpose: CQ-06 to CQ-14: merge, new-since-callback rule, one callback at a time, deferred callback. "Clear the arm
//          and call" happens in one function. A doorbell chained to a publication is worked out for both outcomes,
//          called back or not, at the same time, so that two steps are hardly longer than one.
// Ports:   facts of both operations (cde_arm_facts.vh), the flags of their CQs; new flags, callbacks.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_flags #(
    parameter Y_BITS = 10,
    parameter FP_BITS = 7,
    parameter FD_BITS = 19
) (
    input  wire [FP_BITS-1:0] p_facts,
    input  wire [Y_BITS-1:0]  p_y,
    output wire [Y_BITS-1:0]  p_y_next,
    output wire               p_call,
    output wire               p_becomes_due,

    input  wire [FP_BITS-1:0] d_before,     // facts of the publication of this cycle, if it is about the same CQ
    input  wire [FD_BITS-1:0] d_facts,
    input  wire [Y_BITS-1:0]  d_y_mem,
    output wire [Y_BITS-1:0]  d_y_next,
    output wire               d_call,
    output wire               d_becomes_due
);

    localparam IDX_W = 4;       // the layout's index fields are not used here
`include "cde_arm_state.vh"
`include "cde_arm_facts.vh"

    // The one place where an arm is cleared and the callback is called (CQ-07). Flags that were settled stay as they
    // are until something becomes due, is released or ends: an operation without effect changes nothing here.
    function [Y_W:0] settle;
        input [Y_W-1:0] y;
        input           release_now;
        begin
            settle = {1'b0, y};
            settle[Y_MATURE] = y[Y_DUE] && (y[Y_MATURE] || release_now);
            if (settle[Y_MATURE] && !y[Y_BUSY] && !y[Y_EQE]) settle = {1'b1, called(y)};
        end
    endfunction

    function [Y_W-1:0] called;
        input [Y_W-1:0] y;
        begin
            called = {Y_W{1'b0}};
            called[Y_EXISTS] = y[Y_EXISTS];
            called[Y_BUSY] = 1'b1;
            called[Y_EQE] = 1'b1;
        end
    endfunction

    // ---------------------------------------------------------------- publication
    // {becomes due, flags before they settle}
    function [Y_W:0] published;
        input [Y_W-1:0]  y;
        input [FP_W-1:0] f;
        reg              satisfied;
        begin
            satisfied = (y[Y_TYPE +: 2] == `CDE_ARM_ANY && f[FP_ANY]) ||
                (y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED && f[FP_SOL]) ||
                        (y[Y_ARMED] && f[FP_FAIL]);
            published = {satisfied && !y[Y_DUE], y};
            published[Y_SINCE] = y[Y_SINCE] || f[FP_PUBLISH];
            published[Y_SOL] = y[Y_SOL] || f[FP_NEW_SOL];
            published[Y_DUE] = y[Y_DUE] || satisfied;
            if (f[FP_OVER]) published[Y_EQE] = 1'b0;
        end
    endfunction

    wire [Y_W-1:0] p_mid;
    assign {p_becomes_due, p_mid} = published(p_y, p_facts);
    assign {p_call, p_y_next} = settle(p_mid, p_facts[FP_PROMPT]);

    // ---------------------------------------------------------------- doorbells, control, moderation, acknowledgements
    // {becomes due, flags before they settle}
    function [Y_W:0] asked;
        input [Y_W-1:0]  y;
        input [FD_W-1:0] f;
        reg              any, sol, satisfied;
        begin
            // CQ-12: maximum in ERRORS < SOLICITED < ANY; the public codes are not in that order. Not armed reads as
            // ERRORS.
            any = y[Y_TYPE +: 2] == `CDE_ARM_ANY || f[FD_TYPE +: 2] == `CDE_ARM_ANY;
            sol = y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED || f[FD_TYPE +: 2] == `CDE_ARM_SOLICITED;
            satisfied = (y[Y_SINCE] ? f[FD_NEW] || (f[FD_NEW_ANY] && y[Y_TYPE +: 2] == `CDE_ARM_ANY) : f[FD_OLD]) ||
                        (y[Y_SOL] && (f[FD_NEW_SOL] || (f[FD_SOL_SOL] && y[Y_TYPE +: 2] == `CDE_ARM_SOLICITED)));
            asked = {satisfied && !y[Y_DUE], y};
            if (f[FD_BELL]) asked[Y_SOL] = f[FD_SOL] && y[Y_SOL];
            if (f[FD_ARM]) begin
                asked[Y_ARMED] = 1'b1;
                asked[Y_TYPE +: 2] = any ? `CDE_ARM_ANY : sol ? `CDE_ARM_SOLICITED : `CDE_ARM_ERRORS;
            end
            asked[Y_DUE] = y[Y_DUE] || satisfied;
            if (f[FD_RETURN]) asked[Y_BUSY] = 1'b0;
            if (f[FD_OVER]) asked[Y_EQE] = 1'b0;
            if (f[FD_CREATE]) begin
                asked[Y_W-1:0] = {Y_W{1'b0}};
                asked[Y_EXISTS] = 1'b1;
            end
            if (f[FD_DESTROY]) begin
                asked[Y_ARMED] = 1'b0;
                asked[Y_TYPE +: 2] = 2'd0;
                asked[Y_DUE] = 1'b0;
                asked[Y_MATURE] = 1'b0;
                if (f[FD_DONE] && !y[Y_BUSY] && !y[Y_EQE]) asked[Y_W-1:0] = {Y_W{1'b0}};
            end
        end
    endfunction

    // After a publication that calls back, the doorbell finds a callback that has just begun; else what waits.
    wire           unused_due;
    wire           release_now = d_facts[FD_RELEASE] || d_facts[FD_RIPE];
    wire [Y_W-1:0] d_mid, begun_mid, waits_mid, begun_next, waits_next;
    wire           d_behind_call, begun_due, waits_due, begun_call, waits_call;
    wire [Y_W-1:0] unused_next;
    wire [Y_W-1:0] begun = called(d_mid);
    reg  [Y_W-1:0] waits;

    assign {unused_due, d_mid} = published(d_y_mem, d_before);
    assign {d_behind_call, unused_next} = settle(d_mid, d_before[FP_PROMPT]);

    always @* begin
        waits = d_mid;
        waits[Y_MATURE] = d_mid[Y_DUE] && (d_mid[Y_MATURE] || d_before[FP_PROMPT]);
    end

    assign {begun_due, begun_mid} = asked(begun, d_facts);
    assign {waits_due, waits_mid} = asked(waits, d_facts);
    assign {begun_call, begun_next} = settle(begun_mid, release_now || d_facts[FD_ENDS]);
    assign {waits_call, waits_next} = settle(waits_mid, release_now || (d_facts[FD_ENDS] && waits[Y_BUSY]));
    assign {d_call, d_becomes_due, d_y_next} = d_behind_call ? {begun_call, begun_due, begun_next} :
                                               {waits_call, waits_due, waits_next};

endmodule

`default_nettype wire
