// SPDX-License-Identifier: Apache-2.0
// f_irq: proof of the interrupt stream, m_axis_irq, where it is made (cde_irq).
//
// Purpose: an offered vector stays; after each request of an EQ a beat of that EQ is offered, within as many beats as
//          there are EQs and others in turn (CQ-16, ISO-04); no beat comes without a request. Any one EQ is watched;
//          its vector is its number.
// Ports:   free inputs.
// Latency: none.
`default_nettype none

module f_irq #(
    parameter NUM_EQ = 4,
    parameter EQ_W = 2
) (
    input wire            clk,
    input wire            set,
    input wire [EQ_W-1:0] set_eq,
    input wire            clear,
    input wire [EQ_W-1:0] clear_eq,
    input wire            xirq_valid,
    input wire            tready
);

    reg started = 1'b0;
    wire rst = !started;
    always @(posedge clk) started <= 1'b1;
    (* anyconst *) reg [EQ_W-1:0] eq;

    wire [EQ_W-1:0] lookup_eq;
    wire            xirq_ready, xirq_sent, tvalid;
    wire [15:0]     tdata;

    cde_irq #(.NUM_EQ(NUM_EQ), .EQ_W(EQ_W)) dut (
        .clk(clk), .rst(rst), .clear(clear), .clear_eq(clear_eq), .set(set), .set_eq(set_eq), .lookup_eq(lookup_eq),
        .lookup_vector({{(16-EQ_W){1'b0}}, lookup_eq}), .xirq_valid(xirq_valid), .xirq_ready(xirq_ready),
        .xirq_sent(xirq_sent),
        .xirq_vector(16'hffff), .m_axis_irq_tdata(tdata), .m_axis_irq_tvalid(tvalid), .m_axis_irq_tready(tready)
    );

    axis_props #(.W(16)) out_i (.clk(clk), .rst(rst), .valid(tvalid), .ready(tready), .data(tdata));

    // An EQ is created long before its first request; what is left of its earlier life is forgotten.
    reg       cleared = 1'b0;

    wire      mine = tvalid && tdata == {{(16-EQ_W){1'b0}}, eq};
    reg       owed = 1'b0;          // a request that no beat offered since covers
    reg [3:0] beats = 0;            // beats of others that went since
    reg       mine_before = 1'b0;
    wire      fresh = mine && !(mine_before && !was_taken);
    reg       was_taken = 1'b0;
    // What is offered now was chosen two cycles before: a request of that cycle is still owed after it.
    reg [1:0] was_set = 2'b00;

    always @(posedge clk) begin
        mine_before <= mine && !rst;
        was_taken <= tvalid && tready;
        if (fresh) begin
            owed <= 1'b0;
            beats <= 0;
        end
        if (tvalid && tready && !mine && owed) beats <= beats + 1'b1;
        was_set <= {was_set[0], set && set_eq == eq && !rst};
        if (was_set[1]) begin
            owed <= 1'b1;
            if (!owed || fresh) beats <= 0;
        end
        cleared <= clear && clear_eq == eq && !rst;
        if (cleared) begin
            owed <= 1'b0;
            was_set[1] <= 1'b0;
        end
        if (!rst && started) begin
            request_before_beat: assert (!fresh || owed);
            in_turn: assert (!owed || beats <= 2 * NUM_EQ);
        end
    end

endmodule

`default_nettype wire
