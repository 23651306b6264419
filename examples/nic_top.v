// SPDX-License-Identifier: Apache-2.0
//
// A small NIC that is not ours: its own port names, an active-low reset, and a packet engine that reports each packet
// to the completion core in the cycle after it was taken. The next one is taken when that report is: what is offered
// to the core stands until it is accepted.
`default_nettype none

module nic_top (
    input  wire         aclk,
    input  wire         aresetn,
    // Doorbells
    input  wire [7:0]   host_awid,
    input  wire [31:0]  host_awaddr,
    input  wire [7:0]   host_awlen,
    input  wire [2:0]   host_awsize,
    input  wire [1:0]   host_awburst,
    input  wire         host_awvalid,
    output wire         host_awready,
    input  wire [511:0] host_wdata,
    input  wire [63:0]  host_wstrb,
    input  wire         host_wlast,
    input  wire         host_wvalid,
    output wire         host_wready,
    output wire [7:0]   host_bid,
    output wire [1:0]   host_bresp,
    output wire [7:0]   host_buser,
    output wire         host_bvalid,
    input  wire         host_bready,
    // Registers
    input  wire [11:0]  csr_awaddr,
    input  wire [2:0]   csr_awprot,
    input  wire         csr_awvalid,
    output wire         csr_awready,
    input  wire [31:0]  csr_wdata,
    input  wire [3:0]   csr_wstrb,
    input  wire         csr_wvalid,
    output wire         csr_wready,
    output wire [1:0]   csr_bresp,
    output wire         csr_bvalid,
    input  wire         csr_bready,
    input  wire [11:0]  csr_araddr,
    input  wire [2:0]   csr_arprot,
    input  wire         csr_arvalid,
    output wire         csr_arready,
    output wire [31:0]  csr_rdata,
    output wire [1:0]   csr_rresp,
    output wire         csr_rvalid,
    input  wire         csr_rready,
    // Host memory
    output wire [3:0]   dma_awid,
    output wire [63:0]  dma_awaddr,
    output wire [7:0]   dma_awlen,
    output wire [2:0]   dma_awsize,
    output wire [1:0]   dma_awburst,
    output wire         dma_awvalid,
    input  wire         dma_awready,
    output wire [511:0] dma_wdata,
    output wire [63:0]  dma_wstrb,
    output wire         dma_wlast,
    output wire         dma_wvalid,
    input  wire         dma_wready,
    input  wire [3:0]   dma_bid,
    input  wire [1:0]   dma_bresp,
    input  wire         dma_bvalid,
    output wire         dma_bready,
    // Packets and interrupts
    input  wire         rx_valid,
    output wire         rx_ready,
    input  wire [2:0]   rx_queue,
    input  wire [31:0]  rx_bytes,
    output wire         irq
);
    reg         report;
    reg  [2:0]  queue;
    reg  [31:0] bytes;
    wire        taken;
    reg         reset;

    assign rx_ready = !reset && (!report || taken);

    always @(posedge aclk) begin
        reset <= !aresetn;
        if (reset) report <= 1'b0;
        else if (rx_ready) report <= rx_valid;
        if (rx_valid && rx_ready) begin
            queue <= rx_queue;
            bytes <= rx_bytes;
        end
    end

    cde_cpl_top #(.NUM_CQ(8), .NUM_EQ(2), .NUM_PAGES(4), .M_ID_W(4), .MAX_WRITES(16)) engine (
        .clk(aclk), .rst(reset),
        .s_axi_awid(host_awid), .s_axi_awaddr(host_awaddr), .s_axi_awlen(host_awlen), .s_axi_awsize(host_awsize),
        .s_axi_awburst(host_awburst), .s_axi_awvalid(host_awvalid), .s_axi_awready(host_awready),
        .s_axi_wdata(host_wdata), .s_axi_wstrb(host_wstrb), .s_axi_wlast(host_wlast), .s_axi_wvalid(host_wvalid),
        .s_axi_wready(host_wready), .s_axi_bid(host_bid), .s_axi_bresp(host_bresp), .s_axi_buser(host_buser),
        .s_axi_bvalid(host_bvalid), .s_axi_bready(host_bready),
        .s_axi_arid(8'd0), .s_axi_araddr(32'd0), .s_axi_arlen(8'd0), .s_axi_arsize(3'd3), .s_axi_arburst(2'd1),
        .s_axi_arvalid(1'b0), .s_axi_arready(), .s_axi_rid(), .s_axi_rdata(), .s_axi_rresp(), .s_axi_rlast(),
        .s_axi_rvalid(), .s_axi_rready(1'b1),
        .s_axil_awaddr(csr_awaddr), .s_axil_awprot(csr_awprot),
        .s_axil_awvalid(csr_awvalid), .s_axil_awready(csr_awready),
        .s_axil_wdata(csr_wdata), .s_axil_wstrb(csr_wstrb), .s_axil_wvalid(csr_wvalid), .s_axil_wready(csr_wready),
        .s_axil_bresp(csr_bresp), .s_axil_bvalid(csr_bvalid), .s_axil_bready(csr_bready),
        .s_axil_araddr(csr_araddr), .s_axil_arprot(csr_arprot),
        .s_axil_arvalid(csr_arvalid), .s_axil_arready(csr_arready),
        .s_axil_rdata(csr_rdata), .s_axil_rresp(csr_rresp), .s_axil_rvalid(csr_rvalid), .s_axil_rready(csr_rready),
        .m_axi_awid(dma_awid), .m_axi_awaddr(dma_awaddr), .m_axi_awlen(dma_awlen), .m_axi_awsize(dma_awsize),
        .m_axi_awburst(dma_awburst), .m_axi_awlock(), .m_axi_awcache(), .m_axi_awprot(), .m_axi_awqos(),
        .m_axi_awvalid(dma_awvalid), .m_axi_awready(dma_awready),
        .m_axi_wdata(dma_wdata), .m_axi_wstrb(dma_wstrb), .m_axi_wlast(dma_wlast), .m_axi_wvalid(dma_wvalid),
        .m_axi_wready(dma_wready), .m_axi_bid(dma_bid), .m_axi_bresp(dma_bresp), .m_axi_bvalid(dma_bvalid),
        .m_axi_bready(dma_bready),
        .s_axis_cpl_tdata({352'd0, bytes, 128'd0}), .s_axis_cpl_tdest({29'd0, queue}),
        .s_axis_cpl_tkeep(2'b01), .s_axis_cpl_tuser(2'b00), .s_axis_cpl_tvalid(report), .s_axis_cpl_tready(taken),
        .s_axis_rsv_tdata(32'd0), .s_axis_rsv_tvalid(1'b0), .s_axis_rsv_tready(),
        .m_axis_rsv_tdata(), .m_axis_rsv_tvalid(), .m_axis_rsv_tready(1'b1),
        .m_axis_irq_tdata(), .m_axis_irq_tvalid(irq), .m_axis_irq_tready(1'b1),
        .trace_valid(), .trace_data()
    );
endmodule

`default_nettype wire
