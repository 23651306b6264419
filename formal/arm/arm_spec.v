// SPDX-License-Identifier: Apache-2.0
// arm_spec: what one step does to one CQ, by the rules CQ-06 to CQ-14 and CQ-22 in docs/specification.md.
//
// Purpose: the specification for the proofs of the arm pipeline. It holds what the rules speak of, in the form in which
//          they speak of it: a table with a row for each index (new, solicited), pointers prod and cons, an arm and its
//          type, and the merge table of CQ-12 as a table. Nothing of the implementation's encoding (no "since", no
//          marks of solicited entries, no stages) is used.
// Ports:   the CQ before the step (s), the step, the CQ after it (n), whether it calls back, and the cause of a
//          refusal.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module arm_spec #(
    parameter IDX_W = 4,
    parameter S_W = 12 + 4 * IDX_W + (2 << IDX_W)
) (
    input  wire [S_W-1:0]   s,
    output reg  [S_W-1:0]   n,

    input  wire             valid,
    input  wire [7:0]       op,
    // Publication and errors
    input  wire [1:0]       count,
    input  wire [1:0]       solicited,
    input  wire [1:0]       quiet,
    input  wire [1:0]       status,
    input  wire             give_up,
    // Doorbells and control
    input  wire             host,        // comes from a doorbell page
    input  wire [7:0]       cause_in,    // refused already
    input  wire             owner,       // comes from the CQ's page
    input  wire [IDX_W-1:0] index,
    input  wire             arm,
    input  wire [1:0]       arm_type,
    input  wire [IDX_W-1:0] written,     // index after the last entry that memory has accepted
    // Settings of the CQ
    input  wire             typed,
    input  wire             rearm,
    input  wire             moderated,
    input  wire             let_pass,    // MODERATION: a condition was met

    output reg              call,
    output reg  [7:0]       cause,
    output reg              traced       // the step has an effect
);

    localparam N = 1 << IDX_W;
    localparam RING = 1 << (IDX_W - 2);     // the largest ring

    reg [1:0]       life, err, kind;
    reg             frozen, armed, busy, due, released, eqe;
    reg [IDX_W-1:0] prod, cons, mark, answered;
    reg [N-1:0]     is_new, is_sol;

    // Indices are compared on the side on which they can be: cons is at most one ring behind prod, prod at most as far
    // behind cons as writes can be outstanding.
    function [0:0] before;
        input [IDX_W-1:0] a;
        input [IDX_W-1:0] b;
        reg   [IDX_W-1:0] gap;
        begin
            gap = b - a;
            before = gap != 0 && !gap[IDX_W-1];
        end
    endfunction

    // CQ-12, row: first arm, column: second arm
    function [1:0] merged;
        input       first;          // there is a first one
        input [1:0] a;
        input [1:0] b;
        begin
            case ({first, a, b})
                {1'b1, `CDE_ARM_ANY, `CDE_ARM_ANY}: merged = `CDE_ARM_ANY;
                {1'b1, `CDE_ARM_ANY, `CDE_ARM_ERRORS}: merged = `CDE_ARM_ANY;
                {1'b1, `CDE_ARM_ANY, `CDE_ARM_SOLICITED}: merged = `CDE_ARM_ANY;
                {1'b1, `CDE_ARM_ERRORS, `CDE_ARM_ANY}: merged = `CDE_ARM_ANY;
                {1'b1, `CDE_ARM_ERRORS, `CDE_ARM_ERRORS}: merged = `CDE_ARM_ERRORS;
                {1'b1, `CDE_ARM_ERRORS, `CDE_ARM_SOLICITED}: merged = `CDE_ARM_SOLICITED;
                {1'b1, `CDE_ARM_SOLICITED, `CDE_ARM_ANY}: merged = `CDE_ARM_ANY;
                {1'b1, `CDE_ARM_SOLICITED, `CDE_ARM_ERRORS}: merged = `CDE_ARM_SOLICITED;
                {1'b1, `CDE_ARM_SOLICITED, `CDE_ARM_SOLICITED}: merged = `CDE_ARM_SOLICITED;
                default: merged = b;
            endcase
        end
    endfunction

    integer           i;
    reg               some, some_new, some_new_sol, open;
    reg [IDX_W-1:0]   at;

    always @* begin
        {is_sol, is_new, answered, mark, cons, prod, eqe, released, due, busy, kind, armed, frozen, err,
         life} = s[S_W-1:0];
        call = 1'b0;
        cause = 8'h00;
        traced = 1'b0;
        some = 1'b0;
        some_new = 1'b0;
        some_new_sol = 1'b0;
        at = prod;
        open = life == `CDE_LIFE_READY && !frozen;

        if (valid) begin
            traced = 1'b1;
            case (op)
                `CDE_TRC_PUBLISH: begin
                    traced = open;
                    answered = answered + {{(IDX_W-2){1'b0}}, count};
                    for (i = 0; i < 2; i = i + 1) begin
                        if (open && i < count) begin
                            // CQ-22: consumed before its acknowledgement, it triggers nothing.
                            is_new[prod] = !before(prod, cons);
                            is_sol[prod] = !before(prod, cons) && solicited[i];
                            // CQ-08
                            if (!before(prod, cons) && !quiet[i] && armed &&
                                (kind == `CDE_ARM_ANY || (kind == `CDE_ARM_SOLICITED && solicited[i]))) due = 1'b1;
                            prod = prod + 1'b1;
                        end
                    end
                end
                `CDE_TRC_CQ_ERROR: begin
                    answered = answered + {{(IDX_W-2){1'b0}}, count};
                    if (status == `CDE_CQST_BUFFER_OVERFLOW || open) begin
                        if (err == `CDE_CQST_OK) err = status;
                        if (armed) due = 1'b1;
                        if (status != `CDE_CQST_BUFFER_OVERFLOW) frozen = 1'b1;
                    end else begin
                        traced = 1'b0;
                    end
                end
                `CDE_TRC_EVENT_FAILED: begin
                    if (err == `CDE_CQST_OK) err = `CDE_CQST_INTERNAL_ERROR;
                    frozen = 1'b1;
                    if (armed) due = 1'b1;
                    if (give_up) eqe = 1'b0;
                end
                `CDE_TRC_EVENT_DONE: eqe = 1'b0;

                `CDE_TRC_DOORBELL: begin
                    cause = cause_in != 8'h00 ? cause_in :
                            life == `CDE_LIFE_FREE ? `CDE_CAUSE_NO_CQ :
                            !owner ? `CDE_CAUSE_NOT_OWNER :
                            life == `CDE_LIFE_DESTROYING ? `CDE_CAUSE_CQ_DESTROYING :
                            index - cons > written - cons ? `CDE_CAUSE_BAD_INDEX : 8'h00;
                    traced = cause == 8'h00;
                    if (traced) begin
                        cons = index;
                        if (before(mark, cons)) mark = cons;
                        for (i = 0; i < RING; i = i + 1) begin
                            at = cons + i;
                            // prod is less than a ring away, or behind
                            if (before(cons, prod) && before(at, prod)) begin
                                some = 1'b1;
                                if (is_new[at]) some_new = 1'b1;
                                if (is_new[at] && is_sol[at]) some_new_sol = 1'b1;
                            end
                        end
                        if (arm) begin
                            kind = merged(armed, kind, arm_type);
                            armed = 1'b1;
                            // CQ-09, CQ-10, CQ-10a, for each arm (CQ-14)
                            if (some && !some_new && rearm) due = 1'b1;
                            if (some_new && (!typed || kind == `CDE_ARM_ANY ||
                                             (kind == `CDE_ARM_SOLICITED && some_new_sol))) due = 1'b1;
                        end
                    end
                end
                `CDE_TRC_CB_RETURN: begin
                    cause = cause_in != 8'h00 ? cause_in :
                            life == `CDE_LIFE_FREE ? `CDE_CAUSE_NO_CQ :
                            !owner ? `CDE_CAUSE_NOT_OWNER :
                            !busy ? `CDE_CAUSE_NO_CALLBACK : 8'h00;
                    traced = cause == 8'h00;
                    if (traced) busy = 1'b0;
                end
                `CDE_TRC_MODERATION: if (let_pass && due) released = 1'b1;
                `CDE_TRC_CREATE: begin
                    {is_sol, is_new, answered, mark, cons, prod, eqe, released, due, busy, kind, armed, frozen, err,
                     life} = {S_W{1'b0}};
                    life = `CDE_LIFE_READY;
                end
                `CDE_TRC_DESTROY: begin
                    life = `CDE_LIFE_DESTROYING;
                    {armed, kind, due, released} = 5'd0;
                    if (answered == index && !busy && !eqe) life = `CDE_LIFE_FREE;
                end
                default: traced = 1'b0;
            endcase
            if (traced) begin
                // CQ-06, CQ-07, CQ-11, CQ-13: one call, when nothing is in progress; it takes the arm with it.
                if (due && (!moderated || err != `CDE_CQST_OK)) released = 1'b1;
                if (due && released && !busy && !eqe) begin
                    call = 1'b1;
                    {armed, kind, due, released} = 5'd0;
                    {busy, eqe} = 2'b11;
                    is_new = {N{1'b0}};
                    mark = before(cons, prod) ? prod : cons;
                end
            end
        end
        n = {is_sol, is_new, answered, mark, cons, prod, eqe, released, due, busy, kind, armed, frozen, err, life};
    end

endmodule

`default_nettype wire
