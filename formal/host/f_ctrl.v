// SPDX-License-Identifier: Apache-2.0
// f_ctrl: proof of the control port, s_axil, where it is made (cde_ctrl).
//
// Purpose: rules of AXI4-Lite for any accesses and any behaviour of the mailbox; a command starts only by a write that
//          is answered OKAY and not while another one is under way.
// Ports:   free inputs.
// Latency: none.
`default_nettype none
`include "cde_defs.vh"

module f_ctrl (
    input wire         clk,
    input wire [11:0]  awaddr,
    input wire         awvalid,
    input wire [31:0]  wdata,
    input wire [3:0]   wstrb,
    input wire         wvalid,
    input wire         bready,
    input wire [11:0]  araddr,
    input wire         arvalid,
    input wire         rready,
    input wire         done,
    input wire [7:0]   result,
    input wire [255:0] outs,
    input wire [31:0]  counter_value,
    input wire         log_valid,
    input wire [47:0]  log_entry
);

    reg started = 1'b0;
    reg init = 1'b1;
    wire rst = !started;
    always @(posedge clk) begin
        started <= 1'b1;
        if (started) init <= 1'b0;
    end

    wire         awready, wready, bvalid, arready, rvalid, start, log_pop;
    wire [1:0]   bresp, rresp, refused;
    wire [31:0]  rdata;
    wire [7:0]   command;
    wire [255:0] args;
    wire [5:0]   counter_select;
    reg          busy = 1'b0;       // the mailbox is at work

    cde_ctrl #(.NUM_CQ(2), .NUM_EQ(2), .NUM_PAGES(2), .IDX_W(4), .MAX_WRITES(2), .MOD_TICK(2)) dut (
        .clk(clk), .rst(rst), .init(init), .s_axil_awaddr(awaddr), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(wdata), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp),
        .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_araddr(araddr), .s_axil_arvalid(arvalid),
        .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid),
        .s_axil_rready(rready),
        .start(start), .command(command), .args(args), .mbox_busy(busy), .mbox_done(done && busy), .mbox_result(result),
        .mbox_outs(outs), .counter_select(counter_select), .counter_value(counter_value), .log_valid(log_valid),
        .log_entry(log_entry), .log_pop(log_pop), .refused(refused)
    );

    axil_props props_i (
        .clk(clk), .rst(rst), .awaddr(awaddr), .awvalid(awvalid), .awready(awready), .wdata(wdata), .wstrb(wstrb),
        .wvalid(wvalid),
        .wready(wready), .bresp(bresp), .bvalid(bvalid), .bready(bready), .araddr(araddr), .arvalid(arvalid),
        .arready(arready),
        .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(rready)
    );

    reg [255:0] was_args;
    reg         was_start = 1'b0;
    always @(posedge clk) begin
        if (start && !rst) busy <= 1'b1;
        else if (done) busy <= 1'b0;
        was_args <= args;
        was_start <= start && !rst;
        if (started && !rst) begin
            one_command: assert (!(start && busy));
            // What a command works on does not change under it.
            arguments_stay: assert (!(busy || was_start) || args == was_args);
        end
    end

endmodule

`default_nettype wire
