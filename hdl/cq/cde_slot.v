// SPDX-License-Identifier: Apache-2.0
// cde_slot: last stage of the producer side; where the entries go that were placed.
//
// Purpose: computes slot, phase and address of up to two neighbours, and keeps them in order until they can leave.
//          Their data wait in cde_intake, which learns when they are not needed any more. Also tells the granting side
//          how many credits came back without an entry.
// Ports:   what the completion pipeline has decided (stage C of cde_cq); entries out (ent_*); data of the entry on
//          ent_* (line_*), lines to free (free_*); silent completions.
// Latency: decided in cycle t, entries on ent_* in t+2.
`default_nettype none
`include "cde_defs.vh"
`include "cde_cq_records.vh"

module cde_slot #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ENT_W = `CDE_ENTRY_W,
    parameter LEVEL_W = 4,
    parameter LINE_W = 4         // log2 of the number of lines of data
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
    input  wire [3:0]         kind,          // of both lanes: {satisfies no standing arm, is of the solicited class}
    input  wire [LINE_W:0]    line,          // where the data are
    input  wire               last,          // nothing after needs them

    output wire [LINE_W-1:0]  line_addr,
    input  wire [511:0]       line_data,
    output wire               free_valid,    // lines ahead of free_to are free
    output wire [LINE_W:0]    free_to,

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
    reg [3:0]        s_kind;
    reg [LINE_W:0]   s_line;                 // also if there is nothing to hand on
    reg              s_last;

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
        s_kind <= kind;
        {s_line, s_last} <= {line, last};
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

    // ---------------------------------------------------------------- entries wait here
    localparam WAIT_W = ENT_W - 512, FIFO_W = WAIT_W + 3 + LINE_W + 2;
    wire              unused_push_ready;
    wire [ENT_W-1:0]  word;
    wire [FIFO_W-1:0] out_word;
    wire              lane1, out_last;       // the first entry is that of lane 1
    wire [1:0]        phase;
    wire [LINE_W:0]   out_line;
    wire              unused_phase = &{1'b0, line_data[511], line_data[255], word[511:0]};

    assign word[511:0] = 512'd0;
    assign word[`CDE_ENTRY_SOLICITED +: 2] = {s_kind[2], s_put0 ? s_kind[0] : s_kind[2]};
    assign word[`CDE_ENTRY_QUIET +: 2] = {s_kind[3], s_put0 ? s_kind[1] : s_kind[3]};
    assign word[`CDE_ENTRY_LINE0 +: 59] = line0;
    assign word[`CDE_ENTRY_LINE1 +: 59] = line1;
    assign word[`CDE_ENTRY_WRITTEN +: IDX_W] = s_alloc_next;
    assign word[`CDE_ENTRY_CQ +: CQ_W] = s_cq;
    assign word[`CDE_ENTRY_PLACED +: 2] = s_placed;
    assign word[`CDE_ENTRY_OVERFLOW] = s_overflow;
    assign word[`CDE_ENTRY_BARRIER] = s_barrier;

    cde_fifo #(.W(FIFO_W), .DEPTH_LOG2(LEVEL_W - 1)) out_fifo (
        .clk(clk), .rst(rst),
        .push_valid(s_push), .push_ready(unused_push_ready),
        .push_data({s_last, s_line, !s_put0, phase1, phase0, word[ENT_W-1:512]}),
        .pop_valid(ent_valid), .pop_ready(ent_ready), .pop_data(out_word), .level(ent_level)
    );

    assign {out_last, out_line, lane1, phase} = out_word[FIFO_W-1:WAIT_W];
    assign line_addr = out_line[LINE_W-1:0];
    assign ent_data[ENT_W-1:512] = out_word[WAIT_W-1:0];
    assign ent_data[`CDE_ENTRY_CQE0 +: 256] = {phase[0], lane1 ? line_data[510:256] : line_data[254:0]};
    assign ent_data[`CDE_ENTRY_CQE1 +: 256] = {phase[1], line_data[510:256]};

    // What left nothing waiting is over when nothing waits in front of it.
    wire empty = ent_level == {LEVEL_W{1'b0}} && !s_push;
    assign free_valid = (ent_valid && ent_ready) || empty;
    assign free_to = empty ? s_line + {{LINE_W{1'b0}}, s_last} : out_line + {{LINE_W{1'b0}}, out_last};

endmodule

`default_nettype wire
