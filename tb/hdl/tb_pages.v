// SPDX-License-Identifier: Apache-2.0
//
// The doorbell pages' side of the harness: sources and sinks of s_axi, its handshake checks, and the writes whose
// address and data were taken. Words of an item of write data: 0 strobes, 1 last beat (bit 0), the place of the only
// word (3:1), all words follow (4), 2 to 9 data.
`default_nettype none
`timescale 1ns / 1ps

module tb_pages #(
    parameter CH_AW = 1,
    parameter CH_W = 2,
    parameter CH_AR = 3,
    parameter CH_B = 9,
    parameter CH_R = 10,
    parameter CFGS = 34,
    parameter S_ID_W = 8,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [CFGS*64-1:0]     cfg,
    output wire                   awvalid,
    input  wire                   awready,
    output wire [52:0]            aw,
    output wire                   wvalid,
    input  wire                   wready,
    output wire                   wlast,
    output wire [575:0]           w, // {data, strobes}
    output wire                   arvalid,
    input  wire                   arready,
    output wire [52:0]            ar,
    input  wire                   bvalid,
    output wire                   bready,
    input  wire [S_ID_W-1:0]      bid,
    input  wire [1:0]             bresp,
    input  wire [7:0]             buser,
    input  wire                   rvalid,
    output wire                   rready,
    input  wire [S_ID_W-1:0]      rid,
    input  wire [1:0]             rresp,
    input  wire                   rlast,
    input  wire [511:0]           rdata,
    // A write, in the cycle of the later of address and last data: its address, its first beat
    output wire                   write,
    output wire [52:0]            write_aw,
    output wire [575:0]           write_w,
    output wire [5:0]             violations, // b, r: see bfm_stable
    output wire [2:0]             withhold,   // aw, w, ar: see bfm_waits
    output wire [2:0]             overflow
);
    wire [639:0] item;

    assign wlast = item[64];
    assign w = {item[68] ? item[639:128] : {448'd0, item[191:128]} << {item[67:65], 6'd0}, item[63:0]};

    bfm_source #(.CH(CH_AW), .W(53), .WORDS(1), .LD_WORDS(LD_WORDS)) u_aw (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_AW*64 +: 64]),
        .valid(awvalid), .ready(awready), .payload(aw), .withhold(withhold[0]),
        .overflow(overflow[0])
    );
    bfm_source #(.CH(CH_W), .W(640), .WORDS(10), .LD_WORDS(LD_WORDS)) u_w (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_W*64 +: 64]),
        .valid(wvalid), .ready(wready), .payload(item), .withhold(withhold[1]),
        .overflow(overflow[1])
    );
    bfm_source #(.CH(CH_AR), .W(53), .WORDS(1), .LD_WORDS(LD_WORDS)) u_ar (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_AR*64 +: 64]),
        .valid(arvalid), .ready(arready), .payload(ar), .withhold(withhold[2]),
        .overflow(overflow[2])
    );
    bfm_sink #(.CH(CH_B)) u_b (.clk(clk), .rst(rst), .cfg(cfg[CH_B*64 +: 64]), .full(1'b0), .ready(bready));
    bfm_sink #(.CH(CH_R)) u_r (.clk(clk), .rst(rst), .cfg(cfg[CH_R*64 +: 64]), .full(1'b0), .ready(rready));

    // First beat of the burst under way, and the finished write.
    reg          w_later;
    reg  [575:0] w_first;
    wire         unused_a, unused_d;

    initial w_later = 1'b0;
    always @(posedge clk) begin
        if (rst)
            w_later <= 1'b0;
        else if (wvalid && wready) begin
            w_later <= !wlast;
            if (!w_later)
                w_first <= w;
        end
    end

    bfm_join #(.AW(53), .DW(576)) u_db_join (
        .clk(clk), .rst(rst), .a_push(awvalid && awready), .a_in(aw),
        .d_push(wvalid && wready && wlast), .d_in(w_later ? w_first : w),
        .hit(write), .a_out(write_aw), .d_out(write_w), .a_full(unused_a), .d_full(unused_d)
    );

    bfm_stable #(.W(S_ID_W + 10)) u_chk_b (
        .clk(clk), .rst(rst), .valid(bvalid), .ready(bready), .payload({bid, bresp, buser}), .violation(violations[2:0])
    );
    bfm_stable #(.W(S_ID_W + 515)) u_chk_r (
        .clk(clk), .rst(rst), .valid(rvalid), .ready(rready), .payload({rid, rdata, rresp, rlast}),
        .violation(violations[5:3])
    );
endmodule

`default_nettype wire
