// SPDX-License-Identifier: Apache-2.0
// cde_slot: last stage of the producer side; where the entries go that were placed.
//
// Purpose: computes slot, phase, address and class of up to two neighbours, and keeps them in order until they can
//          leave. Also tells the granting side how many credits came back without an entry.
// Ports:   what the completion pipeline has decided (stage C of cde_cq); entries out (ent_*); silent completions.
// Latency: decided in cycle t, entries on ent_* in t+2.
`default_nettype none
`include "cde_defs.vh"
`include "cde_cq_records.vh"

module cde_slot #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ENT_W = `CDE_ENTRY_W,
    parameter LEVEL_W = 4
) (
    input  wire               clk,
    input  wire               rst,

    input  wire               step,          // a CQ's context has changed
    input  wire               push,          // there is something to hand on
    input  wire               barrier,
    input  wire               overflow,
    input  wire               put0,          // lane 0 was placed
    input  wire [1:0]         placed,
    input  wire [CQ_W-1:0]    cq,
    input  wire [IDX_W-1:0]   alloc,         // index of the first entry placed
    input  wire [IDX_W-1:0]   origin,
    input  wire [IDX_W-1:0]   size,
    input  wire [57:0]        base,
    input  wire [IDX_W-1:0]   alloc_next,
    input  wire [IDX_W-1:0]   used_next,
    input  wire [511:0]       data,

    output wire               silent_we,
    output wire [CQ_W-1:0]    silent_cq,
    output wire [IDX_W-1:0]   silent_total,

    output wire               ent_valid,
    input  wire               ent_ready,
    output wire [ENT_W-1:0]   ent_data,
    output wire [LEVEL_W-1:0] ent_level
);

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};

    reg              s_push, s_barrier, s_overflow, s_step, s_put0;
    reg [1:0]        s_placed;
    reg [CQ_W-1:0]   s_cq;
    reg [IDX_W-1:0]  s_pos0, s_pos1, s_size, s_alloc_next, s_used_next;
    reg [57:0]       s_base;
    reg [511:0]      s_data;

    always @(posedge clk) begin
        s_push <= push && !rst;
        s_barrier <= barrier;
        s_overflow <= overflow;
        s_step <= step && !rst;
        s_put0 <= put0;
        s_placed <= placed;
        s_cq <= cq;
        s_pos0 <= alloc - origin;
        s_pos1 <= alloc + ONE - origin;
        s_size <= size;
        s_alloc_next <= alloc_next;
        s_used_next <= used_next;
        s_base <= base;
        s_data <= data;
    end

    assign silent_we = s_step;
    assign silent_cq = s_cq;
    assign silent_total = s_used_next - s_alloc_next;

    // ---------------------------------------------------------------- slot, phase, address
    wire [IDX_W-1:0] slot0 = s_pos0 & (s_size - ONE);
    wire [IDX_W-1:0] slot1 = s_pos1 & (s_size - ONE);
    wire phase0 = (s_pos0 & s_size) == {IDX_W{1'b0}};
    wire phase1 = (s_pos1 & s_size) == {IDX_W{1'b0}};
    wire [58:0] line0 = {s_base, 1'b0} | {{(59-IDX_W){1'b0}}, slot0};
    wire [58:0] line1 = {s_base, 1'b0} | {{(59-IDX_W){1'b0}}, slot1};

    // ---------------------------------------------------------------- class
    wire unused_phase = &{1'b0, s_data[511], s_data[255]};
    wire [254:0] first = s_put0 ? s_data[254:0] : s_data[510:256];

    // {satisfies no standing arm, is of the solicited class}. Receive and ReceiveAndInvalidate differ in the top bit of
    // the type alone.
    function [1:0] class_of;
        input [7:0]  status;
        input [1:0]  flags;      // {UNSIGNALLED, SOLICITED}
        input [15:0] kind;
        begin
            class_of[0] = status != 8'h00 || (flags[0] && kind[14:0] == 15'h0001);
            class_of[1] = status == 8'h00 && flags[1] && (kind[14:0] == 15'h0001 || kind == 16'h0010);
        end
    endfunction

    wire quiet0, quiet1, sol0, sol1;
    assign {quiet0, sol0} = class_of(first[`CDE_CQE_STATUS_LSB +: 8], first[`CDE_CQE_FLAGS_LSB +: 2],
                                     first[`CDE_CQE_TYPE_LSB +: 16]);
    assign {quiet1, sol1} = class_of(s_data[256 + `CDE_CQE_STATUS_LSB +: 8], s_data[256 + `CDE_CQE_FLAGS_LSB +: 2],
                                     s_data[256 + `CDE_CQE_TYPE_LSB +: 16]);

    // ---------------------------------------------------------------- entries wait here
    wire unused_push_ready;
    wire [ENT_W-1:0] out_word;
    assign out_word[`CDE_ENTRY_CQE0 +: 256] = {phase0, first};
    assign out_word[`CDE_ENTRY_CQE1 +: 256] = {phase1, s_data[510:256]};
    assign out_word[`CDE_ENTRY_SOLICITED +: 2] = {sol1, sol0};
    assign out_word[`CDE_ENTRY_QUIET +: 2] = {quiet1, quiet0};
    assign out_word[`CDE_ENTRY_LINE0 +: 59] = line0;
    assign out_word[`CDE_ENTRY_LINE1 +: 59] = line1;
    assign out_word[`CDE_ENTRY_WRITTEN +: IDX_W] = s_alloc_next;
    assign out_word[`CDE_ENTRY_CQ +: CQ_W] = s_cq;
    assign out_word[`CDE_ENTRY_PLACED +: 2] = s_placed;
    assign out_word[`CDE_ENTRY_OVERFLOW] = s_overflow;
    assign out_word[`CDE_ENTRY_BARRIER] = s_barrier;

    cde_fifo #(.W(ENT_W), .DEPTH_LOG2(LEVEL_W - 1)) out_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_push), .push_ready(unused_push_ready), .push_data(out_word),
        .pop_valid(ent_valid), .pop_ready(ent_ready), .pop_data(ent_data), .level(ent_level)
    );

endmodule

`default_nettype wire
