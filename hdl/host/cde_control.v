// SPDX-License-Identifier: Apache-2.0
// cde_control: control side of the engine.
//
// Purpose: groups register block (cde_ctrl), command mailbox (cde_mbox), error log (cde_errlog) and counters
//          (cde_counters); both ends of the maintenance bus of the memories.
// Ports:   s_axil; steps of commands to arm state, producer side, credits and event queues; error reports; counter
//          steps.
// Latency: see the blocks; nothing here is on a fast path.
`default_nettype none
`include "cde_arm_settings.vh"
`include "cde_defs.vh"
`include "cde_cq_records.vh"
`include "cde_mem.vh"

module cde_control #(
    parameter NUM_CQ = 64,
    parameter CQ_W = 6,
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter NUM_PAGES = 64,
    parameter PAGE_W = 6,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter MOD_TICK = 256,
    parameter [0:0] POSTS = 1'b0,
    parameter [31:0] CAP3 = 32'd0,
    parameter [31:0] CAP4 = 32'd0,
    parameter [31:0] CAP5 = 32'd0,
    parameter [31:0] CAP6 = 32'd0,
    parameter MEMORIES = 1,                  // on the bus
    parameter ECC = 1,
    parameter INJECT = 1
) (
    input  wire              clk,
    input  wire [`CDE_MEM_W-1:0] mem_i,
    output wire [`CDE_MEM_W-1:0] mem_o,
    input  wire              rst,
    input  wire              init,

    // Control
    input  wire [11:0]       s_axil_awaddr,
    input  wire              s_axil_awvalid,
    output wire              s_axil_awready,
    input  wire [31:0]       s_axil_wdata,
    input  wire [3:0]        s_axil_wstrb,
    input  wire              s_axil_wvalid,
    output wire              s_axil_wready,
    output wire [1:0]        s_axil_bresp,
    output wire              s_axil_bvalid,
    input  wire              s_axil_bready,
    input  wire [11:0]       s_axil_araddr,
    input  wire              s_axil_arvalid,
    output wire              s_axil_arready,
    output wire [31:0]       s_axil_rdata,
    output wire [1:0]        s_axil_rresp,
    output wire              s_axil_rvalid,
    input  wire              s_axil_rready,

    // Arm state
    output wire              ct_valid,
    input  wire              ct_ready,
    output wire [7:0]        ct_op,
    output wire [CQ_W-1:0]   ct_cq,
    output wire [IDX_W-1:0]  ct_index,
    input  wire              ct_res_valid,
    input  wire [95:0]       ct_res_state,
    output wire              cfg_we,
    input  wire              cfg_hold,
    output wire [CQ_W-1:0]   cfg_cq,
    output wire [`CDE_CFG_W-1:0] cfg_data,

    // Producer side
    output wire              op_valid,
    input  wire              op_ready,
    output wire [7:0]        op_code,
    output wire [CQ_W-1:0]   op_cq,
    output wire [63:6]       op_base,
    output wire [4:0]        op_log2,
    output wire              op_unreserved,
    input  wire              op_res_valid,
    input  wire [7:0]        op_res_result,
    input  wire [IDX_W-1:0]  op_res_index,
    input  wire [IDX_W-1:0]  op_res_held,
    input  wire              barrier_done,

    // Credits
    output wire              limit_we,
    output wire [CQ_W-1:0]   limit_cq,
    output wire [`CDE_LIMIT_W-1:0]  limit_data,
    output wire              clear_valid,
    input  wire              clear_ready,
    output wire [CQ_W-1:0]   clear_cq,

    // Event queues
    output wire              eqc_valid,
    output wire              eqc_hold,      // with them and before them
    output wire              eqc_create,
    output wire              eqc_vector_we,
    output wire              eqc_ring_we,
    output wire [EQ_W-1:0]   eqc_eq,
    output wire [63:6]       eqc_base,
    output wire [4:0]        eqc_log2,
    output wire [15:0]       eqc_vector,
    input  wire [IDX_W-1:0]  eqc_index,
    input  wire              eqc_left,

    // Commands run on the posting side
    output wire              qc_start,
    output wire [7:0]        qc_command,
    output wire [255:0]      qc_args,
    input  wire              qc_done,
    input  wire [7:0]        qc_result,
    input  wire [255:0]      qc_outs,
    output wire              cqi_we,
    output wire              cqi_alive,
    output wire [CQ_W-1:0]   cqi_cq,
    output wire [PAGE_W-1:0] cqi_page,
    input  wire              cqi_used,

    // Error reports, ten sources
    input  wire              removed,        // the device: only cleanup
    input  wire [9:0]        err_valid,
    input  wire [79:0]       err_cause,
    input  wire [79:0]       err_kind,
    input  wire [159:0]      err_object,
    input  wire [159:0]      err_index,

    // Counter steps, 3 bits each: the first ten counters in register order, those of posting; 2 bits each: those of
    // receiving; refused writes by cause
    input  wire [29:0]       step,
    input  wire [11:0]       late_step,
    input  wire [15:0]       recv_step,
    input  wire              cause_valid,
    input  wire [7:0]        cause
);

    // The command's outcome is that of the side that ran it.
    wire         start;
    wire         mbox_start;
    wire [7:0]   mbox_command;
    wire [255:0] mbox_args;
    // Codes below 0x20 belong to the core; the posting side knows which of the others exist.
    wire         is_qp = POSTS && mbox_command[7:5] != 3'd0;
    wire         done_here;
    wire [7:0]   result_here;
    wire [191:0] outs_here;
    wire         barred = removed && (mbox_command == `CDE_CMD_CREATE_EQ || mbox_command == `CDE_CMD_MODIFY_EQ ||
                                      mbox_command == `CDE_CMD_RESIZE_EQ || mbox_command == `CDE_CMD_CREATE_CQ ||
                                      mbox_command == `CDE_CMD_MODIFY_CQ || mbox_command == `CDE_CMD_RESIZE_CQ ||
                                      mbox_command == `CDE_CMD_CREATE_QP || mbox_command == `CDE_CMD_MODIFY_QP ||
                                      mbox_command == `CDE_CMD_CONNECT_QP || mbox_command == `CDE_CMD_CREATE_SRQ ||
                                      mbox_command == `CDE_CMD_RESIZE_SRQ ||
                                          mbox_command == `CDE_CMD_SET_SRQ_WATERMARK ||
                                      mbox_command == `CDE_CMD_REGISTER_MR || mbox_command == `CDE_CMD_ALLOC_MR ||
                                      mbox_command == `CDE_CMD_CREATE_MW || mbox_command == `CDE_CMD_REMOVE_DEVICE);
    reg          barred_done;        // the command that is running found the device removed
    reg          was_barred;
    wire         mbox_done = done_here || (POSTS && qc_done) || barred_done;
    wire [7:0]   mbox_result = was_barred ? `CDE_RES_DEVICE_REMOVED : is_qp ? qc_result : result_here;
    wire [255:0] mbox_outs = was_barred ? 256'd0 : is_qp ? qc_outs : {64'd0, outs_here};

    assign mbox_start = start && !is_qp && !barred;
    assign qc_start = start && is_qp && !barred;

    always @(posedge clk) begin
        barred_done <= start && barred && !rst;
        if (start) was_barred <= barred;
        if (rst) was_barred <= 1'b0;
    end

    assign qc_command = mbox_command;
    assign qc_args = mbox_args;

    wire         mbox_busy;
    wire [5:0]   counter_select;
    wire [31:0]  counter_value;
    wire         log_valid;
    wire [47:0]  log_entry;
    wire         log_pop;
    wire [3:0]   log_lost;
    wire [1:0]   ctrl_refused;

    // ---------------------------------------------------------------- maintenance bus of the memories
    generate
        if (MEMORIES >= `CDE_MEM_COUNTERS) begin : g_memories     // that number is not a memory's
            ERROR_MEMORIES_must_be_below_255 stop ();
        end
    endgenerate

    localparam [7:0] LAST = MEMORIES - 1;
    wire         inject;
    wire [27:0]  injection;
    wire         mem_bad = mem_i[`CDE_MEM_BAD];
    wire         mem_lost = mem_i[`CDE_MEM_LOST];
    wire [7:0]   mem_number = LAST - mem_i[`CDE_MEM_HOPS +: 8];
    wire         unused_mem = &{1'b0, mem_i[0 +: `CDE_MEM_BAD], mem_i[`CDE_MEM_CANCEL]};
    reg          go_inject;
    reg [27:0]   go_injection;

    always @(posedge clk) begin
        go_inject <= inject && !rst;
        if (inject) go_injection <= injection;
    end

    // The maintenance bus as it enters the first memory.
    wire [`CDE_MEM_W-1:0] first;

    assign first[`CDE_MEM_START] = rst;
    assign first[`CDE_MEM_CLEAR] = init;
    assign first[`CDE_MEM_BIT +: 10] = go_injection[`CDE_MEM_INJECT_FIRST_LSB +: 10];
    assign first[`CDE_MEM_BIT2 +: 10] = go_injection[`CDE_MEM_INJECT_SECOND_LSB +: 10];
    assign first[`CDE_MEM_TARGET +: 8] = go_injection[`CDE_MEM_INJECT_MEMORY_LSB +: 8];
    assign {first[`CDE_MEM_BAD], first[`CDE_MEM_LOST], first[`CDE_MEM_HOPS +: 8]} = 10'd0;
    assign {first[`CDE_MEM_CANCEL], first[`CDE_MEM_INJECT]} = {inject, go_inject};

    cde_ctrl #(
        .NUM_CQ(NUM_CQ), .NUM_EQ(NUM_EQ), .NUM_PAGES(NUM_PAGES), .IDX_W(IDX_W), .MAX_WRITES(MAX_WRITES),
        .MOD_TICK(MOD_TICK), .CAP3(CAP3), .CAP4(CAP4), .CAP5(CAP5), .CAP6(CAP6), .MEMORIES(MEMORIES), .ECC(ECC),
        .INJECT(INJECT)
    ) ctrl_i (
        .clk(clk), .rst(rst), .init(init),
        .s_axil_awaddr(s_axil_awaddr), .s_axil_awvalid(s_axil_awvalid), .s_axil_awready(s_axil_awready),
        .s_axil_wdata(s_axil_wdata), .s_axil_wstrb(s_axil_wstrb), .s_axil_wvalid(s_axil_wvalid),
        .s_axil_wready(s_axil_wready), .s_axil_bresp(s_axil_bresp), .s_axil_bvalid(s_axil_bvalid),
        .s_axil_bready(s_axil_bready), .s_axil_araddr(s_axil_araddr), .s_axil_arvalid(s_axil_arvalid),
        .s_axil_arready(s_axil_arready), .s_axil_rdata(s_axil_rdata), .s_axil_rresp(s_axil_rresp),
        .s_axil_rvalid(s_axil_rvalid), .s_axil_rready(s_axil_rready),
        .start(start), .command(mbox_command), .args(mbox_args), .mbox_busy(mbox_busy),
        .mbox_done(mbox_done), .mbox_result(mbox_result), .mbox_outs(mbox_outs),
        .counter_select(counter_select), .counter_value(counter_value),
        .log_valid(log_valid), .log_entry(log_entry), .log_pop(log_pop), .inject(inject), .injection(injection),
        .refused(ctrl_refused)
    );

    cde_mbox #(
        .NUM_CQ(NUM_CQ), .CQ_W(CQ_W), .NUM_EQ(NUM_EQ), .EQ_W(EQ_W), .NUM_PAGES(NUM_PAGES), .PAGE_W(PAGE_W),
        .IDX_W(IDX_W), .ECC(ECC)
    ) mbox_i (
        .clk(clk), .mem_i(first), .mem_o(mem_o), .rst(rst),
        .start(mbox_start), .command(mbox_command), .args(mbox_args[191:0]), .busy(mbox_busy), .done(done_here),
        .result(result_here), .outs(outs_here),
        .cqi_we(cqi_we), .cqi_alive(cqi_alive), .cqi_cq(cqi_cq), .cqi_page(cqi_page), .cqi_used(cqi_used),
        .ct_valid(ct_valid), .ct_ready(ct_ready), .ct_op(ct_op), .ct_cq(ct_cq), .ct_index(ct_index),
        .ct_res_valid(ct_res_valid), .ct_res_state(ct_res_state),
        .cfg_we(cfg_we), .cfg_hold(cfg_hold), .cfg_cq(cfg_cq), .cfg_data(cfg_data),
        .op_valid(op_valid), .op_ready(op_ready), .op_code(op_code), .op_cq(op_cq), .op_base(op_base),
        .op_log2(op_log2), .op_unreserved(op_unreserved), .op_res_valid(op_res_valid),
        .op_res_result(op_res_result), .op_res_index(op_res_index), .op_res_held(op_res_held),
        .barrier_done(barrier_done),
        .limit_we(limit_we), .limit_cq(limit_cq), .limit_data(limit_data),
        .clear_valid(clear_valid), .clear_ready(clear_ready), .clear_cq(clear_cq),
        .eqc_valid(eqc_valid), .eqc_hold(eqc_hold), .eqc_create(eqc_create), .eqc_vector_we(eqc_vector_we),
        .eqc_ring_we(eqc_ring_we),
        .eqc_eq(eqc_eq), .eqc_base(eqc_base), .eqc_log2(eqc_log2), .eqc_vector(eqc_vector), .eqc_index(eqc_index),
        .eqc_left(eqc_left)
    );

    cde_errlog errlog_i (
        .clk(clk), .rst(rst),
        .err_valid({mem_bad, err_valid}),
        .err_cause({mem_lost ? `CDE_CAUSE_MEM_LOST : `CDE_CAUSE_MEM_CORRECTED, err_cause}),
        .err_kind({`CDE_KIND_MEMORY, err_kind}), .err_object({8'd0, mem_number, err_object}),
        .err_index({16'd0, err_index}),
        .entry_valid(log_valid), .entry(log_entry), .pop(log_pop), .lost(log_lost)
    );

    cde_counters counters_i (
        .clk(clk), .rst(rst),
        .step({late_step, 1'b0, ctrl_refused, step}), .lost(log_lost),
        .recv_step({1'b0, mem_bad && mem_lost, 1'b0, mem_bad && !mem_lost, recv_step}),
        .cause_valid(cause_valid), .cause(cause),
        .flip(inject && injection[`CDE_MEM_INJECT_MEMORY_LSB +: 8] == `CDE_MEM_COUNTERS),
        .flip_counter(injection[`CDE_MEM_INJECT_FIRST_LSB +: 10]),
        .flip_bit(injection[`CDE_MEM_INJECT_SECOND_LSB +: 10]),
        .select(counter_select), .value(counter_value)
    );

endmodule

`default_nettype wire
