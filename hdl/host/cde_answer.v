// SPDX-License-Identifier: Apache-2.0
// cde_answer: turns answered memory writes and overflows into steps of the publication pipeline.
//
// Purpose: an acknowledged CQE write publishes its entries (CQ-15); a failed one, a failed EQE write or an overflow is
//          an error of that CQ alone (CQ-17, CQ-18). A failed EQE is repeated, so that its ring keeps no hole for the
//          EQ's other CQs. EQEs of one write have steps of their own, one after another.
// Ports:   answers (ans_*, refused), overflows (ovf_*), publication steps (pub_*), acknowledged EQEs (ack_*), interrupt
//          requests, m_axi_bready, error reports.
// Latency: from ans_*: combinational for CQEs, whose CQ is the AXI ID; acknowledged EQEs three cycles, failed ones
//          three and one more for each of their write, in which no answer is taken. Interrupt requests one cycle, error
//          reports two, those of EQEs two after their step; while an overflow waits, responses are held back until it
//          has had its cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_event_records.vh"

module cde_answer #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter EQ_W = 4,
    parameter M_ID_W = 7,
    parameter LINE_W = `CDE_LINE_W,
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
    input  wire [LINE_W-1:0]  ans_record,    // of a write of EQEs
    input  wire               ans_error,
    input  wire               stray,
    input  wire               refused,       // an answer comes that may be of failed EQEs

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

    // Acknowledged EQEs
    output wire               ack_valid,
    input  wire               ack_ready,
    output wire [CQ_W-1:0]    ack_cq,

    // Event entries were acknowledged, or one was given up: their vector is raised
    output reg                irq_set,
    output reg  [EQ_W-1:0]    irq_eq,
    output reg                irq_lap,
    output reg  [1:0]         irq_more,      // entries after the first one

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
    wire give_up = ans_record[`CDE_LINE_ATTEMPT +: 2] == LAST_ATTEMPT;

    // What comes out of a memory comes too late to address another one: it waits a cycle.
    reg               h_valid, h_error;
    reg  [LINE_W-1:0] h;
    wire              h_fails = h_valid && h_error;
    reg               stepping;              // through the failed EQEs of h

    always @(posedge clk) begin
        h_valid <= ans_valid && event_write && !rst;
        h_error <= ans_error;
        if (!h_fails && !stepping) h <= ans_record;
    end

    cde_acks #(.CQ_W(CQ_W)) acks_i (
        .clk(clk), .rst(rst), .acks_valid(h_valid && !h_error),
        .acks({h[`CDE_LINE_LAST +: 2], h[`CDE_LINE_FIRST +: 2], h[`CDE_LINE_CQS +: 4 * CQ_W]}), .ack_valid(ack_valid),
        .ack_ready(ack_ready), .ack_cq(ack_cq)
    );

    // ---------------------------------------------------------------- failed EQEs
    reg               failing;               // no answer is taken until their steps are over
    reg  [1:0]        lane;
    reg  [IDX_W-1:0]  index;
    reg               u_valid, u_give_up;
    reg  [CQ_W-1:0]   u_cq;
    reg  [RETRY_W-1:0] u_retry;

    always @(posedge clk) begin
        failing <= refused || (failing && !(ans_any && !ans_valid) && !(stepping && lane == h[`CDE_LINE_LAST +: 2]));
        stepping <= h_fails || (stepping && lane != h[`CDE_LINE_LAST +: 2]);
        lane <= stepping ? lane + 2'd1 : h[`CDE_LINE_FIRST +: 2];
        index <= stepping ? index + {{(IDX_W-1){1'b0}}, 1'b1} : h[`CDE_LINE_INDEX +: IDX_W];
        u_valid <= stepping && !rst;
        u_give_up <= h[`CDE_LINE_ATTEMPT +: 2] == LAST_ATTEMPT;
        u_cq <= h[`CDE_LINE_CQS + CQ_W * lane +: CQ_W];
        u_retry <= {h[`CDE_LINE_ATTEMPT +: 2], h[`CDE_LINE_LAP], h[`CDE_LINE_PASSED], h[`CDE_LINE_PHASE],
                    h[`CDE_LINE_ADDR +: 58], lane, index, h[`CDE_LINE_SNAPS + IDX_W * lane +: IDX_W]};
        if (rst) {failing, stepping} <= 2'b00;
    end

    // ---------------------------------------------------------------- steps, interrupts, reports
    reg             failed, lost, of_event, given_up;     // for the report
    reg [CQ_W-1:0]  failed_cq;
    reg [IDX_W-1:0] failed_number, failed_snap;
    reg             refuses;
    // An entry that was given up leaves a hole that the host has to skip: its number tells the pass, too.
    wire [IDX_W-1:0] failed_index = given_up ? failed_number : failed_snap;

    assign ovf_ready = ovf_valid && !u_valid && !ans_any;

    // Low from power-up, before any clock edge.
    initial m_axi_bready = 1'b0;
    always @(posedge clk) begin
        m_axi_bready <= !rst && !init && !(ovf_valid && !ovf_ready) && !refused && !failing;
    end

    assign pub_valid = u_valid || (ans_valid && !event_write) || ovf_ready;
    assign pub_op = u_valid ? `CDE_TRC_EVENT_FAILED :
                    ans_error || ovf_ready ? `CDE_TRC_CQ_ERROR : `CDE_TRC_PUBLISH;
    assign pub_cq = u_valid ? u_cq : ans_any ? ans_id[CQ_W-1:0] : ovf_cq;
    assign pub_count = u_valid || ovf_ready ? 2'd0 : ans_counts[`CDE_WRITE_COUNT +: 2];
    assign pub_solicited = ans_counts[`CDE_WRITE_SOLICITED +: 2];
    assign pub_quiet = ans_counts[`CDE_WRITE_QUIET +: 2];
    assign pub_status = u_valid || ans_any ? `CDE_CQST_INTERNAL_ERROR : `CDE_CQST_BUFFER_OVERFLOW;
    assign pub_give_up = u_give_up;
    assign pub_retry = u_retry;

    always @(posedge clk) begin
        // An entry that was given up, too: the host may have looked at those after it already, and waits in front of
        // the hole.
        irq_set <= ans_valid && event_write && (!ans_error || give_up) && !rst;
        irq_eq <= eq;
        irq_lap <= ans_record[`CDE_LINE_LAP];
        irq_more <= ans_record[`CDE_LINE_LAST +: 2] - ans_record[`CDE_LINE_FIRST +: 2];
        {failed, lost} <= {u_valid || (ans_valid && ans_error && !event_write), stray} & {2{!rst}};
        {of_event, given_up, failed_cq} <= {u_valid, u_give_up, u_valid ? u_cq : ans_id[CQ_W-1:0]};
        failed_number <= u_retry[`CDE_RETRY_INDEX +: IDX_W];
        failed_snap <= u_retry[`CDE_RETRY_SNAP +: IDX_W];
        refuses <= ans_valid && ans_error && !rst;

        err_valid <= (failed || lost) && !rst;
        err_cause <= !failed ? `CDE_CAUSE_STRAY_B :
                     !of_event ? `CDE_CAUSE_CQE_WRITE_ERROR :
                     given_up ? `CDE_CAUSE_EQ_FAILED : `CDE_CAUSE_EQE_WRITE_ERROR;
        err_kind <= failed ? `CDE_KIND_CQ : `CDE_KIND_PORT;
        err_object <= {{(16-CQ_W){1'b0}}, failed_cq & {CQ_W{failed}}};
        err_index <= {{(16-IDX_W){1'b0}}, failed_index & {IDX_W{failed && of_event}}};
        count_error <= refuses && !rst;
        count_stray <= lost && !rst;
    end

endmodule

`default_nettype wire
