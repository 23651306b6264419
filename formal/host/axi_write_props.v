// SPDX-License-Identifier: Apache-2.0
// axi_write_props: rules of the write channels of one AXI4 port, or of an AXI4-Lite port (ID_W 1, IDs tied, length 0).
//
// Purpose: address, data and response stay until they are taken; bursts stay within 4 KiB and have as many beats as
//          they announce; a response comes after its address and its last data beat, never without them; responses of
//          one ID come in the order of their addresses, which is shown by counting for any one ID. With MASTER the
//          design offers addresses and data: those rules are asserted, those of responses assumed; without it is the
//          other way round. With IN_ORDER responses of all IDs come in the order of the addresses.
// Ports:   the port's signals as seen on it; number of writes whose address was accepted and that are not answered.
// Latency: none.
`default_nettype none

module axi_write_props #(
    parameter ID_W = 1,
    parameter ADDR_W = 32,
    parameter DATA_W = 32,
    parameter [0:0] MASTER = 1'b1,
    parameter [0:0] IN_ORDER = 1'b0,
    parameter MAX = 4,              // writes that can be outstanding
    parameter CNT_W = 4             // 2^CNT_W is greater than MAX
) (
    input  wire                clk,
    input  wire                rst,
    input  wire [ID_W-1:0]     awid,
    input  wire [ADDR_W-1:0]   awaddr,
    input  wire [7:0]          awlen,
    input  wire [2:0]          awsize,
    input  wire                awvalid,
    input  wire                awready,
    input  wire [DATA_W-1:0]   wdata,
    input  wire [DATA_W/8-1:0] wstrb,
    input  wire                wlast,
    input  wire                wvalid,
    input  wire                wready,
    input  wire [ID_W-1:0]     bid,
    input  wire [1:0]          bresp,
    input  wire                bvalid,
    input  wire                bready,
    output wire [CNT_W-1:0]    outstanding
);

    axis_props #(.W(ID_W + ADDR_W + 11), .MASTER(MASTER)) aw_i (
        .clk(clk), .rst(rst), .valid(awvalid), .ready(awready), .data({awid, awaddr, awlen, awsize})
    );
    axis_props #(.W(DATA_W + DATA_W / 8 + 1), .MASTER(MASTER)) w_i (
        .clk(clk), .rst(rst), .valid(wvalid), .ready(wready), .data({wdata, wstrb, wlast})
    );
    axis_props #(.W(ID_W + 2), .MASTER(!MASTER)) b_i (
        .clk(clk), .rst(rst), .valid(bvalid), .ready(bready), .data({bid, bresp})
    );

    wire aw = awvalid && awready && !rst;
    wire wl = wvalid && wready && wlast && !rst;
    wire b = bvalid && bready && !rst;
    (* anyconst *) reg [ID_W-1:0] watched_id;

    reg [CNT_W-1:0] aws, wls, of_id;    // addresses, data bursts, writes of the watched ID that are not answered
    initial {aws, wls, of_id} = 0;
    assign outstanding = aws;

    always @(posedge clk) begin
        aws <= aws + aw - b;
        wls <= wls + wl - b;
        of_id <= of_id + (aw && awid == watched_id) - (b && bid == watched_id);
        if (rst) {aws, wls, of_id} <= 0;
    end

    // One write of any moment is watched: after how many others is it to be answered?
    (* anyseq *) reg watch;
    reg              watching = 1'b0;
    reg [CNT_W-1:0]  ahead;
    reg [ID_W-1:0]   its_id;

    always @(posedge clk) begin
        if (b && watching) begin
            ahead <= ahead - 1'b1;
            if (ahead == 0) watching <= 1'b0;
        end
        if (aw && watch && !watching) begin
            watching <= 1'b1;
            ahead <= aws - b;
            its_id <= awid;
        end
        if (rst) watching <= 1'b0;
    end

    // for inductions
    wire [CNT_W-1:0]      f_wls = wls;
    wire [CNT_W+ID_W:0]   f_watch = {watching, ahead, its_id};

    wire [13:0] first = {2'b00, awaddr[11:0]};
    wire [15:0] bytes = ({8'd0, awlen} + 16'd1) << awsize;
    wire        within_4k = {4'd0, awaddr[11:0]} + bytes <= 16'd4096;

    generate
        if (MASTER) begin : master
            always @(posedge clk) if (!rst) begin
                if (awvalid) stays_in_4k: assert (within_4k);
                outstanding_bounded: assert (aws <= MAX);
                // Single beats: each data beat is the last of its burst.
                if (awvalid) single_beat: assert (awlen == 8'd0);
                if (wvalid) last_beat: assert (wlast);
                if (bvalid) assume (aws != 0 && wls != 0);
            end
        end else begin : slave
            always @(posedge clk) if (!rst) begin
                if (bvalid) response_of_a_write: assert (aws != 0 && wls != 0);
                // In order it follows: each response has the ID of its address.
                if (!IN_ORDER && bvalid && bid == watched_id) response_of_its_id: assert (of_id != 0);
                outstanding_bounded: assert (aws <= MAX && wls <= MAX);
                if (IN_ORDER && watching && bvalid && ahead == 0) responses_in_order: assert (bid == its_id);
                if (awvalid) assume (within_4k);
            end
        end
    endgenerate

endmodule

`default_nettype wire
