// SPDX-License-Identifier: Apache-2.0
// cde_eqs: what the control mailbox knows of event queues.
//
// Purpose: keeps of each EQ whether it exists, its size, page and vector, and how many CQs are attached to it.
// Ports:   eq as a command names it, page to compare with; what is known of that EQ; changes (pulses) of that EQ with
//          the new size and vector.
// Latency: ok, same_page, entries, attached belong to the eq of the cycle before; log2, vector, eq_page to that of this
//          cycle. create, attach and detach count in attached a cycle later.
`default_nettype none

module cde_eqs #(
    parameter NUM_EQ = 16,
    parameter EQ_W = 4,
    parameter PAGE_W = 6,
    parameter CQ_W = 6
) (
    input  wire              clk,
    input  wire              rst,

    input  wire [15:0]       eq,
    input  wire [15:0]       page,
    output reg               ok,            // exists
    output reg               same_page,
    output reg  [31:0]       entries,
    output reg  [15:0]       attached,      // CQs
    output wire [4:0]        log2,
    output wire [15:0]       vector,
    output wire [PAGE_W-1:0] eq_page,

    input  wire              create,        // on page, with new_log2 and new_vector
    input  wire              resize,        // new_log2
    input  wire              modify,        // new_vector
    input  wire              destroy,
    input  wire              attach,
    input  wire              detach,
    input  wire [4:0]        new_log2,
    input  wire [15:0]       new_vector
);

    reg [NUM_EQ-1:0] exists;
    reg [4:0]        log2_of [0:NUM_EQ-1];
    reg [PAGE_W-1:0] page_of [0:NUM_EQ-1];
    reg [15:0]       vector_of [0:NUM_EQ-1];
    reg [CQ_W:0]     attached_of [0:NUM_EQ-1];
    reg              none, more, less;      // created, a CQ attached, detached, in the cycle before
    reg [EQ_W-1:0]   moved;                 // the EQ of that

    wire [EQ_W-1:0] at = eq[EQ_W-1:0];

    assign log2 = log2_of[at];
    assign vector = vector_of[at];
    assign eq_page = page_of[at];

    always @(posedge clk) begin
        ok <= {16'd0, eq} < NUM_EQ && exists[at];
        same_page <= {{(16-PAGE_W){1'b0}}, page_of[at]} == page;
        entries <= 32'd1 << log2_of[at];
        attached <= {{(15-CQ_W){1'b0}}, attached_of[at]};

        if (create || resize) log2_of[at] <= new_log2;
        if (create || modify) vector_of[at] <= new_vector;
        if (create) begin
            exists[at] <= 1'b1;
            page_of[at] <= page[PAGE_W-1:0];
        end
        if (destroy) exists[at] <= 1'b0;
        {none, more, less, moved} <= {create, attach, detach, at};
        if (none || more || less) begin
            attached_of[moved] <= none ? {(CQ_W + 1){1'b0}} : attached[CQ_W:0] + {{CQ_W{less}}, 1'b1};
        end
        if (rst) begin
            exists <= {NUM_EQ{1'b0}};
            {none, more, less} <= 3'b000;
        end
    end

endmodule

`default_nettype wire
