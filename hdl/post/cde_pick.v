// SPDX-License-Identifier: Apache-2.0
// cde_pick: round-robin choice of one of many.
//
// Purpose: the first that asks behind the one that was taken two cycles ago or earlier (ISO-04): the place of the
//          newest has a cycle of its own to become a mask. Who was taken asks no more, so none comes twice in a row
//          while another one asks.
// Ports:   asks; taken (what is chosen now is taken); any, one (one-hot) and number of the choice.
// Latency: combinational from asks.
`default_nettype none

module cde_pick #(
    parameter N = 64,
    parameter W = 6
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [N-1:0] asks,
    input  wire         taken,
    output wire         any,
    output wire [N-1:0] one,
    output reg  [W-1:0] number
);

    // Two levels: groups of at most 8, each searched beside the choice of the group; numbers are encoded per group.
    localparam GW = W > 3 ? 3 : W;
    localparam G = 1 << GW;
    localparam NG = N / G;

    // The lowest bit that is set, alone: no bit below it is. A prefix OR, of logarithmic depth.
    function automatic [G-1:0] lowest(input [G-1:0] bits);
        reg   [G-1:0] at_or_below;
        integer i;
        begin
            at_or_below = bits;
            for (i = 1; i < G; i = i * 2) at_or_below = at_or_below | (at_or_below << i);
            lowest = bits & ~(at_or_below << 1);
        end
    endfunction

    function automatic [NG-1:0] lowest_group(input [NG-1:0] bits);
        reg   [NG-1:0] at_or_below;
        integer i;
        begin
            at_or_below = bits;
            for (i = 1; i < NG; i = i * 2) at_or_below = at_or_below | (at_or_below << i);
            lowest_group = bits & ~(at_or_below << 1);
        end
    endfunction

    reg  [W-1:0]    latest;
    reg  [N-1:0]    behind;
    wire [N-1:0]    after = asks & behind;
    wire [NG-1:0]   group_after, group_any;
    wire            wraps = group_after == {NG{1'b0}};
    wire [NG-1:0]   group = wraps ? lowest_group(group_any) : lowest_group(group_after);
    wire [W*NG-1:0] numbers;                 // of the choice of each group, 0 of the others

    assign any = group_any != {NG{1'b0}};

    genvar          k;
    generate
        for (k = 0; k < NG; k = k + 1) begin : g_group
            wire [G-1:0]  first = wraps ? lowest(asks[k*G +: G]) : lowest(after[k*G +: G]);
            reg  [W-1:0]  first_number;
            integer       i;

            assign group_after[k] = |after[k*G +: G];
            assign group_any[k] = |asks[k*G +: G];
            assign one[k*G +: G] = first & {G{group[k]}};
            assign numbers[k*W +: W] = first_number & {W{group[k]}};

            always @* begin
                first_number = {W{1'b0}};
                for (i = 0; i < G; i = i + 1) if (first[i]) first_number = first_number | (k[W-1:0] << GW) | i[W-1:0];
            end
        end
    endgenerate

    integer         j;

    always @* begin
        number = {W{1'b0}};
        for (j = 0; j < NG; j = j + 1) number = number | numbers[j*W +: W];
    end

    always @(posedge clk) begin
        if (taken && any) latest <= number;
        behind <= {N{1'b1}} << latest << 1;
        if (rst) latest <= {W{1'b0}};
    end

endmodule

`default_nettype wire
