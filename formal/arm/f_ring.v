// SPDX-License-Identifier: Apache-2.0
// f_ring: proof that a resize of an event queue is over when nothing of the ring before is under way, and then at once
// (CQ-16, CQ-18).
//
// Purpose: entries of every CQ, in any of the EQs, from their first write to the acknowledgement or the last failure,
//          written again in between as often as memory likes, with resizes at any time. Any that were written and have
//          one EQ and one lap may be over with one answer. Assumed is what the mailbox does: no resize before the one
//          in front is over, its queue named two cycles ahead; and of the answers that each belongs to entries that
//          were written, with the lap of their records.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_ring #(
    parameter CQ_W = 1,
    parameter NUM_CQ = 2
) (
    input wire         clk,
    input wire         call_valid,
    input wire [CQ_W-1:0] call_cq,
    input wire         call_eq,
    input wire         again_valid,      // a failed entry is handed over again
    input wire [CQ_W-1:0] again_cq,
    input wire [71:0]  again,            // the rest of its record
    input wire         eq_ready,
    input wire         resize,
    input wire             early,         // events are held without settings
    input wire         resize_eq,
    input wire [1:0]   resize_log2,
    input wire [NUM_CQ-1:0] fails,       // memory answers: to be written again, or over
    input wire [NUM_CQ-1:0] over
);

    localparam IDX_W = 4, RETRY_W = 65 + 2 * IDX_W, EV_W = RETRY_W + 4 + IDX_W + CQ_W, REC_W = RETRY_W + CQ_W;

    reg  started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;

    // ---------------------------------------------------------------- the entries, by CQ
    reg  [NUM_CQ-1:0] called, out, written, failed, old, eq_of, lap_of;
    reg  [NUM_CQ-1:0] passed;            // its slot is in the ring before, and it was not written yet
    initial {called, out, written, failed, passed} = 0;

    wire                eq_valid, eqc_left, unused_void;
    wire [0:0]          eq_number;
    wire [63:4]         unused_addr;
    wire [127:0]        unused_data;
    wire [REC_W-1:0]    eq_record;
    wire [IDX_W-1:0]    unused_index;
    wire [15:0]         unused_vector;
    wire                gone = over != 0 && !rst;
    wire                change = resize && !rst;

    // EQ and lap of what is over, and how many entries that is
    reg                 gone_eq, gone_lap, alike;
    reg [1:0]           gone_more;
    integer             k;
    always @* begin
        {gone_eq, gone_lap} = 2'b00;
        for (k = 0; k < NUM_CQ; k = k + 1) if (over[k]) {gone_eq, gone_lap} = {eq_of[k], lap_of[k]};
        gone_more = 2'd3;
        alike = 1'b1;
        for (k = 0; k < NUM_CQ; k = k + 1) if (over[k]) begin
            gone_more = gone_more + 2'd1;
            if ({eq_of[k], lap_of[k]} != {gone_eq, gone_lap}) alike = 1'b0;
        end
    end

    cde_event #(
        .NUM_EQ(2), .EQ_W(1), .CQ_W(CQ_W), .IDX_W(IDX_W), .RETRY_W(RETRY_W), .EV_W(EV_W), .REC_W(REC_W)
    ) dut (
        .clk(clk), .rst(rst), .ev_pub_valid(again_valid && !rst),
        .ev_pub_data({again[71:70], lap_of[again_cq], again[69:0], 1'b1, {IDX_W{1'b0}}, 2'd0, eq_of[again_cq],
                      again_cq}),
        .ev_db_valid(call_valid && !rst), .ev_db_data({{RETRY_W{1'b0}}, 1'b0, {IDX_W{1'b0}}, 2'd0, call_eq, call_cq}),
        .eqc_valid(change), .eqc_hold(change || early), .eqc_create(1'b0), .eqc_vector_we(1'b0), .eqc_ring_we(1'b1),
        .eqc_eq(resize_eq),
        .eqc_base(58'd0),
        .eqc_log2({3'd0, resize_log2}), .eqc_vector(16'd0), .eqc_index(unused_index), .eqc_left(eqc_left),
        .gone_valid(gone), .gone_eq(gone_eq), .gone_lap(gone_lap), .gone_more(gone_more), .irq_eq(1'b0),
        .irq_vector(unused_vector), .eq_valid(eq_valid),
        .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(unused_addr), .eq_data(unused_data), .eq_void(unused_void),
        .eq_record(eq_record)
    );

    wire sent = eq_valid && eq_ready && !rst;
    wire [CQ_W-1:0] sent_cq = eq_record[CQ_W-1:0];

    reg [1:0] eqs;                       // named two cycles ahead
    always @(posedge clk) eqs <= {eqs[0], resize_eq};

    always @* begin
        if (call_valid) assume (!called[call_cq] && !out[call_cq]);
        if (again_valid) assume (failed[again_cq]);
        assume (((fails | over) & ~written) == 0 && (fails & over) == 0 && alike);
        if (resize) assume (eqc_left && eqs == {2{resize_eq}});
    end

    integer c;
    always @(posedge clk) if (!rst) begin
        if (call_valid) begin
            called[call_cq] <= 1'b1;
            eq_of[call_cq] <= call_eq;
        end
        if (again_valid) failed[again_cq] <= 1'b0;
        if (sent) begin
            called[sent_cq] <= 1'b0;
            out[sent_cq] <= 1'b1;
            written[sent_cq] <= 1'b1;
            passed[sent_cq] <= 1'b0;
            if (called[sent_cq]) begin
                old[sent_cq] <= passed[sent_cq] || (change && eq_number == resize_eq);
                lap_of[sent_cq] <= eq_record[REC_W-3];
            end
        end
        for (c = 0; c < NUM_CQ; c = c + 1) begin
            if (fails[c] || over[c]) written[c] <= 1'b0;
            if (fails[c]) failed[c] <= 1'b1;
            if (over[c]) out[c] <= 1'b0;
            if (change && out[c] && eq_of[c] == resize_eq) old[c] <= 1'b1;
        end
        if (change && eq_valid && !sent && called[sent_cq] && eq_number == resize_eq) passed[sent_cq] <= 1'b1;
    end

    // ---------------------------------------------------------------- properties
    always @(posedge clk) if (!rst) begin
        nothing_left_behind: assert (!eqc_left || (out & old | passed) == 0);
        over_at_once: assert (eqc_left || (out & old | passed) != 0);
        lap_is_kept: assert (!sent || called[sent_cq] || eq_record[REC_W-3] == lap_of[sent_cq]);
    end

endmodule

`default_nettype wire
