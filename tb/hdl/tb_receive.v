// SPDX-License-Identifier: Apache-2.0
//
// The receive path of the harness: source of s_axis_rreq, sink of m_axis_scatter, source of s_axis_rdone, their
// handshake checks. Reports come from Python's queue and from bfm_transport, which reports every buffer that was taken
// while it is switched on; one that was offered stays.
`default_nettype none
`timescale 1ns / 1ps

module tb_receive #(
    parameter CH_RREQ = 27,
    parameter CH_SCATTER = 28,
    parameter CH_RDONE = 29,
    parameter CH_LOOP = 30,
    parameter CH_FAIL = 31,
    parameter CFGS = 34,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [CFGS*64-1:0]     cfg,
    output wire                   rreq_valid,
    input  wire                   rreq_ready,
    output wire [127:0]           rreq_data,
    input  wire                   scatter_valid,
    output wire                   scatter_ready,
    input  wire [383:0]           scatter_data,
    input  wire [15:0]            scatter_dest,
    input  wire [31:0]            scatter_user,
    output wire                   rdone_valid,
    input  wire                   rdone_ready,
    output wire [63:0]            rdone_data,
    output wire [2:0]             violations, // scatter: see bfm_stable
    output wire [1:0]             withhold,   // rreq, rdone: see bfm_waits
    output wire [1:0]             overflow
);
    localparam [3:0] SCATTER = 4'd0, LENGTH_ERROR = 4'd2, BAD_TOKEN = 4'd4;

    wire        taken = scatter_user[3:0] == SCATTER || scatter_user[3:0] == LENGTH_ERROR ||
        scatter_user[3:0] == BAD_TOKEN;
    wire        loop_valid, loop_full, loop_stall;
    wire [63:0] loop_data;
    wire        queue_valid;
    wire [63:0] queue_data;
    reg         chosen;   // the offer stays with its source
    reg         from_loop;
    wire        queue_holds, loop_holds;
    wire        pick = chosen ? from_loop : loop_valid;

    bfm_source #(.CH(CH_RREQ), .W(128), .WORDS(2), .LD_WORDS(LD_WORDS)) u_rreq (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_RREQ*64 +: 64]),
        .valid(rreq_valid), .ready(rreq_ready), .payload(rreq_data), .withhold(withhold[0]),
        .overflow(overflow[0])
    );
    bfm_sink #(.CH(CH_SCATTER)) u_scatter (
        .clk(clk), .rst(rst), .cfg(cfg[CH_SCATTER*64 +: 64]), .full(loop_full), .ready(scatter_ready)
    );
    bfm_source #(.CH(CH_RDONE), .W(64), .WORDS(1), .LD_WORDS(LD_WORDS)) u_rdone (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_RDONE*64 +: 64]),
        .valid(queue_valid), .ready(rdone_ready && !pick), .payload(queue_data), .withhold(queue_holds),
        .overflow(overflow[1])
    );

    bfm_stall #(.CH(CH_LOOP)) u_loop_stall (.clk(clk), .rst(rst), .cfg(cfg[CH_RDONE*64 +: 64]), .stall(loop_stall));
    bfm_transport u_loop (
        .clk(clk), .rst(rst), .cycle(cycle), .cfg(cfg[CH_LOOP*64 +: 64]), .fail(cfg[CH_FAIL*64 +: 64]),
        .stall(loop_stall),
        .take(scatter_valid && scatter_ready && taken), .qp(scatter_dest), .tag(scatter_user[31:16]),
        .ctx(scatter_data[31:0]),
        .full(loop_full), .valid(loop_valid), .ready(rdone_ready && pick), .data(loop_data), .withhold(loop_holds)
    );

    assign rdone_valid = pick ? loop_valid : queue_valid;
    assign rdone_data = pick ? loop_data : queue_data;

    assign withhold[1] = queue_holds || loop_holds;

    initial chosen = 1'b0;
    always @(posedge clk) begin
        chosen <= !rst && rdone_valid && !rdone_ready;
        from_loop <= pick;
    end

    bfm_stable #(.W(432)) u_chk_scatter (
        .clk(clk), .rst(rst), .valid(scatter_valid), .ready(scatter_ready),
        .payload({scatter_data, scatter_dest, scatter_user}), .violation(violations)
    );
endmodule

`default_nettype wire
