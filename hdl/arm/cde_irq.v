// SPDX-License-Identifier: Apache-2.0
// cde_irq: interrupt vectors of event queues.
//
// Purpose: after an EQE is in memory its EQ's vector is sent. One pending bit per EQ: while the sink stalls, requests of one EQ
//          merge and none is lost (a request in the cycle of sending stays pending). Round robin between EQs. Vectors of others
//          (xirq_*) are sent as they come, one beat each, round robin with those of EQs.
// Ports:   requests (set_*), creation of EQs (clear_*), vector lookup, vectors of others (xirq_*), m_axis_irq.
// Latency: request in cycle t, m_axis_irq valid in t+2; a vector of others taken in t is valid in t+1.
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

    reg [NUM_EQ-1:0] pending;
    reg [EQ_W-1:0]   last;

    reg [EQ_W-1:0]   pick_behind;
    reg [EQ_W-1:0]   pick_any;
    reg              found_behind;
    integer          i;

    always @* begin
        pick_behind = {EQ_W{1'b0}};
        pick_any = {EQ_W{1'b0}};
        found_behind = 1'b0;
        for (i = NUM_EQ - 1; i >= 0; i = i - 1) begin
            if (pending[i]) begin
                pick_any = i[EQ_W-1:0];
                if (i[EQ_W-1:0] > last) begin
                    pick_behind = i[EQ_W-1:0];
                    found_behind = 1'b1;
                end
            end
        end
    end

    // Round robin: the side that did not have the last beat goes first (ISO-04).
    reg  last_other;
    wire free = !m_axis_irq_tvalid || m_axis_irq_tready;
    wire wanted = pending != {NUM_EQ{1'b0}};
    wire other = xirq_valid && !(wanted && last_other);
    wire load = free && wanted && !other;
    assign xirq_ready = free && other;
    assign xirq_sent = m_axis_irq_tvalid && m_axis_irq_tready && last_other;
    assign lookup_eq = found_behind ? pick_behind : pick_any;

    // Low from power-up, before any clock edge.
    initial m_axis_irq_tvalid = 1'b0;
    always @(posedge clk) begin
        if (m_axis_irq_tready) m_axis_irq_tvalid <= 1'b0;
        if (load) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= lookup_vector;
            last <= lookup_eq;
            pending[lookup_eq] <= 1'b0;
            last_other <= 1'b0;
        end
        if (xirq_ready) begin
            m_axis_irq_tvalid <= 1'b1;
            m_axis_irq_tdata <= xirq_vector;
            last_other <= 1'b1;
        end
        if (clear) pending[clear_eq] <= 1'b0;
        // The set comes last: it wins over a clear of the same cycle.
        if (set) pending[set_eq] <= 1'b1;
        if (rst) begin
            pending <= {NUM_EQ{1'b0}};
            m_axis_irq_tvalid <= 1'b0;
            last <= {EQ_W{1'b0}};
            last_other <= 1'b0;
        end
    end

endmodule

`default_nettype wire
