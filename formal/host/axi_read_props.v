// SPDX-License-Identifier: Apache-2.0
// axi_read_props: rules of the read channels of an AXI4 port on which the design is the slave.
//
// Purpose: what is offered stays until it is taken; each read gets as many beats as it asked for, the last one marked;
//          reads are answered in the order of their addresses, with their IDs. Any one read is watched.
// Ports:   the port's signals as seen on it.
// Latency: none.
`default_nettype none

module axi_read_props #(
    parameter ID_W = 1,
    parameter ADDR_W = 32,
    parameter DATA_W = 32,
    parameter MAX = 3,
    parameter CNT_W = 3
) (
    input wire              clk,
    input wire              rst,
    input wire [ID_W-1:0]   arid,
    input wire [ADDR_W-1:0] araddr,
    input wire [7:0]        arlen,
    input wire [2:0]        arsize,
    input wire              arvalid,
    input wire              arready,
    input wire [ID_W-1:0]   rid,
    input wire [DATA_W-1:0] rdata,
    input wire [1:0]        rresp,
    input wire              rlast,
    input wire              rvalid,
    input wire              rready
);

    axis_props #(.W(ID_W + ADDR_W + 11), .MASTER(1'b0)) ar_i (
        .clk(clk), .rst(rst), .valid(arvalid), .ready(arready), .data({arid, araddr, arlen, arsize})
    );
    axis_props #(.W(ID_W + DATA_W + 3), .MASTER(1'b1)) r_i (
        .clk(clk), .rst(rst), .valid(rvalid), .ready(rready), .data({rid, rdata, rresp, rlast})
    );

    wire ar = arvalid && arready && !rst;
    wire r = rvalid && rready && !rst;
    (* anyseq *) reg watch;
    reg [CNT_W-1:0] reads = 0;
    reg             watching = 1'b0;
    reg [CNT_W-1:0] ahead;
    reg [ID_W-1:0]  its_id;
    reg [7:0]       its_beats;      // beats left after the next one

    always @(posedge clk) begin
        reads <= rst ? 0 : reads + ar - (r && rlast);
        if (watching && r && rlast) begin
            ahead <= ahead - 1'b1;
            if (ahead == 0) watching <= 1'b0;
        end
        if (watching && r && ahead == 0) its_beats <= its_beats - 8'd1;
        if (ar && watch && !watching) begin
            watching <= 1'b1;
            ahead <= reads - (r && rlast);
            its_id <= arid;
            its_beats <= arlen;
        end
        if (rst) watching <= 1'b0;
        if (!rst) begin
            if (rvalid) answer_of_a_read: assert (reads != 0);
            reads_bounded: assert (reads <= MAX);
            if (watching && rvalid && ahead == 0) begin
                its_own_id: assert (rid == its_id);
                as_many_beats_as_asked: assert (rlast == (its_beats == 8'd0));
            end
        end
    end

endmodule

`default_nettype wire
