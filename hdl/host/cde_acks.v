// SPDX-License-Identifier: Apache-2.0
// cde_acks: acknowledged EQEs, one CQ after another, for their steps in the arm state.
//
// Purpose: a write of up to four EQEs has one answer; each of their CQs has a step of its own. A CQ has at most one EQE
//          under way, so a queue with one word per CQ never overflows.
// Ports:   acknowledged writes (acks_*, CDE_ACKS_*, never refused), CQs out (ack_*).
// Latency: write in cycle t, its first CQ on ack_* in t+2, from a register; one CQ in two cycles, and in three while
//          a doorbell comes in each.
`default_nettype none
`include "cde_event_records.vh"

module cde_acks #(
    parameter CQ_W = 6,
    parameter ACKS_W = `CDE_ACKS_W
) (
    input  wire              clk,
    input  wire              rst,

    input  wire              acks_valid,
    input  wire [ACKS_W-1:0] acks,

    output reg               ack_valid,
    input  wire              ack_ready,
    output reg  [CQ_W-1:0]   ack_cq
);

    wire              q_valid, unused_room;
    wire [ACKS_W-1:0] q;
    wire [CQ_W:0]     unused_level;
    reg  [1:0]        lane;
    reg               begun;                // a lane of q was told before
    wire [1:0]        now = begun ? lane : q[`CDE_ACKS_FIRST +: 2];
    wire              ends = now == q[`CDE_ACKS_LAST +: 2];

    cde_fifo #(.W(ACKS_W), .DEPTH_LOG2(CQ_W)) queue (
        .clk(clk), .rst(rst), .push_valid(acks_valid), .push_ready(unused_room), .push_data(acks),
        .pop_valid(q_valid), .pop_ready(!ack_valid && ends), .pop_data(q), .level(unused_level)
    );

    // Low from power-up, before any clock edge.
    initial ack_valid = 1'b0;
    always @(posedge clk) begin
        if (ack_ready) ack_valid <= 1'b0;
        if (!ack_valid) begin
            ack_valid <= q_valid;
            ack_cq <= q[CQ_W * now +: CQ_W];
            lane <= now + 2'd1;
            begun <= q_valid && !ends;
        end
        if (rst) {ack_valid, begun} <= 2'b00;
    end

endmodule

`default_nettype wire
