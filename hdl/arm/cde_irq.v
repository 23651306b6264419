// SPDX-License-Identifier: Apache-2.0
// cde_irq: interrupt vectors of event queues.
//
// Purpose: after an EQE is in memory its EQ's vector is sent. One pending bit per EQ: while the sink stalls, requests
//          of one EQ merge and none is lost (CQ-16): a request in the cycle of sending stays pending. While it does
//          not, each has a beat. Round robin between EQs. Vectors of others (xirq_*) are sent as they come, one beat
//          each, round robin with those of EQs.
// Ports:   requests (set_*), creation of EQs (clear_*), vector lookup, vectors of others (xirq_*), m_axis_irq.
// Latency: request in cycle t, m_axis_irq valid in t+3; a vector of others taken in t is valid in t+1.
`default_nettype none

module cde_irq #(
    parameter NUM_EQ = 16,
    parameter EQ_W = 4
) (
    input  wire            clk,
    input  wire            rst,

    input  wire            clear,         // EQ is created: nothing of an earlier life is sent
    input  wire [EQ_W-1:0] clear_eq,
    input  wire            set,
    input  wire [EQ_W-1:0] set_eq,

    output wire [EQ_W-1:0] lookup_eq,
    input  wire [15:0]     lookup_vector,

    input  wire            xirq_valid,
    output wire            xirq_ready,
    output wire            xirq_sent,      // the beat of the one taken last has left
    input  wire [15:0]     xirq_vector,

    output reg  [15:0]     m_axis_irq_tdata,
    output reg             m_axis_irq_tvalid,
    input  wire            m_axis_irq_tready
);

    reg  [NUM_EQ-1:0] pending;             // requests after the pick
    reg  [NUM_EQ-1:0] cleared;             // the EQ that begins a life, one-hot; long before its first request
    reg               clears;              // cleared is not zero
    reg               holds;               // or was in the cycle before: nothing is sent until the next pick
    reg               pick_valid;
    reg  [NUM_EQ-1:0] pick;                // the EQ that is next, one-hot; chosen anew until its beat
    reg  [EQ_W-1:0]   pick_eq;             // its number
    reg  [NUM_EQ-1:0] pick_behind;         // EQs after the pick
    reg  [NUM_EQ-1:0] behind;              // EQs after the one that was sent last

    // All bits from the lowest one that is set: a prefix OR, of logarithmic depth.
    function automatic [NUM_EQ-1:0] from_lowest;
        input [NUM_EQ-1:0] bits;
        integer i;
        begin
            from_lowest = bits;
            for (i = 1; i < NUM_EQ; i = i * 2) from_lowest = from_lowest | (from_lowest << i);
        end
    endfunction

    // Round robin: the side that did not have the last beat goes first (ISO-04).
    reg  last_other;
    wire free = !m_axis_irq_tvalid || m_axis_irq_tready;
    wire other = xirq_valid && !(pick_valid && last_other);
    wire load = free && pick_valid && !holds && !other;
    assign xirq_ready = free && other;
    assign xirq_sent = m_axis_irq_tvalid && m_axis_irq_tready && last_other;
    assign lookup_eq = pick_eq;

    // The next pick, for both cases: the beat of this one is loaded, so a request of its EQ is a new one; or it is not,
    // and it asks again together with all others, so that a turn does not depend on who came first.
    wire [NUM_EQ-1:0] all = pending | pick;
    wire [NUM_EQ-1:0] rest_after = pending & pick_behind, all_after = all & behind;
    wire [NUM_EQ-1:0] rest_from = rest_after != {NUM_EQ{1'b0}} ? from_lowest(rest_after) : from_lowest(pending);
    wire [NUM_EQ-1:0] all_from = all_after != {NUM_EQ{1'b0}} ? from_lowest(all_after) : from_lowest(all);
    wire [NUM_EQ-1:0] asking = load ? pending : all;
    wire [NUM_EQ-1:0] from_next = load ? rest_from : all_from;
    wire [NUM_EQ-1:0] next = from_next & ~(from_next << 1);
    integer           j;

    always @* begin
        pick_eq = {EQ_W{1'b0}};
        for (j = 0; j < NUM_EQ; j = j + 1) if (pick[j]) pick_eq = pick_eq | j[EQ_W-1:0];
    end

    // Low from power-up, before any clock edge.
    initial m_axis_irq_tvalid = 1'b0;
    always @(posedge clk) begin
        cleared <= {{(NUM_EQ-1){1'b0}}, clear} << clear_eq;
        if (m_axis_irq_tready) m_axis_irq_tvalid <= 1'b0;
        clears <= clear;
        holds <= clear || clears;
        pick_valid <= from_next[NUM_EQ-1];
        pick <= next & ~cleared;
        pick_behind <= from_next << 1;
        if (load) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= lookup_vector;
            last_other <= 1'b0;
            behind <= pick_behind;
        end
        if (xirq_ready) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= xirq_vector;
            last_other <= 1'b1;
        end
        pending <= asking & ~next & ~cleared;
        // The set comes last: it wins over a clear of the same cycle.
        if (set) pending[set_eq] <= 1'b1;
        if (rst) begin
            pending <= {NUM_EQ{1'b0}};
            {clears, holds} <= 2'b00;
            pick_valid <= 1'b0;
            pick <= {NUM_EQ{1'b0}};
            behind <= {NUM_EQ{1'b0}};
            m_axis_irq_tvalid <= 1'b0;
            last_other <= 1'b0;
        end
    end

endmodule

`default_nettype wire
