// SPDX-License-Identifier: Apache-2.0
// cde_ctrl: AXI4-Lite register block (ISO-02).
//
// Purpose: identification, mailbox registers, counters, error log. Every access that is not exactly right gets SLVERR,
//          is counted and has no other effect.
// Ports:   s_axil; mailbox command and result; counter and log access.
// Latency: one access at a time; write answer three, read data four cycles after acceptance.
`default_nettype none
`include "cde_defs.vh"
`include "cde_mem.vh"

module cde_ctrl #(
    parameter NUM_CQ = 64,
    parameter NUM_EQ = 16,
    parameter NUM_PAGES = 64,
    parameter IDX_W = 16,
    parameter MAX_WRITES = 256,
    parameter MOD_TICK = 256,
    parameter [31:0] CAP3 = 32'd0,
    parameter [31:0] CAP4 = 32'd0,
    parameter [31:0] CAP5 = 32'd0,
    parameter [31:0] CAP6 = 32'd0,
    parameter MEMORIES = 1,
    parameter ECC = 1,
    parameter INJECT = 1
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         init,

    input  wire [11:0]  s_axil_awaddr,
    input  wire         s_axil_awvalid,
    output wire         s_axil_awready,
    input  wire [31:0]  s_axil_wdata,
    input  wire [3:0]   s_axil_wstrb,
    input  wire         s_axil_wvalid,
    output wire         s_axil_wready,
    output reg  [1:0]   s_axil_bresp,
    output reg          s_axil_bvalid,
    input  wire         s_axil_bready,
    input  wire [11:0]  s_axil_araddr,
    input  wire         s_axil_arvalid,
    output wire         s_axil_arready,
    output reg  [31:0]  s_axil_rdata,
    output reg  [1:0]   s_axil_rresp,
    output reg          s_axil_rvalid,
    input  wire         s_axil_rready,

    // Mailbox
    output reg          start,
    output reg  [7:0]   command,
    output wire [255:0] args,
    input  wire         mbox_busy,
    input  wire         mbox_done,
    input  wire [7:0]   mbox_result,
    input  wire [255:0] mbox_outs,

    // Counters and log
    output wire [5:0]   counter_select,
    input  wire [31:0]  counter_value,
    input  wire         log_valid,
    input  wire [47:0]  log_entry,        // LOG0 and, above it, the detail of LOG1
    output reg          log_pop,

    output reg          inject,           // error injection: fields of MEM_INJECT
    output reg  [27:0]  injection,
    output reg  [1:0]   refused           // accesses answered SLVERR in the cycle before
);

    localparam [31:0] CAP0 = (NUM_PAGES << `CDE_CAP0_NUM_PAGES_LSB) | (NUM_CQ << `CDE_CAP0_NUM_CQ_LSB);
    localparam [31:0] CAP1 = (NUM_EQ << `CDE_CAP1_NUM_EQ_LSB) | ((IDX_W - 2) << `CDE_CAP1_MAX_LOG2_LSB) |
                             (IDX_W << `CDE_CAP1_IDX_W_LSB);
    localparam [31:0] CAP2 = (MOD_TICK << `CDE_CAP2_MOD_TICK_LSB) | (MAX_WRITES << `CDE_CAP2_MAX_WRITES_LSB);
    localparam [31:0] CAP7 = (ECC != 0 ? 32'd1 << `CDE_CAP7_ECC_LSB : 32'd0) | (MEMORIES << `CDE_CAP7_MEMORIES_LSB);

    // ---------------------------------------------------------------- register slices
    wire        aw_room;
    wire        w_room;
    wire        ar_room;
    wire        aw_valid;
    wire        w_valid;
    wire        ar_valid;
    wire [11:0] aw_addr;
    wire [31:0] w_data;
    wire [3:0]  w_strb;
    wire [11:0] ar_addr;
    wire [1:0]  unused_aw_level;
    wire [1:0]  unused_w_level;
    wire [1:0]  unused_ar_level;
    reg         weighed;           // what is written was looked at in the cycle before
    wire        write = aw_valid && w_valid && weighed && !s_axil_bvalid;
    reg         looking, looked;   // a counter's value takes two cycles
    wire        read = ar_valid && looked && !s_axil_rvalid;

    assign s_axil_awready = aw_room && !init;
    assign s_axil_wready = w_room && !init;
    assign s_axil_arready = ar_room && !init;

    cde_fifo #(.W(12), .DEPTH_LOG2(1)) aw_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_axil_awvalid && !init), .push_ready(aw_room), .push_data(s_axil_awaddr),
        .pop_valid(aw_valid), .pop_ready(write), .pop_data(aw_addr), .level(unused_aw_level)
    );

    cde_fifo #(.W(36), .DEPTH_LOG2(1)) w_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_axil_wvalid && !init), .push_ready(w_room), .push_data({s_axil_wstrb, s_axil_wdata}),
        .pop_valid(w_valid), .pop_ready(write), .pop_data({w_strb, w_data}), .level(unused_w_level)
    );

    cde_fifo #(.W(12), .DEPTH_LOG2(1)) ar_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_axil_arvalid && !init), .push_ready(ar_room), .push_data(s_axil_araddr),
        .pop_valid(ar_valid), .pop_ready(read), .pop_data(ar_addr), .level(unused_ar_level)
    );

    // ---------------------------------------------------------------- writes
    reg [255:0] arg_regs;
    reg         cmd_done;
    reg         pending;       // from the CMD write to the end of the command

    wire w_arg = aw_addr[11:5] == 7'b0000_010 && aw_addr[1:0] == 2'b00;
    wire w_cmd = aw_addr == `CDE_REG_CMD;
    wire w_pop = aw_addr == `CDE_REG_LOG_POP;
    wire w_inject = aw_addr == `CDE_REG_MEM_INJECT;
    wire [7:0] w_memory = w_data[`CDE_MEM_INJECT_MEMORY_LSB +: 8];
    wire busy = pending || mbox_busy;
    // Which register a write is for, if that register takes these data; the first two do so while no command runs.
    reg  to_arg, to_cmd, to_pop, to_inject;
    wire w_ok = ((to_arg || to_cmd) && !busy) || to_pop || to_inject;

    assign args = arg_regs;

    // Low from power-up, before any clock edge.
    initial s_axil_bvalid = 1'b0;
    always @(posedge clk) begin
        weighed <= aw_valid && w_valid && !write && !rst;
        to_arg <= w_strb == 4'hf && w_arg;
        to_cmd <= w_strb == 4'hf && w_cmd && (w_data & `CDE_CMD_RESERVED) == 32'd0;
        to_pop <= w_strb == 4'hf && w_pop && w_data == 32'd1;
        to_inject <= INJECT != 0 && w_strb == 4'hf && w_inject && (w_data & `CDE_MEM_INJECT_RESERVED) == 32'd0 &&
                     (w_memory == `CDE_MEM_COUNTERS || (ECC != 0 && w_memory < CAP7[`CDE_CAP7_MEMORIES_LSB +: 8]));
        start <= write && to_cmd && !busy && !rst;
        inject <= write && to_inject && !rst;
        log_pop <= write && to_pop && !rst;
        if (write && to_inject) injection <= w_data[27:0];
        if (write && to_arg && !busy) arg_regs[{aw_addr[4:2], 5'd0} +: 32] <= w_data;
        if (mbox_done) begin
            cmd_done <= 1'b1;
            pending <= 1'b0;
        end
        if (write && to_cmd && !busy) begin
            command <= w_data[`CDE_CMD_COMMAND_LSB +: 8];
            cmd_done <= 1'b0;
            pending <= 1'b1;
        end
        if (s_axil_bready) s_axil_bvalid <= 1'b0;
        if (write) begin
            s_axil_bvalid <= 1'b1;
            s_axil_bresp <= w_ok ? 2'b00 : 2'b10;
        end
        if (rst) begin
            arg_regs <= 256'd0;
            command <= 8'd0;
            cmd_done <= 1'b0;
            pending <= 1'b0;
            s_axil_bvalid <= 1'b0;
        end
    end

    // ---------------------------------------------------------------- reads
    wire r_arg = ar_addr[11:5] == 7'b0000_010;
    wire r_out = ar_addr >= `CDE_REG_OUT0 && ar_addr <= `CDE_REG_OUT7;
    wire r_counter = (ar_addr >= `CDE_REG_CNT_CPL_PLACED && ar_addr <= `CDE_REG_CNT_DONE_REFUSED) ||
                     (ar_addr >= `CDE_REG_CNT_CAUSE0 && ar_addr <= `CDE_REG_CNT_CAUSE15) ||
                     (ar_addr >= `CDE_REG_CNT_CAUSE16 && ar_addr <= `CDE_REG_CNT_CAUSE31) ||
                     (ar_addr >= `CDE_REG_CNT_RECV_POSTS && ar_addr <= `CDE_REG_CNT_MEM_LOST);
    wire aligned = ar_addr[1:0] == 2'b00;
    wire [2:0]   out_number = ar_addr[4:2] - 3'd4;

    assign counter_select = {ar_addr[9] || ar_addr[7:6] == 2'b11, ar_addr[9] || ar_addr[7:6] == 2'b01, ar_addr[5:2]};

    // What is read was decoded in the cycle before, as long as the counter takes.
    reg        from_arg, from_out, from_counter, from_status, from_log0, from_log1, from_fixed;
    reg [31:0] fixed, kept, r_data;             // kept: an argument or an output
    wire       r_ok = from_arg || from_out || from_counter || from_status || from_log0 || from_log1 || from_fixed;

    always @(posedge clk) begin
        from_arg <= r_arg && aligned;
        from_out <= r_out && aligned;
        from_counter <= r_counter && aligned;
        from_status <= ar_addr == `CDE_REG_CMD_STATUS;
        from_log0 <= ar_addr == `CDE_REG_LOG0;
        from_log1 <= ar_addr == `CDE_REG_LOG1;
        kept <= r_arg ? arg_regs[{ar_addr[4:2], 5'd0} +: 32] : mbox_outs[{out_number, 5'd0} +: 32];
        from_fixed <= 1'b1;
        case (ar_addr)
            `CDE_REG_ID: fixed <= `CDE_ID_VALUE;
            `CDE_REG_VERSION: fixed <= `CDE_VERSION_VALUE;
            `CDE_REG_CAP0: fixed <= CAP0;
            `CDE_REG_CAP1: fixed <= CAP1;
            `CDE_REG_CAP2: fixed <= CAP2;
            `CDE_REG_CAP3: fixed <= CAP3;
            `CDE_REG_CAP4: fixed <= CAP4;
            `CDE_REG_CAP5: fixed <= CAP5;
            `CDE_REG_CAP6: fixed <= CAP6;
            `CDE_REG_CAP7: fixed <= CAP7;
            default: {from_fixed, fixed} <= 33'd0;
        endcase
    end

    always @* begin
        r_data = fixed;
        if (from_arg || from_out) r_data = kept;
        if (from_counter) r_data = counter_value;
        if (from_status) begin
            r_data = 32'd0;
            r_data[`CDE_CMD_STATUS_RESULT_LSB +: 8] = mbox_result;
            r_data[`CDE_CMD_STATUS_DONE_LSB] = cmd_done;
            r_data[`CDE_CMD_STATUS_BUSY_LSB] = busy;
        end
        if (from_log0) r_data = log_entry[31:0];
        if (from_log1) begin
            r_data = 32'd0;
            r_data[`CDE_LOG1_VALID_LSB] = 1'b1;
            r_data[`CDE_LOG1_DETAIL_LSB +: 16] = log_entry[32 + `CDE_LOG1_DETAIL_LSB +: 16];
        end
        if ((from_log0 || from_log1) && !log_valid) r_data = 32'd0;
    end

    // Low from power-up, before any clock edge.
    initial s_axil_rvalid = 1'b0;
    always @(posedge clk) begin
        looking <= ar_valid && !read && !rst;
        looked <= looking && !read && !rst;
        refused <= rst ? 2'd0 : {1'b0, write && !w_ok} + {1'b0, read && !r_ok};
        if (s_axil_rready) s_axil_rvalid <= 1'b0;
        if (read) begin
            s_axil_rvalid <= 1'b1;
            s_axil_rdata <= r_ok ? r_data : 32'd0;
            s_axil_rresp <= r_ok ? 2'b00 : 2'b10;
        end
        if (rst) s_axil_rvalid <= 1'b0;
    end


endmodule

`default_nettype wire
