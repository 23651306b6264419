// SPDX-License-Identifier: Apache-2.0
// cde_cpl_top: the completion core alone, for a NIC that posts and retires by itself.
//
// Purpose: completions and credit requests come in as raw streams; no queue pairs. Every pin: docs/interfaces.md.
// Ports:   s_axi doorbell pages, s_axil control, m_axi host memory (write only), s_axis_cpl completions, s_axis_rsv and
//          m_axis_rsv credits, m_axis_irq interrupt vectors, trace.
// Latency: completion to m_axi 8, write response to EQE 9, arm to EQE 9 cycles (memory and sinks ready).
`default_nettype none
`include "cde_mem.vh"

module cde_cpl_top #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter M_ID_W = $clog2(NUM_CQ) + 1,
    parameter S_ID_W = 8,
    parameter S_ADDR_W = 32,
    parameter MOD_TICK = 256,
    parameter ECC = 1,
    parameter INJECT = 1,                   // 0: MEM_INJECT inverts nothing, and its logic is not there
    parameter TRACE = 1                     // 0: the trace port is idle, and its logic not there
) (
    input  wire                clk,
    input  wire                rst,

    // Doorbell pages
    input  wire [S_ID_W-1:0]   s_axi_awid,
    input  wire [S_ADDR_W-1:0] s_axi_awaddr,
    input  wire [7:0]          s_axi_awlen,
    input  wire [2:0]          s_axi_awsize,
    input  wire [1:0]          s_axi_awburst,
    input  wire                s_axi_awvalid,
    output wire                s_axi_awready,
    input  wire [511:0]        s_axi_wdata,
    input  wire [63:0]         s_axi_wstrb,
    input  wire                s_axi_wlast,
    input  wire                s_axi_wvalid,
    output wire                s_axi_wready,
    output wire [S_ID_W-1:0]   s_axi_bid,
    output wire [1:0]          s_axi_bresp,
    output wire [7:0]          s_axi_buser,
    output wire                s_axi_bvalid,
    input  wire                s_axi_bready,
    input  wire [S_ID_W-1:0]   s_axi_arid,
    input  wire [S_ADDR_W-1:0] s_axi_araddr,
    input  wire [7:0]          s_axi_arlen,
    input  wire [2:0]          s_axi_arsize,
    input  wire [1:0]          s_axi_arburst,
    input  wire                s_axi_arvalid,
    output wire                s_axi_arready,
    output wire [S_ID_W-1:0]   s_axi_rid,
    output wire [511:0]        s_axi_rdata,
    output wire [1:0]          s_axi_rresp,
    output wire                s_axi_rlast,
    output wire                s_axi_rvalid,
    input  wire                s_axi_rready,

    // Control
    input  wire [11:0]         s_axil_awaddr,
    input  wire [2:0]          s_axil_awprot,
    input  wire                s_axil_awvalid,
    output wire                s_axil_awready,
    input  wire [31:0]         s_axil_wdata,
    input  wire [3:0]          s_axil_wstrb,
    input  wire                s_axil_wvalid,
    output wire                s_axil_wready,
    output wire [1:0]          s_axil_bresp,
    output wire                s_axil_bvalid,
    input  wire                s_axil_bready,
    input  wire [11:0]         s_axil_araddr,
    input  wire [2:0]          s_axil_arprot,
    input  wire                s_axil_arvalid,
    output wire                s_axil_arready,
    output wire [31:0]         s_axil_rdata,
    output wire [1:0]          s_axil_rresp,
    output wire                s_axil_rvalid,
    input  wire                s_axil_rready,

    // Host memory
    output wire [M_ID_W-1:0]   m_axi_awid,
    output wire [63:0]         m_axi_awaddr,
    output wire [7:0]          m_axi_awlen,
    output wire [2:0]          m_axi_awsize,
    output wire [1:0]          m_axi_awburst,
    output wire                m_axi_awlock,
    output wire [3:0]          m_axi_awcache,
    output wire [2:0]          m_axi_awprot,
    output wire [3:0]          m_axi_awqos,
    output wire                m_axi_awvalid,
    input  wire                m_axi_awready,
    output wire [511:0]        m_axi_wdata,
    output wire [63:0]         m_axi_wstrb,
    output wire                m_axi_wlast,
    output wire                m_axi_wvalid,
    input  wire                m_axi_wready,
    input  wire [M_ID_W-1:0]   m_axi_bid,
    input  wire [1:0]          m_axi_bresp,
    input  wire                m_axi_bvalid,
    output wire                m_axi_bready,

    // Completions
    input  wire [511:0]        s_axis_cpl_tdata,
    input  wire [31:0]         s_axis_cpl_tdest,
    input  wire [1:0]          s_axis_cpl_tkeep,
    input  wire [1:0]          s_axis_cpl_tuser,
    input  wire                s_axis_cpl_tvalid,
    output wire                s_axis_cpl_tready,

    // Credits
    input  wire [31:0]         s_axis_rsv_tdata,
    input  wire                s_axis_rsv_tvalid,
    output wire                s_axis_rsv_tready,
    output wire [7:0]          m_axis_rsv_tdata,
    output wire                m_axis_rsv_tvalid,
    input  wire                m_axis_rsv_tready,

    // Interrupts
    output wire [15:0]         m_axis_irq_tdata,
    output wire                m_axis_irq_tvalid,
    input  wire                m_axis_irq_tready,

    // Trace
    output wire [2:0]          trace_valid,
    output wire [767:0]        trace_data
);

    localparam CQ_W = $clog2(NUM_CQ);
    localparam PAGE_W = $clog2(NUM_PAGES);
    localparam MAX_LOG2 = $clog2(MAX_WRITES);
    localparam INIT_A = CQ_W + 1 > MAX_LOG2 ? CQ_W + 1 : MAX_LOG2;
    localparam INIT_W = INIT_A > PAGE_W ? INIT_A : PAGE_W;

    cde_params #(
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .IDX_W(IDX_W), .MAX_WRITES(MAX_WRITES),
        .M_ID_W(M_ID_W), .S_ADDR_W(S_ADDR_W), .MOD_TICK(MOD_TICK), .ECC(ECC), .INJECT(INJECT), .TRACE(TRACE)
    ) params_i ();

    wire [2:0]        traces;
    wire [767:0]      traced;

    assign trace_valid = TRACE != 0 ? traces : 3'd0;
    assign trace_data = TRACE != 0 ? traced : 768'd0;

    wire              init;
    wire [`CDE_MEM_W-1:0] mem1;
    wire              rq_valid, rq_hold, gr_room, gr_take, unused_dead;
    wire [CQ_W-1:0]   rq_cq;
    wire [1:0]        rq_count;
    wire              unused_post_valid, unused_qc_start, unused_cqi_we, unused_cqi_alive, unused_xirq_ready,
        unused_xirq_sent, unused_room2, unused_dead2;
    wire [PAGE_W-1:0] unused_post_page, unused_cqi_page;
    wire [511:0]      unused_post_data;
    wire [1:0]        unused_post_kind;
    wire [63:0]       unused_post_word;
    wire [7:0]        unused_qc_command;
    wire [255:0]      unused_qc_args;
    wire [CQ_W-1:0]   unused_cqi_cq;

    cde_rsv #(.CQ_W(CQ_W)) rsv_i (
        .clk(clk), .rst(rst), .init(init),
        .s_axis_rsv_tdata(s_axis_rsv_tdata), .s_axis_rsv_tvalid(s_axis_rsv_tvalid),
        .s_axis_rsv_tready(s_axis_rsv_tready), .m_axis_rsv_tdata(m_axis_rsv_tdata),
        .m_axis_rsv_tvalid(m_axis_rsv_tvalid), .m_axis_rsv_tready(m_axis_rsv_tready),
        .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq), .rq_count(rq_count), .gr_room(gr_room), .gr_take(gr_take)
    );

    cde_core #(
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W), .IDX_W(IDX_W),
        .MAX_WRITES(MAX_WRITES), .M_ID_W(M_ID_W),
        .S_ID_W(S_ID_W), .S_ADDR_W(S_ADDR_W), .MOD_TICK(MOD_TICK), .CQ_W(CQ_W), .INIT_W(INIT_W),
        .MEMORIES(16), .ECC(ECC), .INJECT(INJECT)
    ) core_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem1), .rst(rst), .init(init), .s_axi_awid(s_axi_awid),
        .s_axi_awaddr(s_axi_awaddr),
        .s_axi_awlen(s_axi_awlen), .s_axi_awsize(s_axi_awsize), .s_axi_awburst(s_axi_awburst),
        .s_axi_awvalid(s_axi_awvalid),
        .s_axi_awready(s_axi_awready), .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast),
        .s_axi_wvalid(s_axi_wvalid), .s_axi_wready(s_axi_wready), .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp),
        .s_axi_buser(s_axi_buser), .s_axi_bvalid(s_axi_bvalid), .s_axi_bready(s_axi_bready), .s_axi_arid(s_axi_arid),
        .s_axi_araddr(s_axi_araddr), .s_axi_arlen(s_axi_arlen), .s_axi_arsize(s_axi_arsize),
        .s_axi_arburst(s_axi_arburst),
        .s_axi_arvalid(s_axi_arvalid), .s_axi_arready(s_axi_arready), .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata),
        .s_axi_rresp(s_axi_rresp), .s_axi_rlast(s_axi_rlast), .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awprot(s_axil_awprot), .s_axil_awvalid(s_axil_awvalid),
        .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb),
        .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arprot(s_axil_arprot), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready), .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen),
        .m_axi_awsize(m_axi_awsize), .m_axi_awburst(m_axi_awburst), .m_axi_awlock(m_axi_awlock),
        .m_axi_awcache(m_axi_awcache),
        .m_axi_awprot(m_axi_awprot), .m_axi_awqos(m_axi_awqos), .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .s_axis_cpl_tdata(s_axis_cpl_tdata), .s_axis_cpl_tdest(s_axis_cpl_tdest),
        .s_axis_cpl_tkeep(s_axis_cpl_tkeep), .s_axis_cpl_tuser(s_axis_cpl_tuser), .s_axis_cpl_tvalid(s_axis_cpl_tvalid),
        .s_axis_cpl_tready(s_axis_cpl_tready), .rq_valid(rq_valid), .rq_hold(rq_hold), .rq_cq(rq_cq),
        .rq_count(rq_count),
        .gr_room(gr_room), .gr_dead(unused_dead), .gr_take(gr_take), .rq2_valid(1'b0), .rq2_cq({CQ_W{1'b0}}),
        .rq2_count(2'd0),
        .gr2_room(unused_room2), .gr2_dead(unused_dead2), .gr2_take(1'b0), .post_valid(unused_post_valid),
        .post_ready(1'b0),
        .post_page(unused_post_page), .post_kind(unused_post_kind), .post_data(unused_post_data),
        .post_word(unused_post_word),
        .post_res_valid(1'b0), .post_res_cause(8'd0), .qc_start(unused_qc_start), .qc_command(unused_qc_command),
        .qc_args(unused_qc_args), .qc_done(1'b0), .qc_result(8'd0), .qc_outs(256'd0), .cqi_we(unused_cqi_we),
        .cqi_alive(unused_cqi_alive), .cqi_cq(unused_cqi_cq), .cqi_page(unused_cqi_page), .cqi_used(1'b0),
        .pe_valid(6'd0),
        .pe_cause(48'd0), .pe_object(96'd0), .pe_index(96'd0), .pe_step(12'd0), .pr_step(16'd0), .removed(1'b0),
        .xirq_valid(1'b0),
        .xirq_ready(unused_xirq_ready), .xirq_sent(unused_xirq_sent), .xirq_vector(16'd0),
        .m_axis_irq_tdata(m_axis_irq_tdata),
        .m_axis_irq_tvalid(m_axis_irq_tvalid), .m_axis_irq_tready(m_axis_irq_tready), .trace_valid(traces),
        .trace_data(traced)
    );

endmodule

`default_nettype wire
