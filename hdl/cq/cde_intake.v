// SPDX-License-Identifier: Apache-2.0
// cde_intake: takes completions in; their data stay here until their entries leave for memory.
//
// Purpose: wide data, type and token among them (CQ-02, CQ-04), stand still in distributed RAM, a line for each beat,
//          while a few bits of each completion go through the pipeline. Lines are given in order and freed in order.
// Ports:   s_axis_cpl; what the pipeline needs of a beat (in_*, until in_pop), with its line and the classes (CQ-08,
//          SRQ-07) of both lanes; data of a line (addr, rdata); free_to: all lines ahead of it are free.
// Latency: beat accepted in cycle t, in_* and its line can be read in t+1; rdata in the cycle of addr. A line freed in
//          t counts in t+2.
`default_nettype none
`include "cde_defs.vh"

module cde_intake #(
    parameter LINE_W = 4        // log2 of the number of lines
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              init,

    input  wire [511:0]      s_axis_cpl_tdata,
    input  wire [31:0]       s_axis_cpl_tdest,
    input  wire [1:0]        s_axis_cpl_tkeep,
    input  wire [1:0]        s_axis_cpl_tuser,
    input  wire              s_axis_cpl_tvalid,
    output wire              s_axis_cpl_tready,

    output wire              in_valid,
    input  wire              in_pop,
    output wire              in_same,       // both lanes are of one CQ
    output wire [3:0]        in_class,      // of each lane: {satisfies no standing arm, is of the solicited class}
    output wire [1:0]        in_user,
    output wire [1:0]        in_keep,
    output wire [31:0]       in_dest,
    output reg  [LINE_W:0]   in_line,

    input  wire [LINE_W-1:0] addr,
    output wire [511:0]      rdata,
    input  wire              free_valid,
    input  wire [LINE_W:0]   free_to
);

    localparam [LINE_W:0] ONE = {{LINE_W{1'b0}}, 1'b1};
    localparam [LINE_W:0] MOST = {1'b0, {LINE_W{1'b1}}} - ONE;      // what comes in this cycle is not counted yet

    // ---------------------------------------------------------------- lines
    reg  [511:0]    lines [0:(1 << LINE_W) - 1];
    reg  [LINE_W:0] next, oldest;
    reg             room;
    wire [LINE_W:0] used = next - oldest;
    wire            slice_ready;
    wire            open = room && !init;

    assign s_axis_cpl_tready = slice_ready && open;
    assign rdata = lines[addr];

    // Low from power-up, before any clock edge.
    initial room = 1'b0;
    always @(posedge clk) begin
        if (room) lines[next[LINE_W-1:0]] <= s_axis_cpl_tdata;      // else the next one may be in use
        if (s_axis_cpl_tvalid && s_axis_cpl_tready) next <= next + ONE;
        if (in_pop) in_line <= in_line + ONE;
        if (free_valid) oldest <= free_to;
        room <= used <= MOST;
        if (rst) begin
            {next, in_line, oldest} <= {(3 * (LINE_W + 1)){1'b0}};
            room <= 1'b0;
        end
    end

    // ---------------------------------------------------------------- what the pipeline needs
    // Receive and ReceiveAndInvalidate differ in the top bit of the type alone.
    function [1:0] class_of;
        input [7:0]  status;
        input [1:0]  flags;      // {UNSIGNALLED, SOLICITED}
        input [15:0] kind;
        reg          receives;
        begin
            receives = {1'b0, kind[14:0]} == `CDE_CQETYPE_RECEIVE;
            class_of[0] = status != 8'h00 || (flags[0] && receives);
            class_of[1] = status == 8'h00 && flags[1] && (receives || kind == `CDE_CQETYPE_INVALIDATE);
        end
    endfunction

    wire [1:0] class0 = class_of(s_axis_cpl_tdata[`CDE_CQE_STATUS_LSB +: 8], s_axis_cpl_tdata[`CDE_CQE_FLAGS_LSB +: 2],
                                 s_axis_cpl_tdata[`CDE_CQE_TYPE_LSB +: 16]);
    wire [1:0] class1 = class_of(s_axis_cpl_tdata[256 + `CDE_CQE_STATUS_LSB +: 8],
                                 s_axis_cpl_tdata[256 + `CDE_CQE_FLAGS_LSB +: 2],
                                 s_axis_cpl_tdata[256 + `CDE_CQE_TYPE_LSB +: 16]);
    wire       same = s_axis_cpl_tdest[15:0] == s_axis_cpl_tdest[31:16];
    wire [1:0] unused_level;

    cde_fifo #(.W(41), .DEPTH_LOG2(1)) slice_fifo (
        .clk(clk), .rst(rst), .push_valid(s_axis_cpl_tvalid && open), .push_ready(slice_ready),
        .push_data({same, class1, class0, s_axis_cpl_tuser, s_axis_cpl_tkeep, s_axis_cpl_tdest}),
        .pop_valid(in_valid), .pop_ready(in_pop), .pop_data({in_same, in_class, in_user, in_keep, in_dest}),
        .level(unused_level)
    );

endmodule

`default_nettype wire
