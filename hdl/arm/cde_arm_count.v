// SPDX-License-Identifier: Apache-2.0
// cde_arm_count: stage C of the arm pipeline; moves the indices of one or two CQs.
//
// Purpose: publication of acknowledged entries, errors of the CQ (CQ-17, CQ-18), consumer index with its legal range (CQ-22). Everything that
//          needs arithmetic is decided here, so that the next stage handles single bits.
// Ports:   both operations and the counts of their CQs; new counts; facts for the next stage.
// Latency: combinational.
`default_nettype none
`include "cde_defs.vh"

module cde_arm_count #(
    parameter IDX_W = 16,
    parameter X_BITS = 68
) (
    input  wire [7:0]        p_op,
    input  wire [1:0]        p_count,       // entries of the write that was answered
    input  wire [1:0]        p_solicited,   // class of the first, second entry
    input  wire [1:0]        p_status,      // CQ_ERROR: which
    input  wire [X_BITS-1:0] p_x,
    output wire [X_BITS-1:0] p_x_next,
    output wire [1:0]        p_live,        // first, second entry is published and not consumed already
    output wire              p_publish,
    output wire              p_fail,        // error of the CQ
    output wire              p_open,        // answers to entries have an effect

    input  wire              chained,       // both operations are about one CQ: publication comes first
    input  wire              d_doorbell,
    input  wire              d_create,
    input  wire              d_destroy,
    input  wire              d_clean,       // no cause of refusal found by decoding, and from the owner's page
    input  wire [IDX_W-1:0]  d_index,       // DOORBELL: consumer index; DESTROY: allocated index
    input  wire [IDX_W-1:0]  d_ahead,       // index written minus d_index
    input  wire [X_BITS-1:0] d_x_mem,
    output wire [X_BITS-1:0] d_x,           // before, after publication of this cycle
    output reg  [X_BITS-1:0] d_x_next,
    output wire              d_legal,       // consumer index within the legal range
    output wire              d_present,     // published entries remain after d_index
    output wire              d_sol_remains, // the newest one of the solicited class is after d_index
    output wire              d_answered     // every entry up to d_index was answered
);

`include "cde_arm_state.vh"

    localparam [IDX_W-1:0] ZERO = {IDX_W{1'b0}};
    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam [IDX_W-1:0] TWO = {{(IDX_W-2){1'b0}}, 2'd2};

    // ---------------------------------------------------------------- publication
    wire [IDX_W-1:0] prod = p_x[X_PROD +: IDX_W];
    wire [IDX_W-1:0] count = {{(IDX_W-2){1'b0}}, p_count};
    wire is_error = p_op == `CDE_TRC_CQ_ERROR;
    wire is_overflow = is_error && p_status == `CDE_CQST_BUFFER_OVERFLOW;
    wire is_event_failed = p_op == `CDE_TRC_EVENT_FAILED;
    wire no_error = p_x[X_ERR +: 2] == `CDE_CQST_OK;

    assign p_open = p_x[X_READY] && !p_x[X_FROZEN];
    assign p_publish = p_op == `CDE_TRC_PUBLISH && p_open;
    // Every error of the CQ satisfies an arm of any type (CQ-08); the first one names the status. Answers to entries after a hole are
    // no news any more.
    assign p_fail = is_overflow || (is_error && p_open) || is_event_failed;

    // Entries that the host consumed before their acknowledgement trigger nothing (CQ-22).
    wire [IDX_W-1:0] early = p_x[X_CONS +: IDX_W] - prod;
    wire early_none = early[IDX_W-1] || early == ZERO;
    assign p_live[0] = p_publish && p_count != 2'd0 && early_none;
    assign p_live[1] = p_publish && p_count == 2'd2 && (early_none || early == ONE);

    wire [IDX_W-1:0] prod_1 = prod + ONE;
    wire [IDX_W-1:0] prod_2 = prod + TWO;
    wire [IDX_W-1:0] prod_next = !p_publish ? prod : p_count[1] ? prod_2 : p_count[0] ? prod_1 : prod;
    wire [IDX_W-1:0] solp_next = p_publish && p_count[1] && p_solicited[1] ? prod_2 :
                                 p_publish && p_count != 2'd0 && p_solicited[0] ? prod_1 : p_x[X_SOLP +: IDX_W];
    wire answers = p_op == `CDE_TRC_PUBLISH || is_error;

    assign p_x_next[X_READY] = p_x[X_READY];
    assign p_x_next[X_FROZEN] = p_x[X_FROZEN] || (p_fail && !is_overflow);
    assign p_x_next[X_ERR +: 2] = !(p_fail && no_error) ? p_x[X_ERR +: 2] :
                                  is_error ? p_status : `CDE_CQST_INTERNAL_ERROR;
    assign p_x_next[X_PROD +: IDX_W] = prod_next;
    assign p_x_next[X_CONS +: IDX_W] = p_x[X_CONS +: IDX_W];
    assign p_x_next[X_SOLP +: IDX_W] = solp_next;
    assign p_x_next[X_ACKP +: IDX_W] = answers ? p_x[X_ACKP +: IDX_W] + count : p_x[X_ACKP +: IDX_W];

    // ---------------------------------------------------------------- doorbell
    assign d_x = chained ? p_x_next : d_x_mem;

    // cons <= d_index <= written. No more than one ring lies between the bounds, so both signs together are exact.
    wire [IDX_W-1:0] advance = d_index - d_x_mem[X_CONS +: IDX_W];
    assign d_legal = !advance[IDX_W-1] && !d_ahead[IDX_W-1];

    wire [IDX_W-1:0] remain = d_x[X_PROD +: IDX_W] - d_index;
    wire [IDX_W-1:0] sol_remain = d_x[X_SOLP +: IDX_W] - d_index;
    assign d_present = !remain[IDX_W-1] && remain != ZERO;
    assign d_sol_remains = !sol_remain[IDX_W-1] && sol_remain != ZERO;
    assign d_answered = d_x[X_ACKP +: IDX_W] == d_index;

    always @* begin
        d_x_next = d_x;
        if (d_doorbell && d_clean && d_x[X_READY] && d_legal) d_x_next[X_CONS +: IDX_W] = d_index;
        if (d_create) d_x_next = {X_W{1'b0}};
        if (d_create || d_destroy) d_x_next[X_READY] = d_create;
    end

endmodule

`default_nettype wire
