// SPDX-License-Identifier: Apache-2.0
// cde_core: the completion core, shared by cde_top and cde_cpl_top.
//
// Purpose: writes completions into host memory, takes consumer indices and arms, and calls the consumer back exactly
//          when NDKPI says so; owns the host ports and hands posts and QP commands on. Structure: docs/architecture.md.
// Ports:   s_axi doorbell pages, s_axil control, m_axi host memory (write only), m_axis_irq interrupt vectors, trace
//          lanes 0 to 2; inside: s_axis_cpl completions, rq_* and gr_* credits, post_* posts, qc_* QP commands, cqi_*
//          what QPs need to know of CQs.
// Latency: completion to m_axi 8, write response to EQE 9, arm to EQE 9 cycles (memory and sinks ready).
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_defs.vh"
`include "cde_cq_records.vh"
`include "cde_event_records.vh"
`include "cde_mem.vh"

module cde_core #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter M_ID_W = $clog2(NUM_CQ) + 1,
    parameter S_ID_W = 8,
    parameter S_ADDR_W = 32,
    parameter MOD_TICK = 256,
    parameter CQ_W = 6,
    parameter PAGE_W = 6,
    parameter INIT_W = 8,                  // address bits of the clearing walk
    parameter [0:0] POSTS = 1'b0,          // there is a posting side
    parameter [0:0] RECEIVES = 1'b0,       // it takes receive posts and doorbells of SRQs, too
    parameter [31:0] CAP3 = 32'd0,
    parameter [31:0] CAP4 = 32'd0,
    parameter [31:0] CAP5 = 32'd0,
    parameter [31:0] CAP6 = 32'd0,
    parameter MEMORIES = 1,                // on the maintenance bus of the memories, which comes back at mem_i
    parameter ECC = 1,
    parameter INJECT = 1
) (
    input  wire                clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire                rst,
    output reg                 init,        // memories are being cleared

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
    input  wire                s_axi_wlast, s_axi_wvalid,
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
    output wire                s_axi_rlast, s_axi_rvalid,
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
    output wire                m_axi_wlast, m_axi_wvalid,
    input  wire                m_axi_wready,
    input  wire [M_ID_W-1:0]   m_axi_bid,
    input  wire [1:0]          m_axi_bresp,
    input  wire                m_axi_bvalid,
    output wire                m_axi_bready,

    // Completions
    input  wire [511:0]        s_axis_cpl_tdata,
    input  wire [31:0]         s_axis_cpl_tdest,
    input  wire [1:0]          s_axis_cpl_tkeep, s_axis_cpl_tuser,
    input  wire                s_axis_cpl_tvalid,
    output wire                s_axis_cpl_tready,

    // Credits: a request; four cycles later its verdict, and whether it is taken. Of one cycle's requests the first
    // port's goes first.
    input  wire                rq_valid,
    output wire                rq_hold,
    input  wire [CQ_W-1:0]     rq_cq,
    input  wire [1:0]          rq_count,
    output wire                gr_room, gr_dead,
    input  wire                gr_take, rq2_valid,
    input  wire [CQ_W-1:0]     rq2_cq,
    input  wire [1:0]          rq2_count,
    output wire                gr2_room, gr2_dead,
    input  wire                gr2_take,

    // Posts; their results six cycles after they were taken
    output wire                post_valid,
    input  wire                post_ready,
    output wire [PAGE_W-1:0]   post_page,
    output wire [1:0]          post_kind,       // 0 SEND, 1 RECV, 2 SRQ_RECV, 3 SRQ_DB
    output wire [511:0]        post_data,
    output wire [63:0]         post_word,       // SRQ_DB: the doorbell
    input  wire                post_res_valid,
    input  wire [7:0]          post_res_cause,

    // QP commands
    output wire                qc_start,
    output wire [7:0]          qc_command,
    output wire [255:0]        qc_args,         // ARG0 to ARG7
    input  wire                qc_done,
    input  wire [7:0]          qc_result,
    input  wire [255:0]        qc_outs,         // OUT0 to OUT7
    output wire                cqi_we, cqi_alive,
    output wire [CQ_W-1:0]     cqi_cq,
    output wire [PAGE_W-1:0]   cqi_page,
    input  wire                cqi_used,

    // Posting and receiving: error reports about QPs; steps of CNT_POSTS to CNT_DONE_REFUSED, 3 bits each, and of
    // CNT_RECV_POSTS to CNT_INVALIDATED, 2 bits each
    input  wire [5:0]          pe_valid,
    input  wire [47:0]         pe_cause,
    input  wire [95:0]         pe_object, pe_index,
    input  wire [11:0]         pe_step,
    input  wire [15:0]         pr_step,
    input  wire                removed,

    // Interrupts; vectors from outside the core
    input  wire                xirq_valid,
    output wire                xirq_ready,
    output wire                xirq_sent,       // its beat has left
    input  wire [15:0]         xirq_vector,
    output wire [15:0]         m_axis_irq_tdata,
    output wire                m_axis_irq_tvalid,
    input  wire                m_axis_irq_tready,

    // Trace
    output wire [2:0]          trace_valid,
    output wire [767:0]        trace_data
);

    wire [`CDE_MEM_W-1:0] mem1, mem2, mem3;

    localparam EQ_W = $clog2(NUM_EQ);
    localparam MAX_LOG2 = $clog2(MAX_WRITES);
    localparam RETRY_W = `CDE_RETRY_W;
    localparam EV_W = `CDE_CALLBACK_W;
    localparam ENT_W = `CDE_ENTRY_W;

    // Single beats need no burst type; protection attributes carry no rule of this engine.
    wire unused_attributes = &{1'b0, s_axi_awburst, s_axi_arburst, s_axil_awprot, s_axil_arprot};

    // ---------------------------- clearing walk after reset, as long as the deepest memory
    reg [INIT_W-1:0] init_addr;
    initial init = 1'b1;    // nothing is ready from power-up
    always @(posedge clk) begin
        init_addr <= init_addr + 1'b1;
        if (&init_addr) init <= 1'b0;
        if (rst) begin
            init <= 1'b1;
            init_addr <= {INIT_W{1'b0}};
        end
    end

    // ---------------------------------------------------------------- doorbell pages
    wire db_valid, db_ready;
    wire [7:0] db_op, db_cause, res_db_cause, st_cause, rd_err_cause;
    wire [CQ_W-1:0] db_cq;
    wire [PAGE_W-1:0] db_page;
    wire [IDX_W-1:0] db_index;
    wire db_arm, res_db_valid, st_valid, st_post, st_srq, rd_err_valid;
    wire [1:0] db_type;
    wire [15:0] st_page, st_object, rd_err_page;

    cde_page_port #(
        .CQ_W(CQ_W), .IDX_W(IDX_W), .PAGE_W(PAGE_W), .ID_W(S_ID_W), .ADDR_W(S_ADDR_W), .POSTS(POSTS),
        .RECEIVES(RECEIVES), .ECC(ECC)
    ) page_port_i (
        .clk(clk), .mem_i(mem1), .mem_o(mem2), .rst(rst), .init(init), .s_axi_awid(s_axi_awid),
        .s_axi_awaddr(s_axi_awaddr), .s_axi_awlen(s_axi_awlen), .s_axi_awsize(s_axi_awsize),
        .s_axi_awvalid(s_axi_awvalid),
        .s_axi_awready(s_axi_awready), .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast),
        .s_axi_wvalid(s_axi_wvalid), .s_axi_wready(s_axi_wready), .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp),
        .s_axi_buser(s_axi_buser), .s_axi_bvalid(s_axi_bvalid), .s_axi_bready(s_axi_bready), .db_valid(db_valid),
        .db_ready(db_ready), .db_op(db_op), .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index),
        .db_arm(db_arm), .db_type(db_type), .res_valid(res_db_valid), .res_cause(res_db_cause), .post_valid(post_valid),
        .post_ready(post_ready), .post_page(post_page), .post_kind(post_kind), .post_data(post_data),
        .post_word(post_word), .post_res_valid(post_res_valid), .post_res_cause(post_res_cause), .st_valid(st_valid),
        .st_page(st_page), .st_post(st_post), .st_srq(st_srq), .st_object(st_object), .st_cause(st_cause),
        .s_axi_arid(s_axi_arid), .s_axi_araddr(s_axi_araddr), .s_axi_arlen(s_axi_arlen), .s_axi_arsize(s_axi_arsize),
        .s_axi_arvalid(s_axi_arvalid), .s_axi_arready(s_axi_arready), .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata),
        .s_axi_rresp(s_axi_rresp), .s_axi_rlast(s_axi_rlast), .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready),
        .rd_err_valid(rd_err_valid), .rd_err_cause(rd_err_cause), .rd_err_page(rd_err_page)
    );

    // ---------------------------------------------------------------- arm state
    wire pub_valid, pub_give_up, ack_valid, ack_ready;
    wire [7:0] pub_op, ct_op;
    wire [CQ_W-1:0] pub_cq, ack_cq;
    wire [1:0] pub_count, pub_solicited, pub_quiet, pub_status;
    wire [RETRY_W-1:0] pub_retry;
    wire ct_valid, ct_ready;
    wire [CQ_W-1:0] ct_cq;
    wire [IDX_W-1:0] ct_index;
    wire res_ct_valid;
    wire [95:0] res_ct_state;
    wire cfg_we, cfg_hold, wr_we, cons_we;
    wire [`CDE_CFG_W-1:0] cfg_data;
    wire [CQ_W-1:0] cfg_cq, wr_cq, cons_cq;
    wire [IDX_W-1:0] wr_index, cons_index;
    wire dies, revives;
    wire [CQ_W-1:0] dies_cq, revives_cq;
    wire ev_pub_valid, ev_db_valid;
    wire [EV_W-1:0] ev_pub_data, ev_db_data;

    cde_arm #(
        .CQ_W(CQ_W), .EQ_W(EQ_W), .PAGE_W(PAGE_W), .IDX_W(IDX_W), .MOD_TICK(MOD_TICK), .ECC(ECC)
    ) arm_i (
        .clk(clk), .mem_i(mem2), .mem_o(mem3), .rst(rst), .init(init), .pub_valid(pub_valid), .pub_op(pub_op),
        .pub_cq(pub_cq), .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet),
        .pub_status(pub_status), .pub_give_up(pub_give_up), .pub_retry(pub_retry), .db_valid(db_valid),
        .db_ready(db_ready), .db_op(db_op), .db_cause(db_cause), .db_cq(db_cq), .db_page(db_page), .db_index(db_index),
        .db_arm(db_arm), .db_type(db_type), .ack_valid(ack_valid), .ack_ready(ack_ready), .ack_cq(ack_cq),
        .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
        .res_db_valid(res_db_valid), .res_db_cause(res_db_cause), .res_ct_valid(res_ct_valid),
        .res_ct_state(res_ct_state), .cfg_we(cfg_we), .cfg_hold(cfg_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data),
        .wr_we(wr_we), .wr_cq(wr_cq), .wr_index(wr_index), .cons_we(cons_we), .cons_cq(cons_cq),
        .cons_index(cons_index), .dies(dies), .dies_cq(dies_cq), .revives(revives), .revives_cq(revives_cq),
        .ev_pub_valid(ev_pub_valid), .ev_pub_data(ev_pub_data), .ev_db_valid(ev_db_valid), .ev_db_data(ev_db_data),
        .trace_valid(trace_valid[2:1]), .trace_data(trace_data[767:256])
    );

    // ---------------------------------------------------------------- producer side
    wire op_valid, op_ready;
    wire [7:0] op_code;
    wire [CQ_W-1:0] op_cq;
    wire [63:6] op_base;
    wire [4:0] op_log2;
    wire op_unreserved, op_res_valid;
    wire [7:0] op_res_result;
    wire [IDX_W-1:0] op_res_index, op_res_held;
    wire limit_we;
    wire [CQ_W-1:0] limit_cq;
    wire [`CDE_LIMIT_W-1:0] limit_data;
    wire clear_valid, clear_ready, ent_valid, ent_ready;
    wire [CQ_W-1:0] clear_cq;
    wire [ENT_W-1:0] ent_data;
    wire cpl_err_valid;
    wire [7:0] cpl_err_cause;
    wire [15:0] cpl_err_cq, cpl_err_index;
    wire [1:0] count_placed, count_refused, count_dropped;

    cde_producer #(.CQ_W(CQ_W), .IDX_W(IDX_W), .PORT2(POSTS), .ECC(ECC)) producer_i (
        .clk(clk), .mem_i(mem3), .mem_o(mem_o), .rst(rst), .init(init), .s_axis_cpl_tdata(s_axis_cpl_tdata),
        .s_axis_cpl_tdest(s_axis_cpl_tdest), .s_axis_cpl_tkeep(s_axis_cpl_tkeep), .s_axis_cpl_tuser(s_axis_cpl_tuser),
        .s_axis_cpl_tvalid(s_axis_cpl_tvalid), .s_axis_cpl_tready(s_axis_cpl_tready), .rq_valid(rq_valid),
        .rq_hold(rq_hold), .rq_cq(rq_cq), .rq_count(rq_count), .gr_room(gr_room), .gr_dead(gr_dead), .gr_take(gr_take),
        .rq2_valid(rq2_valid), .rq2_cq(rq2_cq), .rq2_count(rq2_count), .gr2_room(gr2_room), .gr2_dead(gr2_dead),
        .gr2_take(gr2_take), .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_cq(op_cq),
        .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved), .res_valid(op_res_valid),
        .res_result(op_res_result), .res_index(op_res_index), .res_held(op_res_held), .limit_we(limit_we),
        .limit_cq(limit_cq), .limit_data(limit_data), .clear_valid(clear_valid), .clear_ready(clear_ready),
        .clear_cq(clear_cq), .cons_we(cons_we), .cons_cq(cons_cq), .cons_index(cons_index), .dies(dies),
        .dies_cq(dies_cq), .revives(revives), .revives_cq(revives_cq), .ent_valid(ent_valid), .ent_ready(ent_ready),
        .ent_data(ent_data), .err_valid(cpl_err_valid), .err_cause(cpl_err_cause), .err_cq(cpl_err_cq),
        .err_index(cpl_err_index), .count_placed(count_placed), .count_refused(count_refused),
        .count_dropped(count_dropped), .trace_valid(trace_valid[0]), .trace_data(trace_data[255:0])
    );

    // ---------------------------------------------------------------- host memory and interrupts
    wire barrier_done, ans_err_valid;
    wire [7:0] ans_err_cause, ans_err_kind;
    wire [15:0] ans_err_object, ans_err_index;
    wire count_error, count_stray, count_cqe, count_eqe;
    wire eqc_valid, eqc_hold, eqc_create, eqc_vector_we, eqc_ring_we, eqc_left;
    wire [EQ_W-1:0] eqc_eq;
    wire [63:6] eqc_base;
    wire [4:0] eqc_log2;
    wire [15:0] eqc_vector;
    wire [IDX_W-1:0] eqc_index;

    cde_host_write #(
        .NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .CQ_W(CQ_W), .IDX_W(IDX_W), .M_ID_W(M_ID_W), .MAX_WRITES(MAX_WRITES),
        .MAX_LOG2(MAX_LOG2), .INIT_W(INIT_W)
    ) host_write_i (
        .clk(clk), .rst(rst), .init(init), .init_addr(init_addr), .ent_valid(ent_valid), .ent_ready(ent_ready),
        .ent_data(ent_data), .ev_pub_valid(ev_pub_valid), .ev_pub_data(ev_pub_data), .ev_db_valid(ev_db_valid),
        .ev_db_data(ev_db_data), .eqc_valid(eqc_valid), .eqc_hold(eqc_hold), .eqc_create(eqc_create),
        .eqc_vector_we(eqc_vector_we), .eqc_ring_we(eqc_ring_we), .eqc_eq(eqc_eq), .eqc_base(eqc_base),
        .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index), .eqc_left(eqc_left),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awvalid(m_axi_awvalid),
        .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb),
        .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp),
        .m_axi_bvalid(m_axi_bvalid), .m_axi_bready(m_axi_bready), .xirq_valid(xirq_valid), .xirq_ready(xirq_ready),
        .xirq_sent(xirq_sent), .xirq_vector(xirq_vector), .m_axis_irq_tdata(m_axis_irq_tdata),
        .m_axis_irq_tvalid(m_axis_irq_tvalid), .m_axis_irq_tready(m_axis_irq_tready), .pub_valid(pub_valid),
        .pub_op(pub_op), .pub_cq(pub_cq), .pub_count(pub_count), .pub_solicited(pub_solicited), .pub_quiet(pub_quiet),
        .pub_status(pub_status), .pub_give_up(pub_give_up), .pub_retry(pub_retry), .ack_valid(ack_valid),
        .ack_ready(ack_ready), .ack_cq(ack_cq), .wr_we(wr_we), .wr_cq(wr_cq), .wr_index(wr_index),
        .barrier_done(barrier_done), .err_valid(ans_err_valid), .err_cause(ans_err_cause), .err_kind(ans_err_kind),
        .err_object(ans_err_object), .err_index(ans_err_index), .count_error(count_error), .count_stray(count_stray),
        .count_cqe(count_cqe), .count_eqe(count_eqe)
    );

    assign m_axi_awlen = 8'd0;
    assign m_axi_awsize = 3'd6;
    assign m_axi_awburst = 2'b01;
    assign m_axi_awlock = 1'b0;
    assign m_axi_awcache = 4'b0011;
    assign m_axi_awprot = 3'b000;
    assign m_axi_awqos = 4'd0;
    assign m_axi_wlast = 1'b1;

    // ---------------------------------------------------------------- control, errors, counters
    // Causes up to RESERVED_BITS are about the write itself, later ones about the object it names; those of a post that
    // reached the posting side all about its QP or SRQ.
    wire st_refused = st_valid && st_cause != 8'h00;
    wire st_about_page = !st_post && st_cause <= `CDE_CAUSE_RESERVED_BITS;

    cde_control #(
        .NUM_CQ(NUM_CQ), .CQ_W(CQ_W), .NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W),
        .IDX_W(IDX_W), .MAX_WRITES(MAX_WRITES), .MOD_TICK(MOD_TICK), .POSTS(POSTS), .CAP3(CAP3), .CAP4(CAP4),
        .CAP5(CAP5), .CAP6(CAP6), .MEMORIES(MEMORIES), .ECC(ECC), .INJECT(INJECT)
    ) control_i (
        .clk(clk), .mem_i(mem_i), .mem_o(mem1), .rst(rst), .init(init), .s_axil_awaddr(s_axil_awaddr),
        .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready), .s_axil_wdata(s_axil_wdata),
        .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid), .s_axil_wready(s_axil_wready),
        .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid), .s_axil_bready(s_axil_bready),
        .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid), .s_axil_arready(s_axil_arready),
        .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp), .s_axil_rvalid(s_axil_rvalid),
        .s_axil_rready(s_axil_rready), .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq),
        .ct_index(ct_index), .ct_res_valid(res_ct_valid), .ct_res_state(res_ct_state), .cfg_we(cfg_we),
        .cfg_hold(cfg_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data), .op_valid(op_valid), .op_ready(op_ready),
        .op_code(op_code), .op_cq(op_cq), .op_base(op_base), .op_log2(op_log2), .op_unreserved(op_unreserved),
        .op_res_valid(op_res_valid), .op_res_result(op_res_result), .op_res_index(op_res_index),
        .op_res_held(op_res_held), .barrier_done(barrier_done), .limit_we(limit_we), .limit_cq(limit_cq),
        .limit_data(limit_data), .clear_valid(clear_valid), .clear_ready(clear_ready), .clear_cq(clear_cq),
        .eqc_valid(eqc_valid), .eqc_hold(eqc_hold), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we),
        .eqc_ring_we(eqc_ring_we), .eqc_eq(eqc_eq), .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector),
        .eqc_index(eqc_index), .eqc_left(eqc_left), .qc_start(qc_start), .qc_command(qc_command), .qc_args(qc_args),
        .qc_done(qc_done), .qc_result(qc_result), .qc_outs(qc_outs), .cqi_we(cqi_we), .cqi_alive(cqi_alive),
        .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used),
        .err_valid({pe_valid, ans_err_valid, cpl_err_valid, rd_err_valid, st_refused}),
        .err_cause({pe_cause, ans_err_cause, cpl_err_cause, rd_err_cause, st_cause}),
        .err_kind({{6{`CDE_KIND_QP}}, ans_err_kind,
                   cpl_err_cause == `CDE_CAUSE_CPL_BAD_CQ ? `CDE_KIND_PORT : `CDE_KIND_CQ, `CDE_KIND_PAGE,
                   st_about_page ? `CDE_KIND_PAGE : st_srq ? `CDE_KIND_SRQ : st_post ? `CDE_KIND_QP : `CDE_KIND_CQ}),
        .err_object({pe_object, ans_err_object, cpl_err_cq, rd_err_page, st_about_page ? st_page : st_object}),
        .err_index({pe_index, ans_err_index, cpl_err_index, rd_err_page, st_page}),
        .step({2'd0, count_stray, 2'd0, count_error,
               1'b0, {1'b0, st_refused} + {1'b0, rd_err_valid}, 2'd0, st_valid && st_cause == 8'h00,
               2'd0, m_axis_irq_tvalid && m_axis_irq_tready, 2'd0, count_eqe, 2'd0, count_cqe,
               1'b0, count_dropped, 1'b0, count_refused, 1'b0, count_placed}),
        .late_step(pe_step), .recv_step(pr_step), .removed(removed), .cause_valid(st_refused), .cause(st_cause)
    );

endmodule

`default_nettype wire
