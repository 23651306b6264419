// SPDX-License-Identifier: Apache-2.0
// cde_irq: interrupt vectors of event queues.
//
// Purpose: after an EQE is in memory its EQ's vector is sent. One pending bit per EQ: while the sink stalls, requests of one EQ
//          merge and none is lost (a request in the cycle of sending stays pending). Round robin between EQs. Vectors of others
//          (xirq_*) are sent as they come, one beat each, round robin with those of EQs.
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

    reg  [NUM_EQ-1:0] pending;
    reg  [NUM_EQ-1:0] cleared;             // the EQ that begins a life, one-hot; long before its first request
    reg               pick_valid;          // the EQ that is next
    reg  [NUM_EQ-1:0] pick;                // one-hot
    reg  [EQ_W-1:0]   pick_eq;
    reg  [NUM_EQ-1:0] behind;              // EQs after the one that was picked last

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
    wire load = free && pick_valid && !other;
    assign xirq_ready = free && other;
    assign xirq_sent = m_axis_irq_tvalid && m_axis_irq_tready && last_other;
    assign lookup_eq = pick_eq;

    // A pick stays pending until its beat, so requests up to then merge with it.
    wire [NUM_EQ-1:0] asking = pending & ~cleared & ~(pick & {NUM_EQ{pick_valid}});
    wire [NUM_EQ-1:0] after = asking & behind;
    wire [NUM_EQ-1:0] from_after = from_lowest(after), from_any = from_lowest(asking);
    wire [NUM_EQ-1:0] from_next = after != {NUM_EQ{1'b0}} ? from_after : from_any;
    wire [NUM_EQ-1:0] next = from_next & ~(from_next << 1);
    reg  [EQ_W-1:0]   next_eq;
    integer           j;

    always @* begin
        next_eq = {EQ_W{1'b0}};
        for (j = 0; j < NUM_EQ; j = j + 1) if (next[j]) next_eq = next_eq | j[EQ_W-1:0];
    end

    // Low from power-up, before any clock edge.
    initial m_axis_irq_tvalid = 1'b0;
    always @(posedge clk) begin
        cleared <= {{(NUM_EQ-1){1'b0}}, clear} << clear_eq;
        if (m_axis_irq_tready) m_axis_irq_tvalid <= 1'b0;
        if (!pick_valid || load) begin
            pick_valid <= asking != {NUM_EQ{1'b0}};
            pick <= next;
            pick_eq <= next_eq;
            if (asking != {NUM_EQ{1'b0}}) behind <= from_next << 1;
        end else if ((cleared & pick) != {NUM_EQ{1'b0}}) pick_valid <= 1'b0;
        if (load) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= lookup_vector;
            last_other <= 1'b0;
        end
        if (xirq_ready) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= xirq_vector;
            last_other <= 1'b1;
        end
        pending <= pending & ~cleared & ~(pick & {NUM_EQ{load}});
        // The set comes last: it wins over a clear of the same cycle.
        if (set) pending[set_eq] <= 1'b1;
        if (rst) begin
            pending <= {NUM_EQ{1'b0}};
            pick_valid <= 1'b0;
            behind <= {NUM_EQ{1'b0}};
            m_axis_irq_tvalid <= 1'b0;
            last_other <= 1'b0;
        end
    end

endmodule

`default_nettype wire
