// SPDX-License-Identifier: Apache-2.0
// f_event: proof that every callback becomes an event entry (CQ-16), no matter how long the sink stalls.
//
// Purpose: callbacks come from both pipelines, at most one of each CQ on its way (proven of cde_arm), repetitions of
//          failed writes included. Each leaves once, with its CQ, before more than twice as many others as there are
//          CQs; nothing else leaves. With a sink that takes a beat at least every K cycles (FAIR) each has left after K
//          * (2 * NUM_CQ + 1). Any one CQ is watched.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_event #(
    parameter NUM_CQ = 4,
    parameter CQ_W = 2,
    parameter K = 3
) (
    input wire             clk,
    input wire             ev_pub_valid,
    input wire [CQ_W-1:0]  ev_pub_cq,
    input wire             ev_pub_retry,
    input wire             ev_db_valid,
    input wire [CQ_W-1:0]  ev_db_cq,
    input wire             eqc_valid,
    input wire             eqc_early,      // held without settings
    input wire             eq_ready,
    input wire [NUM_CQ-1:0] answer          // memory's answer for this CQ's entry comes
);

    localparam IDX_W = 4, RETRY_W = 65 + 2 * IDX_W, EV_W = RETRY_W + 4 + IDX_W + CQ_W, REC_W = RETRY_W + CQ_W;

    reg started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;
    (* anyconst *) reg [CQ_W-1:0] cq;

    wire                eq_valid;
    wire [0:0]          eq_number;
    wire [63:4]         eq_addr;
    wire [127:0]        eq_data;
    wire                eq_void;
    wire [REC_W-1:0]    eq_record;
    wire [IDX_W-1:0]    eqc_index;
    wire [15:0]         vector;
    wire                unused_left;

    cde_event #(
        .NUM_EQ(2), .EQ_W(1), .CQ_W(CQ_W), .IDX_W(IDX_W), .RETRY_W(RETRY_W), .EV_W(EV_W), .REC_W(REC_W)
    ) dut (
        .clk(clk), .rst(rst), .ev_pub_valid(ev_pub_valid && !rst),
        .ev_pub_data({{RETRY_W{1'b0}}, ev_pub_retry, {IDX_W{1'b0}}, 2'd0, 1'b0, ev_pub_cq}),
        .ev_db_valid(ev_db_valid && !rst), .ev_db_data({{RETRY_W{1'b0}}, 1'b0, {IDX_W{1'b0}}, 2'd0, 1'b0, ev_db_cq}),
        .eqc_valid(eqc_valid), .eqc_hold(eqc_early || eqc_valid), .eqc_create(1'b0), .eqc_vector_we(1'b0),
        .eqc_ring_we(1'b1), .eqc_eq(1'b0), .eqc_base(58'd0),
        .eqc_log2(5'd2), .eqc_vector(16'd0), .eqc_index(eqc_index), .eqc_left(unused_left), .gone_valid(1'b0),
        .gone_eq(1'b0), .gone_lap(1'b0), .gone_more(2'd0), .irq_eq(1'b0), .irq_vector(vector), .eq_valid(eq_valid),
        .eq_ready(eq_ready), .eq_number(eq_number), .eq_addr(eq_addr), .eq_data(eq_data), .eq_void(eq_void),
        .eq_record(eq_record)
    );

    // ---------------------------- environment: one event of a CQ from its callback to its answer
    reg [NUM_CQ-1:0] inside, written;
    initial {inside, written} = 0;
    wire            sent = eq_valid && eq_ready && !rst;
    wire [CQ_W-1:0] sent_cq = eq_record[CQ_W-1:0];

    always @(posedge clk) begin
        written <= written & ~answer;
        if (sent) begin
            inside[sent_cq] <= 1'b0;
            written[sent_cq] <= 1'b1;
        end
        if (ev_pub_valid && !rst) inside[ev_pub_cq] <= 1'b1;
        if (ev_db_valid && !rst) inside[ev_db_cq] <= 1'b1;
    end

    always @* begin
        if (ev_pub_valid) assume (!inside[ev_pub_cq] && !written[ev_pub_cq]);
        if (ev_db_valid) assume (!inside[ev_db_cq] && !written[ev_db_cq] && !(ev_pub_valid && ev_pub_cq == ev_db_cq));
    end

    // ---------------------------------------------------------------- properties
    reg [CQ_W+1:0] others = 0;      // entries of others since the watched callback came
    reg            control = 1'b0;  // a step of control: in the cycle before none was given its slot
    always @(posedge clk) control <= eqc_early || eqc_valid;

    always @(posedge clk) begin
        if (ev_pub_valid && ev_pub_cq == cq || ev_db_valid && ev_db_cq == cq) others <= 0;
        else if (sent && inside[cq]) others <= others + 1'b1;
        if (!rst) begin
            new_ones_are_written: assert (!eq_valid || !eq_void || eq_record[REC_W-1 -: 2] != 2'd0);
            of_a_callback: assert (!sent || inside[sent_cq]);
            offered_when_due: assert (eq_valid || !inside[cq] || control);
`ifndef FAIR
            bounded_wait: assert (!inside[cq] || others <= 2 * NUM_CQ);
`endif
        end
    end

`ifdef FAIR
    // A sink that takes a beat at least every K cycles; the cycle after a step of control, which may have no beat,
    // counts as one in which it does not.
    reg [7:0] held = 0;             // cycles since it could take one
    reg [7:0] waited = 0;           // cycles since the watched callback came
    wire      takes = eq_ready && !control;

    always @* if (held == K - 1) assume (takes);

    always @(posedge clk) begin
        held <= takes ? 8'd0 : held + 8'd1;
        waited <= ev_pub_valid && ev_pub_cq == cq ||
            ev_db_valid && ev_db_cq == cq ? 8'd0 : inside[cq] ? waited + 8'd1 : 8'd0;
        if (!rst) begin
            answered_in_time: assert (!inside[cq] || waited < K * (2 * NUM_CQ + 1));
`ifndef PROPERTIES_ONLY
            i_beats: assert (held < K && (!inside[cq] || (others <= 2 * NUM_CQ && waited <= K * others + held)));
`endif
        end
    end
`endif

endmodule

`default_nettype wire
