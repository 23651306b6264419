// SPDX-License-Identifier: Apache-2.0
// cde_answer: turns answered memory writes and overflows into steps of the publication pipeline.
//
// Purpose: an acknowledged CQE write publishes its entries (CQ-15); a failed one, a failed EQE write or an overflow is
//          an error of that CQ alone (CQ-17, CQ-18). A failed EQE write is repeated, so that its ring keeps no hole for
//          the EQ's other CQs.
// Ports:   answers (ans_*), overflows (ovf_*), publication steps (pub_*), interrupt requests, m_axi_bready, error
//          reports.
// Latency: combinational for CQEs, whose CQ is the AXI ID; what follows from an EQE write is a cycle later, and so are
//          CQEs right after it. Interrupt requests one cycle, error reports two; while an overflow waits, responses are
//          held back until it has had its cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_event_records.vh"

module cde_answer #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter EQ_W = 4,
    parameter M_ID_W = 7,
    parameter REC_W = `CDE_WRITE_W,
    parameter RETRY_W = `CDE_RETRY_W
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               init,
    output reg                m_axi_bready,

    input  wire               ans_any,       // an answer, maybe to nothing outstanding
    input  wire               ans_valid,
    input  wire [M_ID_W-1:0]  ans_id,
    input  wire [`CDE_WRITE_COUNTS-1:0] ans_counts,      // of a CQE's write
    input  wire [REC_W-1:0]   ans_record,    // of an EQE's write
    input  wire               ans_error,
    input  wire               stray,

    input  wire               ovf_valid,
    output wire               ovf_ready,
    input  wire [CQ_W-1:0]    ovf_cq,

    output wire               pub_valid,
    output wire [7:0]         pub_op,
    output wire [CQ_W-1:0]    pub_cq,
    output wire [1:0]         pub_count,
    output wire [1:0]         pub_solicited,
    output wire [1:0]         pub_quiet,
    output wire [1:0]         pub_status,
    output wire               pub_give_up,
    output wire [RETRY_W-1:0] pub_retry,

    // An event entry was acknowledged or given up: its vector is raised
    output reg                irq_set,
    output reg  [EQ_W-1:0]    irq_eq,
    output reg                irq_lap,

    output reg                err_valid,
    output reg  [7:0]         err_cause,
    output reg  [7:0]         err_kind,
    output reg  [15:0]        err_object,
    output reg  [15:0]        err_index,
    output reg                count_error,
    output reg                count_stray
);

    localparam [1:0] LAST_ATTEMPT = 2'd3;

    wire event_write = ans_id[M_ID_W-1];
    wire [EQ_W-1:0] eq = ans_id[EQ_W-1:0];
    wire [CQ_W-1:0] cq = event_write ? ans_record[`CDE_EQE_WRITE_CQ +: CQ_W] : ans_id[CQ_W-1:0];
    wire [RETRY_W-1:0] retry = ans_record[`CDE_EQE_WRITE_RETRY +: RETRY_W];
    wire give_up = retry[`CDE_RETRY_ATTEMPT +: 2] == LAST_ATTEMPT;

    // The CQ of an EQE write comes out of a memory, too late to address another one: it waits a cycle, and while it
    // waits so does the answer after it. At most one answer comes in a cycle, so there is never a second one to wait.
    reg                held, held_event, held_error;
    reg  [CQ_W-1:0]    held_cq;
    reg  [1:0]         held_count, held_solicited, held_quiet;
    reg  [RETRY_W-1:0] held_retry;

    always @(posedge clk) begin
        held <= ans_valid && (event_write || held) && !rst;
        {held_event, held_error, held_cq, held_retry} <= {event_write, ans_error, cq, retry};
        held_count <= ans_counts[`CDE_WRITE_COUNT +: 2] & {2{!event_write}};
        held_solicited <= ans_counts[`CDE_WRITE_SOLICITED +: 2];
        held_quiet <= ans_counts[`CDE_WRITE_QUIET +: 2];
    end

    reg             failed, lost, of_event, given_up;     // for the report
    reg [CQ_W-1:0]  failed_cq;
    reg [IDX_W-1:0] failed_number, failed_snap;
    // An entry that was given up leaves a hole that the host has to skip: its number tells the pass, too.
    wire [IDX_W-1:0] failed_index = given_up ? failed_number : failed_snap;

    assign ovf_ready = ovf_valid && !held && !ans_any;

    // Low from power-up, before any clock edge.
    initial m_axi_bready = 1'b0;
    always @(posedge clk) begin
        m_axi_bready <= !rst && !init && !(ovf_valid && !ovf_ready);
    end

    wire error = held ? held_error : ans_error;
    assign pub_valid = held || (ans_valid && !event_write) || ovf_ready;
    assign pub_op = held && held_event ? (held_error ? `CDE_TRC_EVENT_FAILED : `CDE_TRC_EVENT_DONE) :
                    error || ovf_ready ? `CDE_TRC_CQ_ERROR : `CDE_TRC_PUBLISH;
    assign pub_cq = held ? held_cq : ans_any ? ans_id[CQ_W-1:0] : ovf_cq;
    assign pub_count = held ? held_count : ovf_ready ? 2'd0 : ans_counts[`CDE_WRITE_COUNT +: 2];
    assign pub_solicited = held ? held_solicited : ans_counts[`CDE_WRITE_SOLICITED +: 2];
    assign pub_quiet = held ? held_quiet : ans_counts[`CDE_WRITE_QUIET +: 2];
    assign pub_status = held || ans_any ? `CDE_CQST_INTERNAL_ERROR : `CDE_CQST_BUFFER_OVERFLOW;
    assign pub_give_up = held_retry[`CDE_RETRY_ATTEMPT +: 2] == LAST_ATTEMPT;
    assign pub_retry = held_retry;

    always @(posedge clk) begin
        // An entry that was given up, too: the host may have looked at those after it already, and waits in front of
        // the hole.
        irq_set <= ans_valid && event_write && (!ans_error || give_up) && !rst;
        irq_eq <= eq;
        irq_lap <= retry[`CDE_RETRY_LAP];
        {failed, lost} <= {ans_valid && ans_error, stray} & {2{!rst}};
        {of_event, given_up, failed_cq} <= {event_write, give_up, cq};
        failed_number <= retry[`CDE_RETRY_INDEX +: IDX_W];
        failed_snap <= retry[`CDE_RETRY_SNAP +: IDX_W];

        err_valid <= (failed || lost) && !rst;
        err_cause <= !failed ? `CDE_CAUSE_STRAY_B :
                     !of_event ? `CDE_CAUSE_CQE_WRITE_ERROR :
                     given_up ? `CDE_CAUSE_EQ_FAILED : `CDE_CAUSE_EQE_WRITE_ERROR;
        err_kind <= failed ? `CDE_KIND_CQ : `CDE_KIND_PORT;
        err_object <= {{(16-CQ_W){1'b0}}, failed_cq & {CQ_W{failed}}};
        err_index <= {{(16-IDX_W){1'b0}}, failed_index & {IDX_W{failed && of_event}}};
        count_error <= failed && !rst;
        count_stray <= lost && !rst;
    end

endmodule

`default_nettype wire
