// SPDX-License-Identifier: Apache-2.0
// cde_coalescer: coalesces two neighbouring entries of one CQ into one 64-byte beat.
//
// Purpose: 2 completions per cycle for neighbours. An entry in the lower half of a line is held back under
//          back-pressure, so that its neighbour can join it; without back-pressure no entry waits for a neighbour.
// Ports:   entries in (ent_*, CDE_ENTRY_*, from cde_cq), beats out (cq_*), overflow reports for the publication
//          pipeline (ovf_*).
// Latency: combinational from ent_* to cq_*; the output register is in cde_issue.
`default_nettype none
`include "cde_cq_records.vh"

module cde_coalescer #(
    parameter CQ_W = 6,
    parameter IDX_W = 16,
    parameter ENT_W = `CDE_ENTRY_W
) (
    input  wire              clk,
    input  wire              rst,

    input  wire              ent_valid,
    output wire              ent_ready,
    input  wire [ENT_W-1:0]  ent_data,

    output wire              cq_valid,
    input  wire              cq_ready,
    output wire              cq_barrier,
    output wire [CQ_W-1:0]   cq_number,
    output wire [63:6]       cq_addr,
    output wire [511:0]      cq_data,
    output wire [1:0]        cq_half,
    output wire [1:0]        cq_count,
    output wire [1:0]        cq_solicited,
    output wire [1:0]        cq_quiet,
    output wire [IDX_W-1:0]  cq_written,

    output reg               ovf_valid,
    input  wire              ovf_ready,
    output reg  [CQ_W-1:0]   ovf_cq
);

    localparam [IDX_W-1:0] ONE = {{(IDX_W-1){1'b0}}, 1'b1};

    wire             h_barrier = ent_data[`CDE_ENTRY_BARRIER];
    wire             h_overflow = ent_data[`CDE_ENTRY_OVERFLOW];
    wire [1:0]       h_placed = ent_data[`CDE_ENTRY_PLACED +: 2];
    wire [CQ_W-1:0]  h_cq = ent_data[`CDE_ENTRY_CQ +: CQ_W];
    wire [IDX_W-1:0] h_written = ent_data[`CDE_ENTRY_WRITTEN +: IDX_W];
    wire [58:0]      h_line1 = ent_data[`CDE_ENTRY_LINE1 +: 59];
    wire [58:0]      h_line0 = ent_data[`CDE_ENTRY_LINE0 +: 59];
    wire [1:0]       h_quiet = ent_data[`CDE_ENTRY_QUIET +: 2];
    wire [1:0]       h_sol = ent_data[`CDE_ENTRY_SOLICITED +: 2];
    wire [255:0]     h_entry1 = ent_data[`CDE_ENTRY_CQE1 +: 256];
    wire [255:0]     h_entry0 = ent_data[`CDE_ENTRY_CQE0 +: 256];

    wire             unused_line1 = h_line1[0];   // a second entry kept back is always a lower one

    // The entry kept back; always in the lower half of its line.
    reg              r_valid;
    reg [CQ_W-1:0]   r_cq;
    reg [IDX_W-1:0]  r_written;
    reg [58:1]       r_line;
    reg              r_sol, r_quiet;
    reg [255:0]      r_entry;

    // An overflow is handed over before anything after it, so that a barrier also means "no overflow under way".
    wire h_valid = ent_valid && !ovf_valid;
    wire h_upper = h_line0[0];
    wire two = h_placed == 2'd2;
    wire [IDX_W-1:0] h_written0 = two ? h_written - ONE : h_written;

    // What a head would do is known before there is one: h_valid comes late.
    wire joins = r_valid && !h_barrier && h_placed != 2'd0 && h_upper && h_cq == r_cq;
    wire join_r = joins && h_valid;
    wire pair = !r_valid && two && !h_upper;
    wire use_head = joins || !r_valid;
    wire head_beat = h_barrier || h_placed != 2'd0;

    assign cq_valid = r_valid || (h_valid && head_beat);
    assign cq_barrier = !r_valid && h_barrier;
    assign cq_number = r_valid ? r_cq : h_cq;
    assign cq_addr = r_valid ? r_line : h_line0[58:1];
    assign cq_data = {pair ? h_entry1 : h_entry0, r_valid ? r_entry : h_entry0};
    assign cq_half = r_valid ? {join_r, 1'b1} : pair ? 2'b11 : {h_upper, !h_upper};
    assign cq_count = join_r || pair ? 2'd2 : 2'd1;
    assign cq_solicited = r_valid ? {join_r && h_sol[0], r_sol} : {pair && h_sol[1], h_sol[0]};
    assign cq_quiet = r_valid ? {join_r && h_quiet[0], r_quiet} : {pair && h_quiet[1], h_quiet[0]};
    assign cq_written = join_r ? h_written0 : r_valid ? r_written : pair ? h_written : h_written0;

    wire sent = cq_valid && cq_ready;
    wire head_sent = h_valid && use_head && (cq_ready || !head_beat);
    // The way is blocked: keep a lower entry back instead, its neighbour may be next.
    wire lower = !r_valid && !h_barrier && h_placed == 2'd1 && !h_upper;
    wire keep = h_valid && !cq_ready && lower;

    // Both answers stand ready when cq_ready comes.
    assign ent_ready = !ovf_valid && (cq_ready ? use_head : (use_head && !head_beat) || lower);
    wire keep_second = head_sent && two && !pair && !h_barrier;

    always @(posedge clk) begin
        if (sent) r_valid <= 1'b0;
        if (keep || keep_second) r_valid <= 1'b1;
        // Nothing is lost when nothing is kept: wide registers wait for one signal. Of two it is the second that stays.
        if (!r_valid || cq_ready) begin
            r_cq <= h_cq;
            r_written <= h_written;
            r_line <= two ? h_line1[58:1] : h_line0[58:1];
            r_sol <= h_sol[two];
            r_quiet <= h_quiet[two];
            r_entry <= two ? h_entry1 : h_entry0;
        end
        if (ovf_ready) ovf_valid <= 1'b0;
        if (ent_valid && ent_ready && h_overflow) begin
            ovf_valid <= 1'b1;
            ovf_cq <= h_cq;
        end
        if (rst) begin
            r_valid <= 1'b0;
            ovf_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
