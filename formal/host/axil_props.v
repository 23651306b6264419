// SPDX-License-Identifier: Apache-2.0
// axil_props: rules of an AXI4-Lite port on which the design is the slave.
//
// Purpose: what is offered stays until it is taken; each response answers one access that was accepted before, and no
//          more accesses than MAX wait for one in each direction.
// Ports:   the port's signals as seen on it.
// Latency: none.
`default_nettype none

module axil_props #(
    parameter ADDR_W = 12,
    parameter MAX = 3,
    parameter CNT_W = 3
) (
    input wire              clk,
    input wire              rst,
    input wire [ADDR_W-1:0] awaddr,
    input wire              awvalid,
    input wire              awready,
    input wire [31:0]       wdata,
    input wire [3:0]        wstrb,
    input wire              wvalid,
    input wire              wready,
    input wire [1:0]        bresp,
    input wire              bvalid,
    input wire              bready,
    input wire [ADDR_W-1:0] araddr,
    input wire              arvalid,
    input wire              arready,
    input wire [31:0]       rdata,
    input wire [1:0]        rresp,
    input wire              rvalid,
    input wire              rready
);

    wire [CNT_W-1:0] unused_outstanding;

    axi_write_props #(.ID_W(1), .ADDR_W(ADDR_W), .DATA_W(32), .MASTER(1'b0), .MAX(MAX), .CNT_W(CNT_W)) write_i (
        .clk(clk), .rst(rst), .awid(1'b0), .awaddr(awaddr), .awlen(8'd0), .awsize(3'd0), .awvalid(awvalid),
        .awready(awready),
        .wdata(wdata), .wstrb(wstrb), .wlast(1'b1), .wvalid(wvalid), .wready(wready), .bid(1'b0), .bresp(bresp),
        .bvalid(bvalid), .bready(bready), .outstanding(unused_outstanding)
    );
    axis_props #(.W(ADDR_W), .MASTER(1'b0)) ar_i (.clk(clk), .rst(rst), .valid(arvalid), .ready(arready),
                                                  .data(araddr));
    axis_props #(.W(34), .MASTER(1'b1)) r_i (.clk(clk), .rst(rst), .valid(rvalid), .ready(rready),
                                             .data({rresp, rdata}));

    reg [CNT_W-1:0] reads;
    initial reads = 0;

    always @(posedge clk) begin
        reads <= rst ? 0 : reads + (arvalid && arready) - (rvalid && rready);
        if (!rst) begin
            if (rvalid) answer_of_a_read: assert (reads != 0);
            reads_bounded: assert (reads <= MAX);
            // Two codes are enough: OKAY and SLVERR.
            response_codes: assert ((!bvalid || bresp == 2'b00 || bresp == 2'b10) &&
                (!rvalid || rresp == 2'b00 || rresp == 2'b10));
        end
    end

endmodule

`default_nettype wire
