// SPDX-License-Identifier: Apache-2.0
// cde_host_write: everything between an allocated entry or a due callback and host memory.
//
// Purpose: groups the blocks that share m_axi: coalescing of entries (cde_coalescer, cde_eqe_coalescer), issue and
//          tracking of writes (cde_issue), answers (cde_answer), event queues (cde_event), interrupts (cde_irq).
// Ports:   entries (ent_*), callbacks (ev_*), EQ settings (eqc_*), m_axi, m_axis_irq, publication steps (pub_*),
//          acknowledged event entries (ack_*), written index, reports.
// Latency: entry in cycle t, m_axi valid in t+1; write response in t, publication step in t+1, ack_* in t+4; callback
//          in t, m_axi valid in t+2.
`default_nettype none
`include "cde_cq_records.vh"
`include "cde_event_records.vh"

module cde_host_write #(
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter M_ID_W = 7,
    parameter MAX_WRITES = 256,
    parameter MAX_LOG2 = 8,
    parameter INIT_W = 8,
    parameter ENT_W = `CDE_ENTRY_W,
    parameter RETRY_W = `CDE_RETRY_W,
    parameter EV_W = `CDE_CALLBACK_W
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               init,
    input  wire [INIT_W-1:0]  init_addr,

    // Entries and callbacks
    input  wire               ent_valid,
    output wire               ent_ready,
    input  wire [ENT_W-1:0]   ent_data,
    input  wire               ev_pub_valid,
    input  wire [EV_W-1:0]    ev_pub_data,
    input  wire               ev_db_valid,
    input  wire [EV_W-1:0]    ev_db_data,

    // EQ settings
    input  wire               eqc_valid,
    input  wire               eqc_hold,      // with them and before them
    input  wire               eqc_create,
    input  wire               eqc_vector_we,
    input  wire               eqc_ring_we,
    input  wire [EQ_W-1:0]    eqc_eq,
    input  wire [63:6]        eqc_base,
    input  wire [4:0]         eqc_log2,
    input  wire [15:0]        eqc_vector,
    output wire [IDX_W-1:0]   eqc_index,
    output wire               eqc_left,      // no entry of the ring before the last resize is under way

    // m_axi
    output wire [M_ID_W-1:0]  m_axi_awid,
    output wire [63:0]        m_axi_awaddr,
    output wire               m_axi_awvalid,
    input  wire               m_axi_awready,
    output wire [511:0]       m_axi_wdata,
    output wire [63:0]        m_axi_wstrb,
    output wire               m_axi_wvalid,
    input  wire               m_axi_wready,
    input  wire [M_ID_W-1:0]  m_axi_bid,
    input  wire [1:0]         m_axi_bresp,
    input  wire               m_axi_bvalid,
    output wire               m_axi_bready,

    // Interrupts; vectors of others
    input  wire               xirq_valid,
    output wire               xirq_ready,
    output wire               xirq_sent,
    input  wire [15:0]        xirq_vector,
    output wire [15:0]        m_axis_irq_tdata,
    output wire               m_axis_irq_tvalid,
    input  wire               m_axis_irq_tready,

    // Steps and written index for the arm state
    output wire               pub_valid,
    output wire [7:0]         pub_op,
    output wire [CQ_W-1:0]    pub_cq,
    output wire [1:0]         pub_count,
    output wire [1:0]         pub_solicited,
    output wire [1:0]         pub_quiet,
    output wire [1:0]         pub_status,
    output wire               pub_give_up,
    output wire [RETRY_W-1:0] pub_retry,
    output wire               ack_valid,     // acknowledged event entries
    input  wire               ack_ready,
    output wire [CQ_W-1:0]    ack_cq,
    output wire               wr_we,
    output wire [CQ_W-1:0]    wr_cq,
    output wire [IDX_W-1:0]   wr_index,
    output wire               barrier_done,

    // Reports
    output wire               err_valid,
    output wire [7:0]         err_cause,
    output wire [7:0]         err_kind,
    output wire [15:0]        err_object,
    output wire [15:0]        err_index,
    output wire               count_error,
    output wire               count_stray,
    output wire               count_cqe,
    output wire               count_eqe
);

    localparam REC_W = `CDE_EQE_WRITE_W, LINE_W = `CDE_LINE_W;

    // ---------------------------------------------------------------- memory writes
    wire                cq_valid;
    wire                cq_ready;
    wire                cq_barrier;
    wire [CQ_W-1:0]     cq_number;
    wire [63:6]         cq_addr;
    wire [511:0]        cq_data;
    wire [1:0]          cq_half;
    wire [1:0]          cq_count;
    wire [1:0]          cq_solicited;
    wire [1:0]          cq_quiet;
    wire [IDX_W-1:0]    cq_written;
    wire                ovf_valid;
    wire                ovf_ready;
    wire [CQ_W-1:0]     ovf_cq;
    wire                eq_valid;
    wire                eq_ready;
    wire [EQ_W-1:0]     eq_number;
    wire [63:4]         eq_addr;
    wire [127:0]        eq_data;
    wire                eq_void;
    wire [REC_W-1:0]    eq_record;
    wire                ans_any;
    wire                ans_valid;
    wire [M_ID_W-1:0]   ans_id;
    wire [`CDE_WRITE_COUNTS-1:0] ans_counts;
    wire [LINE_W-1:0]   ans_record;
    wire                ans_error;
    wire                stray, refused;
    wire                line_valid, line_ready, line_void;
    wire [EQ_W-1:0]     line_number;
    wire [63:6]         line_addr;
    wire [511:0]        line_data;
    wire [3:0]          line_lanes;
    wire [LINE_W-1:0]   line_record;

    cde_coalescer #(
        .CQ_W(CQ_W), .IDX_W(IDX_W)
    ) coalescer_i (
        .clk(clk), .rst(rst),
        .ent_valid(ent_valid), .ent_ready(ent_ready), .ent_data(ent_data),
        .cq_valid(cq_valid), .cq_ready(cq_ready), .cq_barrier(cq_barrier), .cq_number(cq_number),
        .cq_addr(cq_addr), .cq_data(cq_data), .cq_half(cq_half), .cq_count(cq_count),
        .cq_solicited(cq_solicited), .cq_quiet(cq_quiet), .cq_written(cq_written),
        .ovf_valid(ovf_valid), .ovf_ready(ovf_ready), .ovf_cq(ovf_cq)
    );

    cde_issue #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .M_ID_W(M_ID_W), .EQ_W(EQ_W), .MAX_WRITES(MAX_WRITES), .MAX_LOG2(MAX_LOG2),
        .INIT_W(INIT_W)
    ) issue_i (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr),
        .cq_valid(cq_valid), .cq_ready(cq_ready), .cq_barrier(cq_barrier), .cq_number(cq_number),
        .cq_addr(cq_addr), .cq_data(cq_data), .cq_half(cq_half), .cq_count(cq_count),
        .cq_solicited(cq_solicited), .cq_quiet(cq_quiet), .cq_written(cq_written), .barrier_done(barrier_done),
        .eq_valid(line_valid), .eq_ready(line_ready), .eq_number(line_number), .eq_addr(line_addr),
        .eq_data(line_data), .eq_lanes(line_lanes), .eq_void(line_void), .eq_record(line_record),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready),
        .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready),
        .wr_we(wr_we), .wr_cq(wr_cq), .wr_index(wr_index),
        .ans_any(ans_any), .ans_valid(ans_valid), .ans_id(ans_id), .ans_counts(ans_counts),
        .ans_record(ans_record), .ans_error(ans_error),
        .stray(stray), .refused(refused),
        .count_cqe(count_cqe), .count_eqe(count_eqe)
    );

    wire            irq_set;
    wire [EQ_W-1:0] irq_eq;
    wire            irq_lap;
    wire [1:0]      irq_more;
    wire [EQ_W-1:0] lookup_eq;
    wire [15:0]     lookup_vector;

    cde_answer #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .EQ_W(EQ_W), .M_ID_W(M_ID_W)
    ) answer_i (
        .clk(clk), .rst(rst), .init(init), .m_axi_bready(m_axi_bready),
        .ans_any(ans_any), .ans_valid(ans_valid), .ans_id(ans_id), .ans_counts(ans_counts),
        .ans_record(ans_record), .ans_error(ans_error),
        .stray(stray), .refused(refused),
        .ovf_valid(ovf_valid), .ovf_ready(ovf_ready), .ovf_cq(ovf_cq),
        .pub_valid(pub_valid), .pub_op(pub_op), .pub_cq(pub_cq), .pub_count(pub_count),
        .pub_solicited(pub_solicited), .pub_quiet(pub_quiet), .pub_status(pub_status), .pub_give_up(pub_give_up),
        .pub_retry(pub_retry),
        .ack_valid(ack_valid), .ack_ready(ack_ready), .ack_cq(ack_cq),
        .irq_set(irq_set), .irq_eq(irq_eq), .irq_lap(irq_lap), .irq_more(irq_more),
        .err_valid(err_valid), .err_cause(err_cause), .err_kind(err_kind),
        .err_object(err_object), .err_index(err_index),
        .count_error(count_error), .count_stray(count_stray)
    );

    // ---------------------------------------------------------------- events and interrupts

    cde_event #(
        .NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W)
    ) event_i (
        .clk(clk), .rst(rst),
        .ev_pub_valid(ev_pub_valid), .ev_pub_data(ev_pub_data),
        .ev_db_valid(ev_db_valid), .ev_db_data(ev_db_data),
        .eqc_valid(eqc_valid), .eqc_hold(eqc_hold), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we),
        .eqc_ring_we(eqc_ring_we),
        .eqc_eq(eqc_eq), .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index),
        .eqc_left(eqc_left), .gone_valid(irq_set), .gone_eq(irq_eq), .gone_lap(irq_lap), .gone_more(irq_more),
        .irq_eq(lookup_eq), .irq_vector(lookup_vector),
        .eq_valid(eq_valid), .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(eq_addr),
        .eq_data(eq_data), .eq_void(eq_void), .eq_record(eq_record)
    );

    cde_eqe_coalescer #(.NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W)) eqe_coalescer_i (
        .clk(clk), .rst(rst),
        .eq_valid(eq_valid), .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(eq_addr), .eq_data(eq_data),
        .eq_void(eq_void), .eq_record(eq_record),
        .line_valid(line_valid), .line_ready(line_ready), .line_number(line_number), .line_addr(line_addr),
        .line_data(line_data), .line_lanes(line_lanes), .line_void(line_void), .line_record(line_record)
    );

    cde_irq #(.NUM_EQ(NUM_EQ), .EQ_W(EQ_W)) irq_i (
        .clk(clk), .rst(rst),
        .clear(eqc_valid && eqc_create), .clear_eq(eqc_eq), .set(irq_set), .set_eq(irq_eq), .lookup_eq(lookup_eq),
        .lookup_vector(lookup_vector),
        .xirq_valid(xirq_valid), .xirq_ready(xirq_ready), .xirq_sent(xirq_sent), .xirq_vector(xirq_vector),
        .m_axis_irq_tdata(m_axis_irq_tdata), .m_axis_irq_tvalid(m_axis_irq_tvalid),
        .m_axis_irq_tready(m_axis_irq_tready)
    );

endmodule

`default_nettype wire
