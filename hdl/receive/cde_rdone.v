// SPDX-License-Identifier: Apache-2.0
// cde_rdone: receives complete (SRQ-04 to SRQ-07, SRQ-10, SRQ-11, SRQ-14, ISO-03).
//
// Purpose: a report is good when it names the oldest unreported buffer that its QP has taken; its completion is built from what was kept
//          when the buffer was taken. Buffers that were flushed report themselves.
// Ports:   s_axis_rdone, flushed buffers (self_*); taken counts, records of what is in flight, settings; completions (m_axis_cpl); counts
//          (done_*, completed_*), failures (fail_*), error report, trace lane 7.
// Latency: report taken in cycle t, completion valid in t+1. One a cycle.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_rdone #(
    parameter QP_W = 6,
    parameter SRQ_W = 4,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter RX_LOG2 = 3,
    parameter ECC = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    input  wire [63:0]       s_axis_rdone_tdata,
    input  wire              s_axis_rdone_tvalid,
    output wire              s_axis_rdone_tready,
    input  wire              self_valid,
    input  wire [QP_W-1:0]   self_qp,
    input  wire [IDX_W-1:0]  self_tag,
    output wire              self_room,

    input  wire              taken_we,
    input  wire [QP_W-1:0]   taken_qp,
    input  wire [IDX_W-1:0]  taken_total,
    input  wire              rec_we,
    input  wire [QP_W+RX_LOG2-1:0] rec_slot,
    input  wire [`CDE_TAKEN_W-1:0] rec_data,

    // Settings
    input  wire              set_we,
    input  wire [QP_W-1:0]   set_qp,
    input  wire [`CDE_RQ_DONE_W-1:0] set_data,

    output wire [255:0]      m_axis_cpl_tdata,
    output wire [15:0]       m_axis_cpl_tdest,
    output wire              m_axis_cpl_tuser,
    output wire              m_axis_cpl_tvalid,
    input  wire              m_axis_cpl_tready,

    output wire              done_we,
    output wire [QP_W-1:0]   done_qp,
    output wire [IDX_W-1:0]  done_total,
    output reg               completed_we,
    output reg  [SRQ_W-1:0]  completed_srq,
    output wire [IDX_W-1:0]  completed_total,
    output wire              fail_valid,     // the report takes its QP to ERROR

    output wire              err_valid,
    output wire [7:0]        err_cause,
    output wire [15:0]       err_qp,
    output wire [15:0]       err_tag,
    output wire              count,          // an accepted report of the transport

    output reg               trace_valid,
    output reg  [255:0]      trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};
    localparam SELF_LOG2 = 4;

    // ---------------------------------------------------------------- reports of the transport first: flushed QPs wait for nothing else
    wire              own_valid, own_take;
    wire [QP_W-1:0]   own_qp;
    wire [IDX_W-1:0]  own_tag;
    wire [SELF_LOG2:0] own_level;
    wire              unused_own_ready;
    reg               own_next;
    reg               j_valid, j_self;
    reg  [63:0]       j;
    wire              j_leaves;
    wire              open = (!j_valid || j_leaves) && !init;
    wire              self_now = own_valid && (!s_axis_rdone_tvalid || own_next);
    wire [63:0]       self_data = {24'd0, `CDE_CQESTATUS_CANCELED, {(16-IDX_W){1'b0}}, own_tag, {(16-QP_W){1'b0}}, own_qp};
    wire [63:0]       next = !open ? j : self_now ? self_data : s_axis_rdone_tdata;

    // Seven flushes can be on their way when the level is looked at.
    assign self_room = own_level <= 5'd8;
    assign own_take = open && self_now;
    assign s_axis_rdone_tready = open && !self_now;

    cde_fifo #(.W(QP_W + IDX_W), .DEPTH_LOG2(SELF_LOG2)) self_fifo (
        .clk(clk), .rst(rst),
        .push_valid(self_valid), .push_ready(unused_own_ready), .push_data({self_qp, self_tag}),
        .pop_valid(own_valid), .pop_ready(own_take), .pop_data({own_qp, own_tag}), .level(own_level)
    );

    always @(posedge clk) begin
        if (open) begin
            j_valid <= own_take || s_axis_rdone_tvalid;
            j <= next;
            j_self <= own_take;
            if (own_take || s_axis_rdone_tvalid) own_next <= !own_take;
        end
        if (rst) begin
            j_valid <= 1'b0;
            own_next <= 1'b0;
        end
    end

    // ---------------------------------------------------------------- what the report names
    wire [QP_W-1:0]   look = next[QP_W-1:0];
    wire [QP_W-1:0]   j_qp = j[QP_W-1:0];
    wire [IDX_W-1:0]  reported, taken;
    wire [`CDE_TAKEN_W-1:0] record;
    wire [`CDE_RQ_DONE_W-1:0] settings;

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) reported_ram (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .we(done_we), .waddr(j_qp), .wdata(done_total),
        .raddr(look), .rdata(reported)
    );

    cde_ram #(.W(IDX_W), .AW(QP_W), .ECC(ECC)) taken_ram (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .we(taken_we), .waddr(taken_qp), .wdata(taken_total),
        .raddr(look), .rdata(taken)
    );

    cde_ram #(.W(`CDE_TAKEN_W), .AW(QP_W + RX_LOG2), .ECC(ECC)) record_ram (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .we(rec_we), .waddr(rec_slot), .wdata(rec_data),
        .raddr({look, next[`CDE_RDONE_TAG_LSB +: RX_LOG2]}), .rdata(record)
    );

    cde_ram #(.W(`CDE_RQ_DONE_W), .AW(QP_W), .ECC(ECC)) settings_ram (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .we(set_we), .waddr(set_qp), .wdata(set_data), .raddr(look),
        .rdata(settings)
    );

    wire [63:0]      cookie = record[`CDE_TAKEN_CONTEXT +: 64];
    wire [31:0]      bytes = record[`CDE_TAKEN_BYTES +: 32];
    wire [31:0]      token = record[`CDE_TAKEN_TOKEN +: 32];
    wire             shared = record[`CDE_TAKEN_SHARED];
    wire [SRQ_W-1:0] srq = record[`CDE_TAKEN_SRQ +: SRQ_W];
    wire             invalidate = record[`CDE_TAKEN_INVALIDATE], solicited = record[`CDE_TAKEN_SOLICITED];
    wire             too_long = record[`CDE_TAKEN_TOO_LONG], bad_token = record[`CDE_TAKEN_BAD_TOKEN];
    wire             flushed = record[`CDE_TAKEN_FLUSH];
    wire [63:0]      window_context = record[`CDE_TAKEN_WINDOW +: 64];
    wire [63:0]      qp_context = settings[`CDE_RQ_DONE_CONTEXT +: 64];
    wire [CQ_W-1:0]  cq = settings[`CDE_RQ_DONE_CQ +: CQ_W];
    wire             waits = settings[`CDE_RQ_DONE_WAIT];            // signals for a solicited Send only
    wire             two = settings[`CDE_RQ_DONE_TWO];

    wire [15:0] tag = j[`CDE_RDONE_TAG_LSB +: 16];
    wire        malformed = (j[`CDE_RDONE_QP_LSB +: 16] >> QP_W) != 16'd0 || j[63:40] != 24'd0;
    wire        expected = reported != taken && tag == {{(16-IDX_W){1'b0}}, reported};
    // A flushed buffer is the engine's to report.
    wire        good = j_valid && !malformed && expected && flushed == j_self;
    wire [7:0]  status = too_long ? `CDE_CQESTATUS_LENGTH_ERROR : bad_token ? `CDE_CQESTATUS_INVALID_TOKEN : j[`CDE_RDONE_STATUS_LSB +: 8];
    wire        success = status == 8'h00;
    wire        quiet = waits && !solicited && success;

    // Where a receive has two entries, the invalidate result comes first, or the credit that it does not need goes back.
    reg         second;
    wire        first = two && !second;
    wire        shows = first && invalidate && !too_long && !bad_token;

    // The end of the connection waits for no room: told in the first cycle in which the report stands here.
    reg         told;
    assign fail_valid = good && j[`CDE_RDONE_STATUS_LSB +: 8] != 8'h00 && !j_self && !told;
    assign m_axis_cpl_tvalid = good;
    assign m_axis_cpl_tuser = first && !shows;
    assign m_axis_cpl_tdata = first ? {14'd0, waits && !solicited, 1'b0, 8'h00, {(24-QP_W){1'b0}}, j_qp, `CDE_CQETYPE_INVALIDATE, token, 32'd0, qp_context, window_context}
                                    : {14'd0, quiet, solicited, status, {(24-QP_W){1'b0}}, j_qp, invalidate && !two, 15'h0001,
                                       two ? 32'd0 : token, success ? bytes : 32'd0, qp_context, cookie};

    always @(posedge clk) begin
        if (good && m_axis_cpl_tready) second <= first;
        told <= good && !j_leaves;
        if (rst) {second, told} <= 2'b00;
    end

    assign m_axis_cpl_tdest = {{(16-CQ_W){1'b0}}, cq};
    assign j_leaves = j_valid && (!good || (m_axis_cpl_tready && !first));
    assign done_we = good && j_leaves;
    assign done_qp = j_qp;
    assign done_total = reported + ONE;
    assign count = done_we && !j_self;
    assign err_valid = j_valid && !good;
    assign err_cause = malformed ? `CDE_CAUSE_RDONE_BAD : `CDE_CAUSE_RDONE_UNEXPECTED;
    assign err_qp = j[`CDE_RDONE_QP_LSB +: 16];
    assign err_tag = tag;

    // ---------------------------------------------------------------- completed buffers of shared queues
    wire [IDX_W-1:0] completed;

    cde_ram #(.W(IDX_W), .AW(SRQ_W), .ECC(ECC)) completed_ram (
        .clk(clk), .mem_i(mem4), .mem_o(mem_o), .we(completed_we), .waddr(completed_srq),
        .wdata(completed_total), .raddr(srq), .rdata(completed)
    );

    assign completed_total = completed + ONE;

    // Low from power-up, before any clock edge.
    initial trace_valid = 1'b0;
    always @(posedge clk) begin
        completed_we <= done_we && shared && !rst;
        completed_srq <= srq;
        trace_valid <= done_we && !rst;
        trace_data <= 256'd0;
        trace_data[7:0] <= `CDE_TRC_RECEIVE;
        trace_data[8 +: QP_W] <= j_qp;
        trace_data[63:32] <= {m_axis_cpl_tdest, 6'd0, j_self, shared, status};
        trace_data[64 +: IDX_W] <= reported;
        trace_data[160 +: IDX_W] <= done_total;
    end

endmodule

`default_nettype wire
