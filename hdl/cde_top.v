// SPDX-License-Identifier: Apache-2.0
// cde_top: Carillon, NIC completion and doorbell engine.
//
// Purpose: takes posts, holds and releases deferred batches, hands requests to the transport, completes them in order,
//          writes completions into host memory, and calls the consumer back exactly when NDKPI says so. Structure:
//          docs/architecture.md; pins: docs/interfaces.md, posting.md, receive.md and windows.md.
// Ports:   s_axi doorbell pages, s_axil control, m_axi host memory (write only); transport: m_axis_work, s_axis_done,
//          s_axis_conn, m_axis_term, receives s_axis_rreq, m_axis_scatter, s_axis_rdone, access checks s_axis_check,
//          m_axis_verdict; m_axis_irq interrupt vectors; trace.
// Latency: post to m_axis_work 12 cycles, s_axis_done to m_axi 15, write response to EQE 9, arm to EQE 9 (memory and
//          sinks ready).
`default_nettype none
`include "cde_key_records.vh"
`include "cde_mem.vh"
`include "cde_receive_records.vh"

module cde_top #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter M_ID_W = $clog2(NUM_CQ) + 1,
    parameter S_ID_W = 8,
    parameter S_ADDR_W = 32,
    parameter MOD_TICK = 256,
    parameter NUM_QP = 64,
    parameter SQ_LOG2 = 5,
    parameter BURST = 8,
    parameter NUM_SRQ = 16,
    parameter RQ_LOG2 = 4,
    parameter SRQ_LOG2 = 6,
    parameter RX_LOG2 = 4,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64,
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

    // Transport: work to execute, done reports, connection state, terminate requests
    output wire [511:0]        m_axis_work_tdata,
    output wire [15:0]         m_axis_work_tdest,
    output wire [63:0]         m_axis_work_tuser,
    output wire                m_axis_work_tlast,
    output wire                m_axis_work_tvalid,
    input  wire                m_axis_work_tready,
    input  wire [63:0]         s_axis_done_tdata,
    input  wire                s_axis_done_tvalid,
    output wire                s_axis_done_tready,
    input  wire [31:0]         s_axis_conn_tdata,
    input  wire                s_axis_conn_tvalid,
    output wire                s_axis_conn_tready,
    output wire [31:0]         m_axis_term_tdata,
    output wire                m_axis_term_tvalid,
    input  wire                m_axis_term_tready,

    // Transport: receive requests, scatter lists, receive done reports
    input  wire [127:0]        s_axis_rreq_tdata,
    input  wire                s_axis_rreq_tvalid,
    output wire                s_axis_rreq_tready,
    output wire [383:0]        m_axis_scatter_tdata,
    output wire [15:0]         m_axis_scatter_tdest,
    output wire [31:0]         m_axis_scatter_tuser,
    output wire                m_axis_scatter_tvalid,
    input  wire                m_axis_scatter_tready,
    input  wire [63:0]         s_axis_rdone_tdata,
    input  wire                s_axis_rdone_tvalid,
    output wire                s_axis_rdone_tready,

    // Transport: remote access checks
    input  wire [191:0]        s_axis_check_tdata,
    input  wire                s_axis_check_tvalid,
    output wire                s_axis_check_tready,
    output wire [31:0]         m_axis_verdict_tdata,
    output wire                m_axis_verdict_tvalid,
    input  wire                m_axis_verdict_tready,

    // Interrupts
    output wire [15:0]         m_axis_irq_tdata,
    output wire                m_axis_irq_tvalid,
    input  wire                m_axis_irq_tready,

    // Trace
    output wire [9:0]          trace_valid,
    output wire [2559:0]       trace_data
);

    localparam CQ_W = $clog2(NUM_CQ);
    localparam QP_W = $clog2(NUM_QP);
    localparam PAGE_W = $clog2(NUM_PAGES);
    localparam MAX_LOG2 = $clog2(MAX_WRITES);
    localparam INIT_A = CQ_W + 1 > MAX_LOG2 ? CQ_W + 1 : MAX_LOG2;
    localparam SRQ_W = $clog2(NUM_SRQ);
    localparam N_W = $clog2(NUM_MR > NUM_MW ? NUM_MR : NUM_MW);
    localparam INIT_B = N_W + 1 > PAGE_W ? N_W + 1 : PAGE_W;
    localparam INIT_C = RQ_LOG2 > RX_LOG2 ? RQ_LOG2 : RX_LOG2;
    localparam INIT_D = QP_W + (SQ_LOG2 > INIT_C ? SQ_LOG2 : INIT_C);
    localparam INIT_E = SRQ_W + SRQ_LOG2;
    localparam INIT_F = INIT_A > INIT_B ? INIT_A : INIT_B;
    localparam INIT_G = INIT_D > INIT_E ? INIT_D : INIT_E;
    localparam INIT_W = INIT_F > INIT_G ? INIT_F : INIT_G;     // address bits of the deepest memory

    cde_params #(
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .IDX_W(IDX_W), .MAX_WRITES(MAX_WRITES),
        .M_ID_W(M_ID_W), .S_ADDR_W(S_ADDR_W), .MOD_TICK(MOD_TICK), .NUM_QP(NUM_QP), .SQ_LOG2(SQ_LOG2), .BURST(BURST),
        .NUM_SRQ(NUM_SRQ), .RQ_LOG2(RQ_LOG2), .SRQ_LOG2(SRQ_LOG2), .RX_LOG2(RX_LOG2), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW),
        .ECC(ECC), .INJECT(INJECT), .TRACE(TRACE)
    ) params_i ();

    wire [9:0]        traces;
    wire [2559:0]     traced;

    assign trace_valid = TRACE != 0 ? traces : 10'd0;
    assign trace_data = TRACE != 0 ? traced : 2560'd0;

    wire              init;
    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3, mem4;
    wire              rq_hold, gr_room, gr_dead, p_rq_valid, p_gr_take, r_rq_valid, r_gr_take;
    wire              rq2_valid, gr2_room, gr2_dead, gr2_take;
    wire [CQ_W-1:0]   p_rq_cq, r_rq_cq, rq2_cq, cqi_cq;
    wire              post_valid, post_ready, p_post_ready, r_post_ready, p_res_valid, r_res_valid;
    wire [PAGE_W-1:0] post_page, cqi_page;
    wire [11:0]       pe_step;
    wire [15:0]       pr_step;
    wire [511:0]      post_data;
    wire [1:0]        post_kind;
    wire [63:0]       post_word;
    wire [7:0]        p_res_cause, r_res_cause, qc_command, p_qc_result, r_qc_result;
    wire              qc_start, p_qc_done, r_qc_done, qc_receive, cqi_we, cqi_alive, cqi_used;
    wire [255:0]      qc_args, p_qc_outs, k_qc_outs;
    wire              k_qc_done, qc_keys;
    wire [1:0]        r_rq_count, rq2_count;
    wire              loc_valid, loc_done, ri_valid, ri_done, kfail_valid, kfail_ready, rfail_pending, peer_valid,
        peer_counts;
    wire              look_live, look_open, peer_good, keys_held, hold_requests, bad_valid, removed, removing;
    wire [QP_W-1:0]   loc_qp, ri_qp, kfail_qp, peer_qp, bad_qp;
    wire [511:0]      loc_post;
    wire [31:0]       ri_key, peer_key;
    wire [7:0]        key_status, k_qc_result;
    wire [63:0]       peer_context;
    wire [95:0]       keys;
    wire [3*`CDE_FOUND_W-1:0]  found;
    wire [191:0]      r_qc_outs;
    wire [5:0]        pe_valid;
    wire [47:0]       pe_cause;
    wire [95:0]       pe_object, pe_index;
    wire [15:0]       send_dest, cpl_dest, xirq_vector;
    wire [255:0]      send_data, cpl_data;
    wire              send_silent, send_valid, send_ready, cpl_silent, cpl_valid, cpl_ready, xirq_valid, xirq_ready,
        xirq_sent;
    wire [NUM_QP-1:0] qp_known, qp_open, qp_up;
    wire              closes, fresh, hold, created, rx_empty, use_we, use_up, srqi_live, rfail_valid, rfail_ready;
    wire [QP_W-1:0]   step_qp, set_qp, look_qp, rfail_qp;
    wire [`CDE_QP_NEW_W-1:0] set_receive;
    wire [15:0]       srqi_number;
    wire [PAGE_W-1:0] srqi_page;

    wire [`CDE_QP_KEYS_W-1:0] set_zone;
    assign set_zone[`CDE_QP_KEYS_ZONE +: 16] = set_receive[`CDE_QP_NEW_ZONE +: 16];
    assign set_zone[`CDE_QP_KEYS_GUARDED] = set_receive[`CDE_QP_NEW_GUARDED];

    // A command begins a cycle later than control says so, when it is known who carries it out.
    reg by_keys, by_receive, starts;
    always @(posedge clk) {by_keys, by_receive, starts} <= {qc_keys, qc_receive, qc_start && !rst};

    // One post a cycle goes to one of the two sides; both decide in the same cycle after it.
    wire is_send = post_kind == 2'd0;

    assign post_ready = is_send ? p_post_ready : r_post_ready;

    cde_core #(
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W), .IDX_W(IDX_W),
        .MAX_WRITES(MAX_WRITES), .M_ID_W(M_ID_W),
        .S_ID_W(S_ID_W), .S_ADDR_W(S_ADDR_W), .MOD_TICK(MOD_TICK), .CQ_W(CQ_W), .INIT_W(INIT_W), .POSTS(1'b1),
        .RECEIVES(1'b1), .CAP4((SRQ_LOG2 << 24) | (RQ_LOG2 << 16) | NUM_SRQ), .CAP5((RX_LOG2 << 16) | NUM_MR),
        .CAP6(NUM_MW), .CAP3((BURST << 24) | (SQ_LOG2 << 16) | NUM_QP), .MEMORIES(77), .ECC(ECC), .INJECT(INJECT)
    ) core_i (
        .clk(clk), .mem_i(mem4), .mem_o(mem1), .rst(rst), .init(init), .s_axi_awid(s_axi_awid),
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
        .m_axi_bready(m_axi_bready), .s_axis_cpl_tdata({256'd0, cpl_data}), .s_axis_cpl_tdest({16'd0, cpl_dest}),
        .s_axis_cpl_tkeep(2'b01), .s_axis_cpl_tuser({1'b0, cpl_silent}), .s_axis_cpl_tvalid(cpl_valid),
        .s_axis_cpl_tready(cpl_ready), .rq_valid(p_rq_valid || r_rq_valid), .rq_hold(rq_hold),
        .rq_cq(r_rq_valid ? r_rq_cq : p_rq_cq), .rq_count(r_rq_valid ? r_rq_count : 2'd1), .gr_room(gr_room),
        .gr_dead(gr_dead),
        .gr_take(p_gr_take || r_gr_take), .rq2_valid(rq2_valid), .rq2_cq(rq2_cq), .rq2_count(rq2_count),
        .gr2_room(gr2_room), .gr2_dead(gr2_dead), .gr2_take(gr2_take), .post_valid(post_valid),
        .post_ready(post_ready), .post_kind(post_kind), .post_page(post_page), .post_data(post_data),
        .post_word(post_word),
        .post_res_valid(p_res_valid || r_res_valid), .post_res_cause(r_res_valid ? r_res_cause : p_res_cause),
        .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args),
        .qc_done(by_keys ? k_qc_done : by_receive ? r_qc_done : p_qc_done),
        .qc_result(by_keys ? k_qc_result : by_receive ? r_qc_result : p_qc_result),
        .qc_outs(by_keys ? k_qc_outs : by_receive ? {64'd0, r_qc_outs} : p_qc_outs),
        .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used),
        .pe_valid(pe_valid), .pe_cause(pe_cause), .pe_object(pe_object), .pe_index(pe_index), .pe_step(pe_step),
        .pr_step(pr_step), .removed(removed), .xirq_valid(xirq_valid), .xirq_ready(xirq_ready),
        .xirq_sent(xirq_sent), .xirq_vector(xirq_vector),
        .m_axis_irq_tdata(m_axis_irq_tdata), .m_axis_irq_tvalid(m_axis_irq_tvalid),
        .m_axis_irq_tready(m_axis_irq_tready), .trace_valid(traces[2:0]), .trace_data(traced[767:0])
    );

    cde_posting #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .SRQ_W(SRQ_W), .CQ_W(CQ_W), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W),
        .IDX_W(IDX_W), .SQ_LOG2(SQ_LOG2), .BURST(BURST), .MOD_TICK(MOD_TICK), .RQ_LOG2(RQ_LOG2), .ECC(ECC)
    ) posting_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .rst(rst), .init(init), .post_valid(post_valid && is_send),
        .post_ready(p_post_ready),
        .post_page(post_page), .post_data(post_data), .post_res_valid(p_res_valid), .post_res_cause(p_res_cause),
        .rq_valid(p_rq_valid), .rq_hold(rq_hold), .rq_cq(p_rq_cq), .gr_room(gr_room), .gr_dead(gr_dead),
        .gr_take(p_gr_take),
        .qc_start(starts && !by_receive && !by_keys), .qc_command(qc_command), .qc_args(qc_args), .qc_done(p_qc_done),
        .qc_result(p_qc_result), .qc_outs(p_qc_outs), .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq),
        .cqi_page(cqi_page), .cqi_used(cqi_used), .qp_known(qp_known), .qp_open(qp_open), .look_qp(look_qp),
        .look_live(look_live), .look_open(look_open), .qp_up(qp_up), .closes(closes),
        .fresh(fresh), .step_qp(step_qp), .hold(hold), .created(created), .set_qp(set_qp), .set_receive(set_receive),
        .rx_empty(rx_empty), .keys_held(keys_held), .use_we(use_we), .use_up(use_up), .srqi_number(srqi_number),
        .srqi_live(srqi_live), .srqi_page(srqi_page), .rfail_valid(rfail_valid), .rfail_ready(rfail_ready),
        .rfail_qp(rfail_qp),
        .rfail_pending(rfail_pending), .removed(removing), .loc_valid(loc_valid), .loc_qp(loc_qp), .loc_post(loc_post),
        .loc_done(loc_done), .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_key(ri_key), .ri_done(ri_done),
        .key_status(key_status), .kfail_valid(kfail_valid), .kfail_ready(kfail_ready), .kfail_qp(kfail_qp),
        .m_axis_work_tdata(m_axis_work_tdata), .m_axis_work_tdest(m_axis_work_tdest),
        .m_axis_work_tuser(m_axis_work_tuser),
        .m_axis_work_tlast(m_axis_work_tlast), .m_axis_work_tvalid(m_axis_work_tvalid),
        .m_axis_work_tready(m_axis_work_tready),
        .s_axis_done_tdata(s_axis_done_tdata), .s_axis_done_tvalid(s_axis_done_tvalid),
        .s_axis_done_tready(s_axis_done_tready),
        .s_axis_conn_tdata(s_axis_conn_tdata), .s_axis_conn_tvalid(s_axis_conn_tvalid),
        .s_axis_conn_tready(s_axis_conn_tready),
        .m_axis_term_tdata(m_axis_term_tdata), .m_axis_term_tvalid(m_axis_term_tvalid),
        .m_axis_term_tready(m_axis_term_tready),
        .m_axis_cpl_tdata(send_data), .m_axis_cpl_tdest(send_dest), .m_axis_cpl_tuser(send_silent),
        .m_axis_cpl_tvalid(send_valid), .m_axis_cpl_tready(send_ready), .pe_valid(pe_valid[1:0]),
        .pe_cause(pe_cause[15:0]),
        .pe_object(pe_object[31:0]), .pe_index(pe_index[31:0]), .pe_step(pe_step), .trace_valid(traces[4:3]),
        .trace_data(traced[1279:768])
    );

    cde_receive #(
        .NUM_QP(NUM_QP), .QP_W(QP_W), .NUM_SRQ(NUM_SRQ), .SRQ_W(SRQ_W), .CQ_W(CQ_W),
        .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W), .IDX_W(IDX_W), .RQ_LOG2(RQ_LOG2), .SRQ_LOG2(SRQ_LOG2),
        .RX_LOG2(RX_LOG2), .ECC(ECC)
    ) receive_i (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .rst(rst), .init(init), .post_valid(post_valid && !is_send),
        .post_ready(r_post_ready),
        .post_kind(post_kind), .post_page(post_page), .post_data(post_data), .post_word(post_word),
        .post_res_valid(r_res_valid), .post_res_cause(r_res_cause), .rq_valid(r_rq_valid), .rq_hold(rq_hold),
        .rq_cq(r_rq_cq), .rq_count(r_rq_count),
        .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(r_gr_take), .rq2_valid(rq2_valid), .rq2_cq(rq2_cq),
        .rq2_count(rq2_count),
        .gr2_room(gr2_room), .gr2_dead(gr2_dead), .gr2_take(gr2_take), .hold_requests(hold_requests), .removed(removed),
        .keys(keys), .found(found), .peer_valid(peer_valid), .peer_qp(peer_qp), .peer_key(peer_key),
        .peer_counts(peer_counts),
        .peer_good(peer_good), .peer_context(peer_context), .bad_valid(bad_valid), .bad_qp(bad_qp),
        .qc_start(starts && by_receive), .qc_command(qc_command),
        .qc_args(qc_args), .qc_mine(qc_receive), .qc_done(r_qc_done), .qc_result(r_qc_result), .qc_outs(r_qc_outs),
        .qp_known(qp_known), .look_qp(look_qp), .look_live(look_live), .look_open(look_open), .qp_open(qp_open),
        .qp_up(qp_up), .down_valid(closes), .fresh(fresh), .step_qp(step_qp),
        .hold(hold), .set_we(created), .set_qp(set_qp), .set_data(set_receive), .rx_empty(rx_empty), .use_we(use_we),
        .use_up(use_up), .srqi_number(srqi_number), .srqi_live(srqi_live), .srqi_page(srqi_page),
        .fail_valid(rfail_valid), .fail_pending(rfail_pending),
        .fail_ready(rfail_ready), .fail_qp(rfail_qp), .s_axis_rreq_tdata(s_axis_rreq_tdata),
        .s_axis_rreq_tvalid(s_axis_rreq_tvalid), .s_axis_rreq_tready(s_axis_rreq_tready),
        .m_axis_scatter_tdata(m_axis_scatter_tdata), .m_axis_scatter_tdest(m_axis_scatter_tdest),
        .m_axis_scatter_tuser(m_axis_scatter_tuser), .m_axis_scatter_tvalid(m_axis_scatter_tvalid),
        .m_axis_scatter_tready(m_axis_scatter_tready), .s_axis_rdone_tdata(s_axis_rdone_tdata),
        .s_axis_rdone_tvalid(s_axis_rdone_tvalid), .s_axis_rdone_tready(s_axis_rdone_tready),
        .s_axis_cpl_tdata(send_data),
        .s_axis_cpl_tdest(send_dest), .s_axis_cpl_tuser(send_silent), .s_axis_cpl_tvalid(send_valid),
        .s_axis_cpl_tready(send_ready), .m_axis_cpl_tdata(cpl_data), .m_axis_cpl_tdest(cpl_dest),
        .m_axis_cpl_tuser(cpl_silent),
        .m_axis_cpl_tvalid(cpl_valid), .m_axis_cpl_tready(cpl_ready), .irq_valid(xirq_valid),
        .irq_ready(xirq_ready), .irq_sent(xirq_sent),
        .irq_vector(xirq_vector), .pe_valid(pe_valid[4:2]), .pe_cause(pe_cause[39:16]), .pe_object(pe_object[79:32]),
        .pe_index(pe_index[79:32]), .pr_step(pr_step[9:0]), .trace_valid(traces[7:5]), .trace_data(traced[2047:1280])
    );

    cde_windows #(.NUM_QP(NUM_QP), .QP_W(QP_W), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW), .N_W(N_W), .ECC(ECC)) windows_i (
        .clk(clk), .mem_i(mem3), .mem_o(mem4), .rst(rst), .init(init), .qc_start(starts && by_keys),
        .qc_command(qc_command), .qc_args(qc_args), .qc_mine(qc_keys), .qc_done(k_qc_done), .qc_result(k_qc_result),
        .qc_outs(k_qc_outs), .loc_valid(loc_valid), .loc_qp(loc_qp), .loc_post(loc_post), .loc_done(loc_done),
        .ri_valid(ri_valid), .ri_qp(ri_qp), .ri_key(ri_key), .ri_done(ri_done), .done_status(key_status),
        .peer_valid(peer_valid), .peer_qp(peer_qp), .peer_key(peer_key), .peer_counts(peer_counts),
        .peer_good(peer_good), .peer_context(peer_context),
        .hold(hold_requests), .keys(keys), .found(found), .set_we(created), .set_qp(set_qp), .set_zone(set_zone),
        .held(keys_held), .qp_up(qp_up), .fail_valid(kfail_valid), .fail_ready(kfail_ready),
        .fail_qp(kfail_qp), .bad_valid(bad_valid), .bad_qp(bad_qp), .removed(removed), .removing(removing),
        .s_axis_check_tdata(s_axis_check_tdata),
        .s_axis_check_tvalid(s_axis_check_tvalid), .s_axis_check_tready(s_axis_check_tready),
        .m_axis_verdict_tdata(m_axis_verdict_tdata), .m_axis_verdict_tvalid(m_axis_verdict_tvalid),
        .m_axis_verdict_tready(m_axis_verdict_tready), .pe_valid(pe_valid[5]), .pe_cause(pe_cause[47:40]),
        .pe_object(pe_object[95:80]), .pe_index(pe_index[95:80]), .step(pr_step[15:10]), .trace_valid(traces[9:8]),
        .trace_data(traced[2559:2048])
    );

endmodule

`default_nettype wire
