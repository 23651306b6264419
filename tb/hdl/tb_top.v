// SPDX-License-Identifier: Apache-2.0
//  Harness: cde_top (with the define FULL) or cde_cpl_top, bus functional models at packet level on every port,
// protocol checks, and the recorder. Python loads items into the models and reads records in blocks; it does nothing
// per cycle.
//  Signals for Python: rst (active after start), ld_data and ld_toggle (see bfm_queue), flush, rec_toggle, windows and
// u_record.rows.
`default_nettype none
`timescale 1ns / 1ps

module tb_top #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter MOD_TICK = 256,
    parameter ECC = 1,
    // cde_top only
    parameter NUM_QP = 64,
    parameter SQ_LOG2 = 5,
    parameter BURST = 8,
    parameter NUM_SRQ = 16,
    parameter RQ_LOG2 = 4,
    parameter SRQ_LOG2 = 6,
    parameter RX_LOG2 = 4,
    parameter NUM_MR = 64,
    parameter NUM_MW = 64
);
    localparam M_ID_W = $clog2(NUM_CQ) + 1;
    localparam S_ID_W = 8;
    localparam S_ADDR_W = 32;
    localparam LD_WORDS = 128;

    // Channels: sources and sinks have their stall settings under the same number.
    localparam CH_AW = 1, CH_W = 2, CH_AR = 3, CH_CTL_AW = 4, CH_CTL_W = 5, CH_CTL_AR = 6, CH_CPL = 7, CH_RSV = 8;
    localparam CH_B = 9, CH_R = 10, CH_CTL_B = 11, CH_CTL_R = 12, CH_ANS = 13, CH_IRQ = 14;
    localparam CH_MEM_AW = 15, CH_MEM_W = 16, CH_MEM_B = 17, CH_MEM_CMD = 18, CH_FAULT = 19, CH_RECORD = 20;
    localparam CH_WORK = 21, CH_DONE = 22, CH_CONN = 23, CH_TERM = 24, CH_LOOP = 25, CH_LOOP_FAIL = 26;
    localparam CH_RREQ = 27, CH_SCATTER = 28, CH_RDONE = 29, CH_RLOOP = 30, CH_RLOOP_FAIL = 31;
    localparam CH_CHECK = 32, CH_VERDICT = 33;
    localparam CFGS = 34;
    reg                      clk, rst;
    reg  [LD_WORDS*64-1:0]   ld_data;
    reg                      ld_toggle;
    reg  [7:0]               flush;
    wire                     rec_toggle;
    reg  [31:0]              cycle;
    wire [CFGS*64-1:0]       cfg;
    wire [14:0]              overflow;
    wire                     windows; // the design checks remote accesses

    initial begin
        clk = 1'b0;
        rst = 1'b1;
        ld_data = 0;
        ld_toggle = 1'b0;
        flush = 8'd0;
        cycle = 32'd0;
    end

    always #2 clk = !clk;

    always @(posedge clk) cycle <= rst ? 32'd0 : cycle + 32'd1;
    bfm_config #(.COUNT(CFGS), .LD_WORDS(LD_WORDS)) u_config (
        .clk(clk), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg)
    );

    // ---- Doorbell pages -------------------------------------------------------------------------------------------
    wire         awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
    wire [52:0]  aw, ar, db_aw;
    wire [575:0] w, db_wd;  // {data, strobes}
    wire         wlast, rlast, db_w;
    wire [S_ID_W-1:0] bid, rid;
    wire [1:0]   bresp, rresp;
    wire [7:0]   buser;
    wire [511:0] rdata;
    wire [2:0]   pages_withhold;
    wire [5:0]   pages_violations;
    tb_pages #(
        .CH_AW(CH_AW), .CH_W(CH_W), .CH_AR(CH_AR), .CH_B(CH_B), .CH_R(CH_R), .CFGS(CFGS), .S_ID_W(S_ID_W),
        .LD_WORDS(LD_WORDS)
    ) u_pages (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg),
        .awvalid(awvalid), .awready(awready), .aw(aw), .wvalid(wvalid), .wready(wready), .wlast(wlast), .w(w),
        .arvalid(arvalid), .arready(arready), .ar(ar),
        .bvalid(bvalid), .bready(bready), .bid(bid), .bresp(bresp), .buser(buser),
        .rvalid(rvalid), .rready(rready), .rid(rid), .rresp(rresp), .rlast(rlast), .rdata(rdata),
        .write(db_w), .write_aw(db_aw), .write_w(db_wd),
        .violations(pages_violations), .withhold(pages_withhold), .overflow(overflow[2:0])
    );

    // ---- Control --------------------------------------------------------------------------------------------------
    wire        cawvalid, cawready, cwvalid, cwready, cbvalid, cbready, carvalid, carready, crvalid, crready;
    wire [14:0] caw, car;
    wire [35:0] cw;
    wire [1:0]  cbresp, crresp;
    wire [31:0] crdata;
    wire [2:0]  ctl_withhold;
    bfm_source #(.CH(CH_CTL_AW), .W(15), .WORDS(1), .LD_WORDS(LD_WORDS)) u_ctl_aw (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CTL_AW*64 +: 64]),
        .valid(cawvalid), .ready(cawready), .payload(caw), .withhold(ctl_withhold[0]), .overflow(overflow[3])
    );
    bfm_source #(.CH(CH_CTL_W), .W(36), .WORDS(1), .LD_WORDS(LD_WORDS)) u_ctl_w (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CTL_W*64 +: 64]),
        .valid(cwvalid), .ready(cwready), .payload(cw), .withhold(ctl_withhold[1]), .overflow(overflow[4])
    );
    bfm_source #(.CH(CH_CTL_AR), .W(15), .WORDS(1), .LD_WORDS(LD_WORDS)) u_ctl_ar (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CTL_AR*64 +: 64]),
        .valid(carvalid), .ready(carready), .payload(car), .withhold(ctl_withhold[2]), .overflow(overflow[5])
    );
    bfm_sink #(.CH(CH_CTL_B)) u_ctl_b (.clk(clk), .rst(rst), .cfg(cfg[CH_CTL_B*64 +: 64]), .full(1'b0),
                                       .ready(cbready));
    bfm_sink #(.CH(CH_CTL_R)) u_ctl_r (.clk(clk), .rst(rst), .cfg(cfg[CH_CTL_R*64 +: 64]), .full(1'b0),
                                       .ready(crready));

    // ---- Completions, credits, interrupts -------------------------------------------------------------------------
    wire         cplvalid, cplready, rsvvalid, rsvready, ansvalid, ansready, irqvalid, irqready;
    wire [575:0] cpl;
    wire [31:0]  rsv;
    wire [7:0]   ans;
    wire [15:0]  irq;
    wire [1:0]   cpl_withhold;
    bfm_source #(.CH(CH_CPL), .W(576), .WORDS(9), .LD_WORDS(LD_WORDS)) u_cpl (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CPL*64 +: 64]),
        .valid(cplvalid), .ready(cplready), .payload(cpl), .withhold(cpl_withhold[0]), .overflow(overflow[6])
    );
    bfm_source #(.CH(CH_RSV), .W(32), .WORDS(1), .LD_WORDS(LD_WORDS)) u_rsv (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_RSV*64 +: 64]),
        .valid(rsvvalid), .ready(rsvready), .payload(rsv), .withhold(cpl_withhold[1]), .overflow(overflow[7])
    );
    bfm_sink #(.CH(CH_ANS)) u_ans (.clk(clk), .rst(rst), .cfg(cfg[CH_ANS*64 +: 64]), .full(1'b0), .ready(ansready));
    bfm_sink #(.CH(CH_IRQ)) u_irq (.clk(clk), .rst(rst), .cfg(cfg[CH_IRQ*64 +: 64]), .full(1'b0), .ready(irqready));

    // ---- Host memory ----------------------------------------------------------------------------------------------
    wire [M_ID_W-1:0] mawid, mbid, mem_id;
    wire [63:0]       mawaddr, mem_addr;
    wire [7:0]        mawlen;
    wire [2:0]        mawsize, mawprot;
    wire [1:0]        mawburst, mbresp, mem_resp;
    wire              mawlock, mawvalid, mawready, mwlast, mwvalid, mwready, mbvalid, mbready;
    wire [3:0]        mawcache, mawqos;
    wire [511:0]      mwdata, mem_data;
    wire [63:0]       mwstrb, mem_strb;
    wire              mem_hit, mem_full, join_a_full, join_d_full, mem_lands, mem_withhold;
    bfm_sink #(.CH(CH_MEM_AW)) u_mem_aw (
        .clk(clk), .rst(rst), .cfg(cfg[CH_MEM_AW*64 +: 64]), .full(mem_full || join_a_full), .ready(mawready)
    );
    bfm_sink #(.CH(CH_MEM_W)) u_mem_w (
        .clk(clk), .rst(rst), .cfg(cfg[CH_MEM_W*64 +: 64]), .full(mem_full || join_d_full), .ready(mwready)
    );
    bfm_join #(.AW(M_ID_W + 64), .DW(576)) u_mem_join (
        .clk(clk), .rst(rst), .a_push(mawvalid && mawready), .a_in({mawid, mawaddr}),
        .d_push(mwvalid && mwready), .d_in({mwdata, mwstrb}),
        .hit(mem_hit), .a_out({mem_id, mem_addr}), .d_out({mem_data, mem_strb}), .a_full(join_a_full),
        .d_full(join_d_full)
    );
    bfm_faults #(.CH(CH_FAULT), .ID_W(M_ID_W), .LD_WORDS(LD_WORDS)) u_faults (
        .clk(clk), .ld_toggle(ld_toggle), .ld_data(ld_data),
        .hit(mem_hit), .id(mem_id), .addr(mem_addr), .resp(mem_resp), .lands(mem_lands), .overflow(overflow[8])
    );
    bfm_mem #(.CH(CH_MEM_CMD), .B_CH(CH_MEM_B), .ID_W(M_ID_W), .LD_WORDS(LD_WORDS)) u_mem (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data),
        .cfg(cfg[CH_MEM_CMD*64 +: 64]), .b_cfg(cfg[CH_MEM_B*64 +: 64]),
        .hit(mem_hit), .id(mem_id), .resp(mem_resp), .full(mem_full),
        .b_valid(mbvalid), .b_ready(mbready), .b_id(mbid), .b_resp(mbresp), .withhold(mem_withhold),
        .overflow(overflow[9])
    );

    // ---- Transport ------------------------------------------------------------------------------------------------
    wire         workvalid, workready, worklast, donevalid, doneready, connvalid, connready, termvalid, termready;
    wire [511:0] workdata;
    wire [15:0]  workdest;
    wire [63:0]  workuser, done;
    wire [31:0]  conn, term;
    wire [5:0]   transport_violations;
    wire [1:0]   transport_withhold;
    tb_transport #(
        .CH_WORK(CH_WORK), .CH_DONE(CH_DONE), .CH_CONN(CH_CONN), .CH_TERM(CH_TERM), .CH_LOOP(CH_LOOP),
        .CH_FAIL(CH_LOOP_FAIL), .CFGS(CFGS), .LD_WORDS(LD_WORDS)
    ) u_transport (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg),
        .work_valid(workvalid), .work_ready(workready), .work_data(workdata), .work_dest(workdest),
        .work_user(workuser), .work_last(worklast), .done_valid(donevalid), .done_ready(doneready), .done_data(done),
        .conn_valid(connvalid), .conn_ready(connready), .conn_data(conn),
        .term_valid(termvalid), .term_ready(termready), .term_data(term),
        .violations(transport_violations), .withhold(transport_withhold), .overflow(overflow[11:10])
    );

    // ---- Receive path ---------------------------------------------------------------------------------------------
    wire         rreqvalid, rreqready, scattervalid, scatterready, rdonevalid, rdoneready;
    wire [127:0] rreq;
    wire [383:0] scatterdata;
    wire [15:0]  scatterdest;
    wire [31:0]  scatteruser;
    wire [63:0]  rdone;
    wire [2:0]   receive_violations;
    wire [1:0]   receive_withhold;
    tb_receive #(
        .CH_RREQ(CH_RREQ), .CH_SCATTER(CH_SCATTER), .CH_RDONE(CH_RDONE), .CH_LOOP(CH_RLOOP), .CH_FAIL(CH_RLOOP_FAIL),
        .CFGS(CFGS), .LD_WORDS(LD_WORDS)
    ) u_receive (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg),
        .rreq_valid(rreqvalid), .rreq_ready(rreqready), .rreq_data(rreq),
        .scatter_valid(scattervalid), .scatter_ready(scatterready), .scatter_data(scatterdata),
        .scatter_dest(scatterdest), .scatter_user(scatteruser),
        .rdone_valid(rdonevalid), .rdone_ready(rdoneready), .rdone_data(rdone),
        .violations(receive_violations), .withhold(receive_withhold), .overflow(overflow[13:12])
    );

    // ---- Checks of remote accesses --------------------------------------------------------------------------------
    wire         checkvalid, checkready, verdictvalid, verdictready;
    wire [191:0] check;
    wire [31:0]  verdict;
    wire [2:0]   windows_violations;
    wire         check_withhold;
    tb_windows #(.CH_CHECK(CH_CHECK), .CH_VERDICT(CH_VERDICT), .CFGS(CFGS), .LD_WORDS(LD_WORDS)) u_windows (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg),
        .check_valid(checkvalid), .check_ready(checkready), .check_data(check),
        .verdict_valid(verdictvalid), .verdict_ready(verdictready), .verdict_data(verdict),
        .violations(windows_violations), .withhold(check_withhold), .overflow(overflow[14])
    );

    // ---- Checks ---------------------------------------------------------------------------------------------------
    // Three bits per channel: see bfm_stable; the names of the bits are in tb/env/harness/decode.py.
    wire [40:0]    violations;
    wire [9:0]     trace_valid;
    wire [2559:0]  trace_data;
    assign violations[5:0] = pages_violations;
    bfm_stable #(.W(2)) u_chk_ctl_b (
        .clk(clk), .rst(rst), .valid(cbvalid), .ready(cbready), .payload(cbresp), .violation(violations[8:6])
    );
    bfm_stable #(.W(34)) u_chk_ctl_r (
        .clk(clk), .rst(rst), .valid(crvalid), .ready(crready), .payload({crdata, crresp}), .violation(violations[11:9])
    );
    bfm_stable #(.W(8)) u_chk_ans (
        .clk(clk), .rst(rst), .valid(ansvalid), .ready(ansready), .payload(ans), .violation(violations[14:12])
    );
    bfm_stable #(.W(16)) u_chk_irq (
        .clk(clk), .rst(rst), .valid(irqvalid), .ready(irqready), .payload(irq), .violation(violations[17:15])
    );
    bfm_stable #(.W(M_ID_W + 89)) u_chk_mem_aw (
        .clk(clk), .rst(rst), .valid(mawvalid), .ready(mawready),
        .payload({mawid, mawaddr, mawlen, mawsize, mawburst, mawlock, mawcache, mawprot, mawqos}),
        .violation(violations[20:18])
    );
    bfm_stable #(.W(577)) u_chk_mem_w (
        .clk(clk), .rst(rst), .valid(mwvalid), .ready(mwready), .payload({mwdata, mwstrb, mwlast}),
        .violation(violations[23:21])
    );
    assign violations[24] = !rst && mawvalid && (mawlen != 8'd0 || mawsize != 3'd6 || mawburst != 2'b01 ||
                                                 mawaddr[5:0] != 6'd0);
    assign violations[25] = !rst && mwvalid && !mwlast;
    assign violations[31:26] = transport_violations;
    assign violations[34:32] = receive_violations;
    assign violations[37:35] = windows_violations;

    wire [13:0] readies = {awready, wready, arready, cawready, cwready, carready, cplready, rsvready, mbready,
                           doneready, connready, rreqready, rdoneready, checkready};
    wire [21:0] valids = {bvalid, rvalid, cbvalid, crvalid, ansvalid, irqvalid, mawvalid, mwvalid, workvalid, termvalid,
                          scattervalid, verdictvalid, trace_valid};

    bfm_known #(.W(15), .LANES(10), .LANE_W(256)) u_chk_known (
        .rst(rst), .signals({readies, windows}), .lane_valid(trace_valid), .lane_data(trace_data),
        .violation(violations[38])
    );
    bfm_cleared #(
        .READIES(14), .VALIDS(22), .CORES(3), .CORE({32'd2 * NUM_CQ, 32'd1 * MAX_WRITES, 32'd1 * NUM_PAGES}),
        .ENGINES(6), .ENGINE({32'd2 * NUM_MR, 32'd2 * NUM_MW, 32'd1 * NUM_QP << SQ_LOG2, 32'd1 * NUM_QP << RQ_LOG2,
                 32'd1 * NUM_QP << RX_LOG2, 32'd1 * NUM_SRQ << SRQ_LOG2})
    ) u_chk_cleared (
        .clk(clk), .rst(rst), .engine(windows), .ready(readies), .valid(valids), .violation(violations[40:39])
    );

    // ---- Waits: a bit per channel, by its number -------------------------------------------------------------------
    wire [CFGS-1:0] blocked, withheld;
    bfm_waits #(.N(CFGS)) u_waits (
        .clk(clk), .rst(rst), .toggle(rec_toggle),
        .valid({verdictvalid, checkvalid, 2'b00, rdonevalid, scattervalid, rreqvalid, 2'b00, termvalid, connvalid,
                donevalid, workvalid, 3'd0, mbvalid, mwvalid, mawvalid, irqvalid, ansvalid, crvalid, cbvalid, rvalid,
                bvalid, rsvvalid, cplvalid, carvalid, cwvalid, cawvalid, arvalid, wvalid, awvalid, 1'b0}),
        .ready({verdictready, checkready, 2'b00, rdoneready, scatterready, rreqready, 2'b00, termready, connready,
                doneready, workready, 3'd0, mbready, mwready, mawready, irqready, ansready, crready, cbready, rready,
                bready, rsvready, cplready, carready, cwready, cawready, arready, wready, awready, 1'b0}),
        .withhold({1'b0, check_withhold, 2'b00, receive_withhold[1], 1'b0, receive_withhold[0], 3'd0,
                   transport_withhold, 1'b0,
                3'd0, mem_withhold, 8'd0, cpl_withhold, ctl_withhold, pages_withhold, 1'b0}),
        .blocked(blocked), .withheld(withheld)
    );

    // ---- Recorder -------------------------------------------------------------------------------------------------
    reg  [14:0]    overflow_q;
    initial overflow_q = 15'd0;
    always @(posedge clk) overflow_q <= overflow;

    bfm_record #(.M_ID_W(M_ID_W)) u_record (
        .clk(clk), .rst(rst), .cycle(cycle), .cfg(cfg[CH_RECORD*64 +: 64]), .flush(flush),
        .trace_valid(trace_valid), .trace_data(trace_data),
        .mem_b(mbvalid && mbready), .mem_b_id(mbid), .mem_b_resp(mbresp),
        .mem_w(mem_hit), .mem_w_id(mem_id), .mem_w_addr(mem_addr), .mem_w_strb(mem_strb), .mem_w_data(mem_data),
        .mem_w_lands(mem_lands),
        .cpl(cplvalid && cplready), .cpl_data(cpl[575:64]), .cpl_dest(cpl[31:0]), .cpl_keep(cpl[33:32]),
        .cpl_user(cpl[35:34]), .db_w(db_w), .db_w_id(db_aw[39:32]), .db_w_addr(db_aw[31:0]), .db_w_len(db_aw[47:40]),
        .db_w_size(db_aw[50:48]), .db_w_strb(db_wd[63:0]), .db_w_data(db_wd[575:64]),
        .db_b(bvalid && bready), .db_b_id(bid), .db_b_resp(bresp), .db_b_user(buser),
        .db_r(rvalid && rready), .db_r_id(rid), .db_r_resp(rresp), .db_r_last(rlast), .db_r_data(rdata),
        .rsv(rsvvalid && rsvready), .rsv_data(rsv), .ans(ansvalid && ansready), .ans_data(ans),
        .irq(irqvalid && irqready), .irq_data(irq),
        .work(workvalid && workready), .work_data(workdata), .work_dest(workdest), .work_user(workuser),
        .work_last(worklast), .done(donevalid && doneready), .done_data(done), .conn(connvalid && connready),
        .conn_data(conn), .term(termvalid && termready), .term_data(term),
        .rreq(rreqvalid && rreqready), .rreq_data(rreq),
        .scatter(scattervalid && scatterready), .scatter_data(scatterdata), .scatter_dest(scatterdest),
        .scatter_user(scatteruser), .rdone(rdonevalid && rdoneready), .rdone_data(rdone),
        .check(checkvalid && checkready), .check_data(check), .verdict(verdictvalid && verdictready),
        .verdict_data(verdict), .ctl_b(cbvalid && cbready), .ctl_b_resp(cbresp), .ctl_r(crvalid && crready),
        .ctl_r_resp(crresp), .ctl_r_data(crdata), .violations(violations), .harness_fault(overflow != overflow_q),
        .blocked({30'd0, blocked}), .withheld({30'd0, withheld}), .toggle(rec_toggle)
    );

    wave_decode #(.M_ID_W(M_ID_W)) u_wave (
        .clk(clk), .rst(rst),
        .db_w(db_w), .db_addr(db_aw[31:0]), .db_data(db_wd[575:64]), .db_b(bvalid && bready), .db_user(buser),
        .ctl_aw(cawvalid && cawready), .ctl_awaddr(caw[11:0]), .ctl_w(cwvalid && cwready), .ctl_wdata(cw[31:0]),
        .ctl_ar(carvalid && carready), .ctl_araddr(car[11:0]), .ctl_r(crvalid && crready), .ctl_rdata(crdata),
        .mem_aw(mawvalid && mawready), .mem_awid(mawid), .mem_w(mem_hit), .mem_wid(mem_id),
        .mem_strb(mem_strb), .mem_data(mem_data), .mem_b(mbvalid && mbready), .mem_bid(mbid),
        .cpl(cplvalid && cplready), .cpl_data(cpl[575:64]), .cpl_dest(cpl[31:0]), .cpl_keep(cpl[33:32]),
        .rsv(rsvvalid && rsvready), .rsv_data(rsv), .ans(ansvalid && ansready), .ans_data(ans),
        .work(workvalid && workready), .work_post(workdata[127:0]), .work_dest(workdest), .work_user(workuser),
        .work_last(worklast), .rreq(rreqvalid && rreqready), .rreq_data(rreq), .scatter(scattervalid && scatterready),
        .scatter_dest(scatterdest), .scatter_user(scatteruser), .scatter_data(scatterdata),
        .rdone(rdonevalid && rdoneready), .rdone_data(rdone), .done(donevalid && doneready), .done_data(done),
        .trace_valid(trace_valid), .trace_data(trace_data)
    );

    // ---- Design ---------------------------------------------------------------------------------------------------
`ifdef FULL
    assign windows = 1'b1;
    assign {cplready, rsvready, ansvalid, ans} = 11'd0;

    cde_top #(
        .NUM_QP(NUM_QP), .SQ_LOG2(SQ_LOG2), .BURST(BURST),
        .NUM_SRQ(NUM_SRQ), .RQ_LOG2(RQ_LOG2), .SRQ_LOG2(SRQ_LOG2), .RX_LOG2(RX_LOG2), .NUM_MR(NUM_MR), .NUM_MW(NUM_MW),
`else
    assign windows = 1'b0;
    assign {checkready, verdictvalid, verdict} = 34'd0;
    assign {workvalid, workdata, workdest, workuser, worklast, doneready, connready, termvalid, term} = 629'd0;
    assign {rreqready, scattervalid, scatterdata, scatterdest, scatteruser, rdoneready} = 435'd0;
    assign trace_valid[9:3] = 7'd0;
    assign trace_data[2559:768] = 1792'd0;

    cde_cpl_top #(
`endif
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .IDX_W(IDX_W), .MAX_WRITES(MAX_WRITES),
        .M_ID_W(M_ID_W), .S_ID_W(S_ID_W), .S_ADDR_W(S_ADDR_W), .MOD_TICK(MOD_TICK), .ECC(ECC)
    ) dut (
        .clk(clk), .rst(rst),
        .s_axi_awid(aw[39:32]), .s_axi_awaddr(aw[31:0]), .s_axi_awlen(aw[47:40]), .s_axi_awsize(aw[50:48]),
        .s_axi_awburst(aw[52:51]), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
        .s_axi_wdata(w[575:64]), .s_axi_wstrb(w[63:0]), .s_axi_wlast(wlast), .s_axi_wvalid(wvalid),
        .s_axi_wready(wready), .s_axi_bid(bid), .s_axi_bresp(bresp), .s_axi_buser(buser), .s_axi_bvalid(bvalid),
        .s_axi_bready(bready), .s_axi_arid(ar[39:32]), .s_axi_araddr(ar[31:0]), .s_axi_arlen(ar[47:40]),
        .s_axi_arsize(ar[50:48]), .s_axi_arburst(ar[52:51]), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
        .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid),
        .s_axi_rready(rready),
        .s_axil_awaddr(caw[11:0]), .s_axil_awprot(caw[14:12]), .s_axil_awvalid(cawvalid), .s_axil_awready(cawready),
        .s_axil_wdata(cw[31:0]), .s_axil_wstrb(cw[35:32]), .s_axil_wvalid(cwvalid), .s_axil_wready(cwready),
        .s_axil_bresp(cbresp), .s_axil_bvalid(cbvalid), .s_axil_bready(cbready),
        .s_axil_araddr(car[11:0]), .s_axil_arprot(car[14:12]), .s_axil_arvalid(carvalid), .s_axil_arready(carready),
        .s_axil_rdata(crdata), .s_axil_rresp(crresp), .s_axil_rvalid(crvalid), .s_axil_rready(crready),
        .m_axi_awid(mawid), .m_axi_awaddr(mawaddr), .m_axi_awlen(mawlen), .m_axi_awsize(mawsize),
        .m_axi_awburst(mawburst), .m_axi_awlock(mawlock), .m_axi_awcache(mawcache), .m_axi_awprot(mawprot),
        .m_axi_awqos(mawqos), .m_axi_awvalid(mawvalid), .m_axi_awready(mawready),
        .m_axi_wdata(mwdata), .m_axi_wstrb(mwstrb), .m_axi_wlast(mwlast), .m_axi_wvalid(mwvalid),
        .m_axi_wready(mwready), .m_axi_bid(mbid), .m_axi_bresp(mbresp), .m_axi_bvalid(mbvalid), .m_axi_bready(mbready),
`ifdef FULL
        .m_axis_work_tdata(workdata), .m_axis_work_tdest(workdest), .m_axis_work_tuser(workuser),
        .m_axis_work_tlast(worklast), .m_axis_work_tvalid(workvalid), .m_axis_work_tready(workready),
        .s_axis_done_tdata(done), .s_axis_done_tvalid(donevalid), .s_axis_done_tready(doneready),
        .s_axis_conn_tdata(conn), .s_axis_conn_tvalid(connvalid), .s_axis_conn_tready(connready),
        .m_axis_term_tdata(term), .m_axis_term_tvalid(termvalid), .m_axis_term_tready(termready),
        .s_axis_rreq_tdata(rreq), .s_axis_rreq_tvalid(rreqvalid), .s_axis_rreq_tready(rreqready),
        .m_axis_scatter_tdata(scatterdata), .m_axis_scatter_tdest(scatterdest), .m_axis_scatter_tuser(scatteruser),
        .m_axis_scatter_tvalid(scattervalid), .m_axis_scatter_tready(scatterready),
        .s_axis_rdone_tdata(rdone), .s_axis_rdone_tvalid(rdonevalid), .s_axis_rdone_tready(rdoneready),
        .s_axis_check_tdata(check), .s_axis_check_tvalid(checkvalid), .s_axis_check_tready(checkready),
        .m_axis_verdict_tdata(verdict), .m_axis_verdict_tvalid(verdictvalid), .m_axis_verdict_tready(verdictready),
        .trace_valid(trace_valid), .trace_data(trace_data),
`else
        .s_axis_cpl_tdata(cpl[575:64]), .s_axis_cpl_tdest(cpl[31:0]), .s_axis_cpl_tkeep(cpl[33:32]),
        .s_axis_cpl_tuser(cpl[35:34]), .s_axis_cpl_tvalid(cplvalid), .s_axis_cpl_tready(cplready),
        .s_axis_rsv_tdata(rsv), .s_axis_rsv_tvalid(rsvvalid), .s_axis_rsv_tready(rsvready),
        .m_axis_rsv_tdata(ans), .m_axis_rsv_tvalid(ansvalid), .m_axis_rsv_tready(ansready),
        .trace_valid(trace_valid[2:0]), .trace_data(trace_data[767:0]),
`endif
        .m_axis_irq_tdata(irq), .m_axis_irq_tvalid(irqvalid), .m_axis_irq_tready(irqready)
    );
endmodule

`default_nettype wire
