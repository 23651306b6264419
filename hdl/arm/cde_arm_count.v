// SPDX-License-Identifier: Apache-2.0
// cde_arm_count: stage C of the arm pipeline; moves the indices of one or two CQs.
//
// Purpose: publication of acknowledged entries (CQ-15), errors of the CQ (CQ-17, CQ-18), consumer index with its legal
//          range (CQ-22). Only what the next operation on the CQ needs is decided here; what the indices mean for
//          callbacks is worked out a stage later (cde_arm_facts).
// Ports:   both operations and the counts of their CQs; new counts.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_count #(
    parameter IDX_W = 16,
    parameter X_BITS = 68,
    parameter STEP_BITS = 11
) (
    // {answers to entries, PUBLISH, CQ_ERROR, CQ_ERROR: overflow, EVENT_FAILED, entries of the write that was answered
    // 2, class of the first and second entry 2, CQ_ERROR: which 2}
    input  wire [STEP_BITS-1:0] p_step,
    input  wire [X_BITS-1:0] p_x,
    output wire [X_BITS-1:0] p_x_next,
    output wire [1:0]        p_early,       // entries that the host consumed before: one, none

    input  wire [STEP_BITS-1:0] d_before,   // the publication of this cycle, if it is about the same CQ: it comes first
    input  wire              d_bell,
    input  wire              d_create,
    input  wire              d_destroy,
    input  wire              d_clean,       // no cause of refusal found by decoding, and from the owner's page
    input  wire [IDX_W-1:0]  d_index,       // DOORBELL: consumer index; DESTROY: allocated index
    input  wire [IDX_W-1:0]  d_written,     // index after the last entry accepted by memory
    input  wire [X_BITS-1:0] d_x_mem,       // before both
    output wire [X_BITS-1:0] d_x_next,
    output reg  [X_BITS-1:0] d_x_stays,     // the same if the consumer index does not move
    output wire [X_BITS-1:0] d_x_moves,     // if it does
    output wire              d_moves,       // known late
    output wire              d_legal        // consumer index within the legal range
);

`include "cde_arm_state.vh"

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam [IDX_W-1:0] TWO = {{(IDX_W-2){1'b0}}, 2'd2};

    // ---------------------------------------------------------------- publication
    function [X_W-1:0] published;
        input [X_W-1:0]       x;
        input [STEP_BITS-1:0] step;
        reg                   entries, publish, error, overflow, event_failed, open, lost, fail, second, solicited;
        reg [1:0]             count, kinds, status;
        begin
            {entries, publish, error, overflow, event_failed, count, kinds, status} = step;
            open = x[X_READY] && !x[X_FROZEN];
            // Every error of the CQ satisfies an arm of any type (CQ-08); the first one names the status. Answers to
            // entries after a hole are no news any more.
            lost = event_failed || (error && !overflow && open);
            fail = overflow || lost;
            second = count[1] && kinds[1];
            solicited = second || (count != 2'd0 && kinds[0]);
            published = x;
            published[X_FROZEN] = x[X_FROZEN] || lost;
            if (fail && x[X_ERR +: 2] == `CDE_CQST_OK) published[X_ERR +: 2] = error ? status :
                `CDE_CQST_INTERNAL_ERROR;
            if (publish && open) published[X_PROD +: IDX_W] = x[X_PROD +: IDX_W] + {{(IDX_W-2){1'b0}}, count};
            if (publish && open && solicited) published[X_SOLP +: IDX_W] = x[X_PROD +: IDX_W] + (second ? TWO : ONE);
            if (entries) published[X_ACKP +: IDX_W] = x[X_ACKP +: IDX_W] + {{(IDX_W-2){1'b0}}, count};
        end
    endfunction

    wire [IDX_W-1:0] early = p_x[X_CONS +: IDX_W] - p_x[X_PROD +: IDX_W];

    assign p_x_next = published(p_x, p_step);
    assign p_early = {early == ONE, early[IDX_W-1] || early == {IDX_W{1'b0}}};

    // ---------------------------------------------------------------- doorbell
    // Both operations of one CQ read the same word, so each is worked out from it: no chain of one after the other.
    // cons <= d_index <= written, whatever a host found in a ring that it did not clear (CQ-15a). No more than one ring
    // lies between the bounds, so both signs together are exact.
    wire [IDX_W-1:0] advance = d_index - d_x_mem[X_CONS +: IDX_W];
    wire [IDX_W-1:0] ahead = d_written - d_index;
    assign d_legal = !advance[IDX_W-1] && !ahead[IDX_W-1];

    assign d_moves = d_bell && d_clean && d_x_mem[X_READY] && d_legal;
    assign d_x_next = d_moves ? d_x_moves : d_x_stays;
    assign d_x_moves = {d_x_stays[X_W-1:X_CONS + IDX_W], d_index, d_x_stays[X_CONS-1:0]};

    always @* begin
        d_x_stays = published(d_x_mem, d_before);
        if (d_create) d_x_stays = {X_W{1'b0}};
        if (d_create || d_destroy) d_x_stays[X_READY] = d_create;
    end

endmodule

`default_nettype wire
