// SPDX-License-Identifier: Apache-2.0
// cde_pick: round-robin choice of one of many.
//
// Purpose: the first that asks after the one that was taken last (ISO-04). Who was taken asks no more, so none comes
//          twice in a row while another one asks. What each group of at most 8 holds is known before it is chosen: its
//          members, and whether there are any, come from registers.
// Ports:   next who asks in the next cycle unless it is taken now, all who ask now among them; taken (what is chosen
//          now is taken); latest the number of the one that was taken last; any, one (one-hot), number of the choice.
// Latency: next in cycle t, chosen in t + 1.
`default_nettype none

module cde_pick #(
    parameter N = 64,
    parameter W = 6
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [N-1:0] next,
    input  wire         taken,
    input  wire [W-1:0] latest,
    output wire         any,
    output wire [N-1:0] one,
    output wire [W-1:0] number
);

    // Two levels: groups of at most 8, each searched while the group is chosen; numbers are encoded per group.
    localparam GW = W > 3 ? 3 : W;
    localparam G = 1 << GW;
    localparam NG = N / G;

    // All bits above the lowest one that is set. A prefix OR, of logarithmic depth.
    function automatic [G-1:0] above(input [G-1:0] bits);
        reg   [G-1:0] at_or_above;
        integer i;
        begin
            at_or_above = bits;
            for (i = 1; i < G; i = i * 2) at_or_above = at_or_above | (at_or_above << i);
            above = at_or_above << 1;
        end
    endfunction

    function automatic [NG-1:0] above_group(input [NG-1:0] bits);
        reg   [NG-1:0] at_or_above;
        integer i;
        begin
            at_or_above = bits;
            for (i = 1; i < NG; i = i * 2) at_or_above = at_or_above | (at_or_above << i);
            above_group = at_or_above << 1;
        end
    endfunction

    reg  [N-1:0]    asks;
    reg  [N-1:0]    after;                   // of those, after the latest
    wire [N-1:0]    later = {N{1'b1}} << latest << 1;
    reg  [NG-1:0]   group_any, group_after;
    // The choice among those after the latest, and among all if there is none, stand ready.
    wire            wraps = group_after == {NG{1'b0}};
    wire [NG-1:0]   later_a = above_group(group_after), later_b = above_group(group_any);
    wire [NG-1:0]   group_a = group_after & ~later_a, group_b = group_any & ~later_b;
    wire [W*NG-1:0] numbers_a, numbers_b;    // of the choice of each group, 0 of the others
    // The places after what is chosen now, which are those after the latest when it is taken: known late.
    wire [N-1:0]    rest;

    assign any = group_any != {NG{1'b0}};

    genvar          k;
    generate
        for (k = 0; k < NG; k = k + 1) begin : g_group
            wire [G-1:0]  above_a = above(after[k*G +: G]), above_b = above(asks[k*G +: G]);
            wire [G-1:0]  first_a = after[k*G +: G] & ~above_a, first_b = asks[k*G +: G] & ~above_b;
            wire [G-1:0]  in = next[k*G +: G], in_rest = in & rest[k*G +: G], in_later = in & later[k*G +: G];
            wire          gives_a = taken && group_a[k], gives_b = taken && group_b[k] && wraps;
            reg  [W-1:0]  number_a, number_b;
            integer       i;

            assign rest[k*G +: G] = !wraps ? {G{later_a[k]}} | (above_a & {G{group_a[k]}}) :
                                    any ? {G{later_b[k]}} | (above_b & {G{group_b[k]}}) : later[k*G +: G];
            assign one[k*G +: G] = (first_a & {G{group_a[k]}}) | (first_b & {G{group_b[k] && wraps}});
            assign numbers_a[k*W +: W] = number_a & {W{group_a[k]}};
            assign numbers_b[k*W +: W] = number_b & {W{group_b[k]}};

            always @* begin
                {number_a, number_b} = {2 * W{1'b0}};
                for (i = 0; i < G; i = i + 1) begin
                    if (first_a[i]) number_a = number_a | (k[W-1:0] << GW) | i[W-1:0];
                    if (first_b[i]) number_b = number_b | (k[W-1:0] << GW) | i[W-1:0];
                end
            end

            // Whether anyone of the group is left
            always @(posedge clk) begin
                group_any[k] <= gives_a ? (in & ~first_a) != {G{1'b0}} : gives_b ? (in & ~first_b) != {G{1'b0}} :
                                in != {G{1'b0}};
                group_after[k] <= taken ? in_rest != {G{1'b0}} : in_later != {G{1'b0}};
                if (rst) {group_any[k], group_after[k]} <= 2'b00;
            end
        end
    endgenerate

    reg  [W-1:0]    all_a, all_b;
    integer         j;

    always @* begin
        {all_a, all_b} = {2 * W{1'b0}};
        for (j = 0; j < NG; j = j + 1) begin
            all_a = all_a | numbers_a[j*W +: W];
            all_b = all_b | numbers_b[j*W +: W];
        end
    end

    assign number = wraps ? all_b : all_a;

    always @(posedge clk) begin
        asks <= next & ~(one & {N{taken}});
        after <= taken ? next & rest : next & later;
        if (rst) {asks, after} <= {2 * N{1'b0}};
    end

endmodule

`default_nettype wire
