// SPDX-License-Identifier: Apache-2.0
// cde_arbiter: round-robin arbiter of requests of queue pairs, or of shared receive queues, whose numbers qp is then.
//
// Purpose: keeps pending requests, one bit a QP, and offers the QPs round robin (ISO-04): next is the first after the
//          QP that was offered last. A request in the very cycle in which its QP is taken stays pending: a set wins
//          over the clear, so none is lost.
// Ports:   three requests a cycle (ask*), one offer (offer_*), whether any is pending.
// Latency: request in cycle t, offered from t+2. Throughput: one offer per cycle.
`default_nettype none

module cde_arbiter #(
    parameter NUM_QP = 64,
    parameter QP_W = 6
) (
    input  wire            clk,
    input  wire            rst,

    input  wire            ask0,
    input  wire [QP_W-1:0] ask0_qp,
    input  wire            ask1,
    input  wire [QP_W-1:0] ask1_qp,
    input  wire            ask2,
    input  wire [QP_W-1:0] ask2_qp,

    output wire            pending,
    output reg             offer_valid,
    output reg  [QP_W-1:0] offer_qp,
    input  wire            offer_take
);

    // Two levels: groups of at most 8 QPs, each searched while the group is chosen; numbers are encoded per group.
    localparam GW = QP_W > 3 ? 3 : QP_W;
    localparam G = 1 << GW;
    localparam NG = NUM_QP / G;

    reg  [NUM_QP-1:0] asked;

    assign pending = offer_valid || asked != {NUM_QP{1'b0}};

    wire              load = !offer_valid || offer_take;

    // The lowest bit that is set, alone: no bit below it is. A prefix OR, of logarithmic depth.
    function automatic [G-1:0] lowest;
        input [G-1:0] bits;
        reg   [G-1:0] at_or_below;
        integer i;
        begin
            at_or_below = bits;
            for (i = 1; i < G; i = i * 2) at_or_below = at_or_below | (at_or_below << i);
            lowest = bits & ~(at_or_below << 1);
        end
    endfunction

    function automatic [NG-1:0] lowest_group;
        input [NG-1:0] bits;
        reg   [NG-1:0] at_or_below;
        integer i;
        begin
            at_or_below = bits;
            for (i = 1; i < NG; i = i * 2) at_or_below = at_or_below | (at_or_below << i);
            lowest_group = bits & ~(at_or_below << 1);
        end
    endfunction

    wire [NUM_QP-1:0] behind = {NUM_QP{1'b1}} << offer_qp << 1;
    wire [NUM_QP-1:0] after = asked & behind;
    wire [NG-1:0]     group_after, group_any;
    wire [NG-1:0]     next_after = lowest_group(group_after);
    wire [NG-1:0]     next_any = lowest_group(group_any);
    wire              wraps = group_after == {NG{1'b0}};
    wire              any = group_any != {NG{1'b0}};
    wire [NG-1:0]     group = wraps ? next_any : next_after;
    wire [NUM_QP-1:0] pick;                  // one-hot
    wire [QP_W*NG-1:0] number;               // of the pick of each group, 0 of the others
    reg  [QP_W-1:0]   pick_qp;

    genvar            k;
    generate
        for (k = 0; k < NG; k = k + 1) begin : g_group
            wire [G-1:0]    one = wraps ? lowest(asked[k*G +: G]) : lowest(after[k*G +: G]);
            reg  [QP_W-1:0] one_qp;
            integer         i;

            assign group_after[k] = |after[k*G +: G];
            assign group_any[k] = |asked[k*G +: G];
            assign pick[k*G +: G] = one & {G{group[k]}};
            assign number[k*QP_W +: QP_W] = one_qp & {QP_W{group[k]}};

            always @* begin
                one_qp = {QP_W{1'b0}};
                for (i = 0; i < G; i = i + 1) if (one[i]) one_qp = one_qp | (k[QP_W-1:0] << GW) | i[QP_W-1:0];
            end
        end
    endgenerate

    integer           j;

    always @* begin
        pick_qp = {QP_W{1'b0}};
        for (j = 0; j < NG; j = j + 1) pick_qp = pick_qp | number[j*QP_W +: QP_W];
    end

    always @(posedge clk) begin
        if (load) begin
            offer_valid <= any;
            if (any) offer_qp <= pick_qp;
            asked <= asked & ~pick;
        end
        if (ask0) asked[ask0_qp] <= 1'b1;
        if (ask1) asked[ask1_qp] <= 1'b1;
        if (ask2) asked[ask2_qp] <= 1'b1;
        if (rst) begin
            asked <= {NUM_QP{1'b0}};
            offer_valid <= 1'b0;
            offer_qp <= {QP_W{1'b0}};
        end
    end

endmodule

`default_nettype wire
