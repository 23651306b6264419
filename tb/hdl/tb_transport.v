// SPDX-License-Identifier: Apache-2.0
//
// The transport's side of the harness: sinks of m_axis_work and m_axis_term, sources of s_axis_done and s_axis_conn,
// their handshake checks. Reports come from Python's queue and from bfm_transport; one that was offered stays.
`default_nettype none
`timescale 1ns / 1ps

module tb_transport #(
    parameter CH_WORK = 21,
    parameter CH_DONE = 22,
    parameter CH_CONN = 23,
    parameter CH_TERM = 24,
    parameter CH_LOOP = 25,
    parameter CH_FAIL = 26,
    parameter CFGS = 28,
    parameter LD_WORDS = 128
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire [31:0]            cycle,
    input  wire                   ld_toggle,
    input  wire [LD_WORDS*64-1:0] ld_data,
    input  wire [CFGS*64-1:0]     cfg,
    input  wire                   work_valid,
    output wire                   work_ready,
    input  wire [511:0]           work_data,
    input  wire [15:0]            work_dest,
    input  wire [63:0]            work_user,
    input  wire                   work_last,
    output wire                   done_valid,
    input  wire                   done_ready,
    output wire [63:0]            done_data,
    output wire                   conn_valid,
    input  wire                   conn_ready,
    output wire [31:0]            conn_data,
    input  wire                   term_valid,
    output wire                   term_ready,
    input  wire [31:0]            term_data,
    output wire [5:0]             violations, // work, term: see bfm_stable
    output wire [1:0]             withhold,   // done, conn: see bfm_waits
    output wire [1:0]             overflow
);
    wire        loop_valid, loop_full, loop_stall;
    wire [63:0] loop_data;
    wire        queue_valid;
    wire [63:0] queue_data;
    reg         chosen;   // the offer stays with its source
    reg         from_loop;
    wire        queue_holds, loop_holds;
    wire        pick = chosen ? from_loop : loop_valid;

    bfm_sink #(.CH(CH_WORK)) u_work (
        .clk(clk), .rst(rst), .cfg(cfg[CH_WORK*64 +: 64]), .full(loop_full), .ready(work_ready)
    );
    bfm_sink #(.CH(CH_TERM)) u_term (
        .clk(clk), .rst(rst), .cfg(cfg[CH_TERM*64 +: 64]), .full(1'b0), .ready(term_ready)
    );
    bfm_source #(.CH(CH_DONE), .W(64), .WORDS(1), .LD_WORDS(LD_WORDS)) u_done (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_DONE*64 +: 64]),
        .valid(queue_valid), .ready(done_ready && !pick), .payload(queue_data), .withhold(queue_holds),
        .overflow(overflow[0])
    );
    bfm_source #(.CH(CH_CONN), .W(32), .WORDS(1), .LD_WORDS(LD_WORDS)) u_conn (
        .clk(clk), .rst(rst), .cycle(cycle), .ld_toggle(ld_toggle), .ld_data(ld_data), .cfg(cfg[CH_CONN*64 +: 64]),
        .valid(conn_valid), .ready(conn_ready), .payload(conn_data), .withhold(withhold[1]),
        .overflow(overflow[1])
    );

    bfm_stall #(.CH(CH_LOOP)) u_loop_stall (.clk(clk), .rst(rst), .cfg(cfg[CH_DONE*64 +: 64]), .stall(loop_stall));
    bfm_transport u_loop (
        .clk(clk), .rst(rst), .cycle(cycle), .cfg(cfg[CH_LOOP*64 +: 64]), .fail(cfg[CH_FAIL*64 +: 64]),
        .stall(loop_stall),
        .take(work_valid && work_ready && !work_user[56]), .qp(work_dest), .tag(work_user[15:0]),
        .ctx(work_data[95:64]),
        .full(loop_full), .valid(loop_valid), .ready(done_ready && pick), .data(loop_data), .withhold(loop_holds)
    );

    assign done_valid = pick ? loop_valid : queue_valid;
    assign done_data = pick ? loop_data : queue_data;

    assign withhold[0] = queue_holds || loop_holds;

    initial chosen = 1'b0;
    always @(posedge clk) begin
        chosen <= !rst && done_valid && !done_ready;
        from_loop <= pick;
    end

    bfm_stable #(.W(593)) u_chk_work (
        .clk(clk), .rst(rst), .valid(work_valid), .ready(work_ready),
        .payload({work_data, work_dest, work_user, work_last}), .violation(violations[2:0])
    );
    bfm_stable #(.W(32)) u_chk_term (
        .clk(clk), .rst(rst), .valid(term_valid), .ready(term_ready), .payload(term_data), .violation(violations[5:3])
    );
endmodule

`default_nettype wire
