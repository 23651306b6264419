// SPDX-License-Identifier: Apache-2.0
// cde_arbiter: round-robin arbiter of requests of queue pairs.
//
// Purpose: keeps pending requests, one bit a QP, and offers the QPs round robin (ISO-04): next is the first after the QP that was served
//          last. A request in the very cycle in which its QP is taken stays pending: a set wins over the clear, so none is lost.
// Ports:   three requests a cycle (ask*), who was served before the next offer (served*), one offer (offer_*), whether any is pending.
// Latency: request in cycle t, offered from t+2. One offer a cycle.
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

    input  wire            served,         // the newest one that was taken: the next offer comes after it
    input  wire [QP_W-1:0] served_qp,

    output wire            pending,
    output reg             offer_valid,
    output reg  [QP_W-1:0] offer_qp,
    input  wire            offer_take
);

    // Two levels: groups of at most 64 QPs.
    localparam GW = QP_W > 6 ? 6 : QP_W;
    localparam G = 1 << GW;
    localparam NG = NUM_QP / G;

    reg  [NUM_QP-1:0] asked;

    assign pending = offer_valid || asked != {NUM_QP{1'b0}};

    wire              load = !offer_valid || offer_take;

    function [GW:0] lowest;              // {any, number}
        input [G-1:0] bits;
        integer i;
        begin
            lowest = {(GW + 1){1'b0}};
            for (i = G - 1; i >= 0; i = i - 1) if (bits[i]) lowest = {1'b1, i[GW-1:0]};
        end
    endfunction

    reg  [QP_W-1:0]   latest;
    wire [QP_W-1:0]   from = served ? served_qp : latest;
    wire [GW-1:0]     last = from[GW-1:0];
    wire [G-1:0]      behind = ~(({{(G-1){1'b0}}, 1'b1} << last) | (({{(G-1){1'b0}}, 1'b1} << last) - {{(G-1){1'b0}}, 1'b1}));
    wire              any;
    wire [QP_W-1:0]   pick;

    generate
        if (NG == 1) begin : g_one
            wire [GW:0] after = lowest(asked & behind);
            wire [GW:0] first = lowest(asked);
            assign any = first[GW];
            assign pick = after[GW] ? after[GW-1:0] : first[GW-1:0];
        end else begin : g_many
            wire [QP_W-GW-1:0] group = from[QP_W-1:GW];
            wire [NG-1:0]      group_any;
            reg  [QP_W-GW-1:0] next_group;
            reg                found;
            genvar             k;
            integer            j;

            for (k = 0; k < NG; k = k + 1) begin : g_any
                assign group_any[k] = |asked[k*G +: G];
            end

            always @* begin
                next_group = {(QP_W-GW){1'b0}};
                found = 1'b0;
                for (j = NG - 1; j >= 0; j = j - 1) if (group_any[j]) next_group = j[QP_W-GW-1:0];
                for (j = NG - 1; j >= 0; j = j - 1) begin
                    if (group_any[j] && j > {{(32-QP_W+GW){1'b0}}, group}) begin
                        next_group = j[QP_W-GW-1:0];
                        found = 1'b1;
                    end
                end
            end

            wire unused_found = found;
            wire [GW:0] after = lowest(asked[group*G +: G] & behind);
            wire [GW:0] first = lowest(asked[next_group*G +: G]);
            assign any = |group_any;
            assign pick = after[GW] ? {group, after[GW-1:0]} : {next_group, first[GW-1:0]};
        end
    endgenerate

    always @(posedge clk) begin
        latest <= from;
        if (load) begin
            offer_valid <= any;
            if (any) begin
                offer_qp <= pick;
                asked[pick] <= 1'b0;
            end
        end
        if (ask0) asked[ask0_qp] <= 1'b1;
        if (ask1) asked[ask1_qp] <= 1'b1;
        if (ask2) asked[ask2_qp] <= 1'b1;
        if (rst) begin
            asked <= {NUM_QP{1'b0}};
            offer_valid <= 1'b0;
            offer_qp <= {QP_W{1'b0}};
            latest <= {QP_W{1'b0}};
        end
    end

endmodule

`default_nettype wire
