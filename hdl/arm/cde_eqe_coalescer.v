// SPDX-License-Identifier: Apache-2.0
// cde_eqe_coalescer: coalesces EQEs of one EQ that wait for the write port into one 64-byte beat.
//
// Purpose: up to four EQEs a beat when they wait, neighbours in one line of their ring; one that finds the port free
//          waits for nobody. Each EQ has two lines, of which the newer one collects until it is its turn; lines take
//          turns in the order in which they began. A repetition is written alone.
// Ports:   EQEs in (eq_*, from cde_event: those of one EQ in the order of their slots), beats out (line_*).
// Latency: combinational from eq_* to line_* when nothing waits; the output register is in cde_issue. What waits is on
//          line_* two cycles after it came, at the soonest. One EQE in two cycles while some wait, else one a cycle. An
//          offer that is not taken at once is withdrawn for a cycle, until it is in its line.
`default_nettype none
`include "cde_defs.vh"
`include "cde_event_records.vh"

module cde_eqe_coalescer #(
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter LINE_W = `CDE_LINE_W
) (
    input  wire               clk,
    input  wire               rst,

    input  wire               eq_valid,
    output wire               eq_ready,
    input  wire [EQ_W-1:0]    eq_number,
    input  wire [63:4]        eq_addr,
    input  wire [127:0]       eq_data,
    input  wire               eq_void,
    input  wire [`CDE_EQE_WRITE_W-1:0] eq_record,

    output wire               line_valid,
    input  wire               line_ready,
    output wire [EQ_W-1:0]    line_number,
    output wire [63:6]        line_addr,
    output wire [511:0]       line_data,
    output wire [3:0]         line_lanes,     // which are written, if anything is
    output wire               line_void,
    output wire [LINE_W-1:0]  line_record
);

    localparam E_W = CQ_W + IDX_W + 2;              // {status, snap, CQ}
    localparam C_W = IDX_W + 58 + 5 + 2;            // {lane of the first, attempt, lap, void, phase, address, index}
    localparam RETRY = `CDE_EQE_WRITE_RETRY;

    wire [C_W-1:0]  came_with = {eq_addr[5:4], eq_record[RETRY + `CDE_RETRY_ATTEMPT +: 2],
                                 eq_record[RETRY + `CDE_RETRY_LAP], eq_void, eq_data[`CDE_EQE_PHASE_LSB],
                                 eq_addr[63:6], eq_record[RETRY + `CDE_RETRY_INDEX +: IDX_W]};
    wire [E_W-1:0]  came = {eq_data[`CDE_EQE_STATUS_LSB +: 2], eq_data[`CDE_EQE_SNAP_LSB +: IDX_W],
                            eq_record[`CDE_EQE_WRITE_CQ +: CQ_W]};
    wire            unused_rest = &{1'b0, eq_data, eq_record};

    // ---------------------------------------------------------------- lines that wait, two for each EQ
    localparam LINES = 2 * NUM_EQ;
    (* ram_style = "distributed" *)
    reg [E_W-1:0]    entry0 [0:LINES-1], entry1 [0:LINES-1], entry2 [0:LINES-1], entry3 [0:LINES-1];
    (* ram_style = "distributed" *)
    reg [C_W-1:0]    common [0:LINES-1];
    (* ram_style = "distributed" *)
    reg [1:0]        last [0:LINES-1];
    reg [LINES-1:0]  waits;
    reg [LINES-1:0]  single;                 // the line is a repetition
    reg [NUM_EQ-1:0] half;                   // of an EQ's lines the newer one

    // What does not leave at once, on its way to its line. What it finds is looked up as it comes.
    reg              s_valid;
    reg              s_half, s_may, s_free;  // half of its EQ; it may join the newer line; the older one has left
    reg  [EQ_W-1:0]  s_number;
    reg  [C_W-1:0]   s_with;
    reg  [E_W-1:0]   s;
    wire [1:0]       lane = s_with[C_W-1 -: 2];

    wire             q_valid, unused_room;
    wire [EQ_W:0]    q;                      // the line whose turn it is
    wire [EQ_W+1:0]  unused_level;
    wire             direct = !q_valid && line_ready;
    // In one lap of a ring the slot after one that is not the last of its line is in that line; a new ring begins with
    // a line. Nothing joins a line whose turn it is, or was in the cycle before: it may leave.
    wire [1:0]       attempt = eq_record[RETRY + `CDE_RETRY_ATTEMPT +: 2];
    wire             now = half[eq_number];
    wire [EQ_W:0]    newest = {eq_number, now};
    wire             may = waits[newest] && !single[newest] && eq_addr[5:4] != 2'd0 && attempt == 2'd0 && q != newest;
    wire [EQ_W:0]    newer = {s_number, s_half}, older = {s_number, !s_half};
    wire             joins = s_may && q != newer;
    wire             begins = s_valid && !joins && s_free;
    wire             stored = s_valid && (joins || s_free);
    wire [EQ_W:0]    line = joins ? newer : older;

    assign eq_ready = !s_valid;

    cde_fifo #(.W(EQ_W + 1), .DEPTH_LOG2(EQ_W + 1)) turns (
        .clk(clk), .rst(rst), .push_valid(begins), .push_ready(unused_room), .push_data(older),
        .pop_valid(q_valid), .pop_ready(line_ready), .pop_data(q), .level(unused_level)
    );

    always @(posedge clk) begin
        s_valid <= !rst && (s_valid ? !stored : eq_valid && !direct);
        if (!s_valid) {s_number, s_half, s_with, s} <= {eq_number, now, came_with, came};
        s_may <= !s_valid && may;
        s_free <= s_valid ? !waits[older] : !waits[{eq_number, !now}];
        if (stored) begin
            if (lane == 2'd0) entry0[line] <= s;
            if (lane == 2'd1) entry1[line] <= s;
            if (lane == 2'd2) entry2[line] <= s;
            if (lane == 2'd3) entry3[line] <= s;
            last[line] <= lane;
        end
        if (begins) common[older] <= s_with;
        if (q_valid && line_ready) waits[q] <= 1'b0;
        if (begins) begin
            waits[older] <= 1'b1;
            single[older] <= s_with[C_W-3 -: 2] != 2'd0;
            half[s_number] <= !s_half;
        end
        if (rst) {waits, half} <= {(LINES + NUM_EQ){1'b0}};
    end

    // ---------------------------------------------------------------- the beat
    wire [E_W-1:0]  e0 = q_valid ? entry0[q] : came, e1 = q_valid ? entry1[q] : came;
    wire [E_W-1:0]  e2 = q_valid ? entry2[q] : came, e3 = q_valid ? entry3[q] : came;
    wire [C_W-1:0]  c = q_valid ? common[q] : came_with;
    wire [1:0]      c_last = q_valid ? last[q] : eq_addr[5:4], c_first = c[C_W-1 -: 2];
    wire            phase = c[IDX_W + 58];

    function [127:0] written;
        input [E_W-1:0] e;
        input           first_pass;
        written = {first_pass, 63'd0, {(32-IDX_W){1'b0}}, e[CQ_W +: IDX_W], 6'd0, e[CQ_W + IDX_W +: 2],
                   `CDE_EQETYPE_CQ_NOTIFICATION, {(16-CQ_W){1'b0}}, e[CQ_W-1:0]};
    endfunction

    assign line_valid = q_valid || (eq_valid && !s_valid);
    assign line_number = q_valid ? q[EQ_W:1] : eq_number;
    assign line_addr = c[IDX_W +: 58];
    assign line_void = c[IDX_W + 59];
    assign line_data = {written(e3, phase), written(e2, phase), written(e1, phase), written(e0, phase)};
    assign line_lanes = (4'b1111 << c_first) & ~(4'b1110 << c_last);
    assign line_record = {c_last, c_first, c[IDX_W + 61 +: 2], c[IDX_W + 60], c[IDX_W + 59], phase, c[IDX_W +: 58],
                          c[IDX_W-1:0],
                          e3[CQ_W +: IDX_W], e2[CQ_W +: IDX_W], e1[CQ_W +: IDX_W], e0[CQ_W +: IDX_W],
                          e3[CQ_W-1:0], e2[CQ_W-1:0], e1[CQ_W-1:0], e0[CQ_W-1:0]};

`ifdef FORMAL
    // The lines, for invariants of proofs: {last lane, common, entries}.
    localparam F_W = 2 + C_W + 4 * E_W;
    wire [F_W*LINES-1:0] f_lines;
    genvar i;
    generate
        for (i = 0; i < LINES; i = i + 1) begin : f_line
            assign f_lines[F_W*i +: F_W] = {last[i], common[i], entry3[i], entry2[i], entry1[i], entry0[i]};
        end
    endgenerate
`endif

endmodule

`default_nettype wire
