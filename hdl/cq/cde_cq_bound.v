// SPDX-License-Identifier: Apache-2.0
// cde_cq_bound: whether an index of a CQ stands at its bound: the next place at that of a full ring, or the credits
// used up at those granted.
//
// Purpose: the loop over the index is one cycle long, so what it asks is known when its cycle begins: for each number
//          of places that the step ahead may take, it is worked out in that step whether the index is at the bound.
//          Equality needs no carry chain: index - origin - bound == -k is index + ~origin + ~bound == -k - 2, the three
//          are added to two without one, and of two numbers and a constant each bit is compared by itself.
// Ports:   read and now the index of the memory and of the step ahead; it is at its bound if it is origin + bound;
//          again the step ahead is of this CQ, so now counts; by2, by1 that it takes two, one; reached the index is at
//          the bound; almost the one after it is.
// Latency: one cycle.
`default_nettype none

module cde_cq_bound #(
    parameter IDX_W = 16
) (
    input  wire             clk,
    input  wire [IDX_W-1:0] read,
    input  wire [IDX_W-1:0] now,
    input  wire [IDX_W-1:0] origin,
    input  wire [IDX_W-1:0] bound,
    input  wire             again,
    input  wire             by2,
    input  wire             by1,
    output reg              reached,
    output reg              almost
);

    // x + y == value: where x and y differ from value by one, the bit below carries. It does if both are 1 there, or
    // one of them and value is 0.
    function equals;
        input [IDX_W-1:0] x;
        input [IDX_W-1:0] y;
        input [IDX_W-1:0] value;
        equals = (x ^ y ^ value) == {(x[IDX_W-2:0] & y[IDX_W-2:0]) | ((x[IDX_W-2:0] | y[IDX_W-2:0]) &
                                     ~value[IDX_W-2:0]), 1'b0};
    endfunction

    // index - origin - bound == -steps
    function away;
        input [IDX_W-1:0] index;
        input [IDX_W-1:0] from;
        input [IDX_W-1:0] size;
        input [IDX_W-1:0] steps;
        reg   [IDX_W-1:0] sum, carry;
        begin
            sum = index ^ ~from ^ ~size;
            carry = {(index[IDX_W-2:0] & ~from[IDX_W-2:0]) | (index[IDX_W-2:0] & ~size[IDX_W-2:0]) |
                     (~from[IDX_W-2:0] & ~size[IDX_W-2:0]), 1'b0};
            away = equals(sum, carry, {{(IDX_W-1){1'b1}}, 1'b0} - steps);
        end
    endfunction

    localparam [IDX_W-1:0] ZERO = {IDX_W{1'b0}}, ONE = ZERO + 1'b1, TWO = ONE + ONE, THREE = ONE + TWO;

    wire read_0 = away(read, origin, bound, ZERO);
    wire read_1 = away(read, origin, bound, ONE);
    wire now_0 = away(now, origin, bound, ZERO);
    wire now_1 = away(now, origin, bound, ONE);
    wire now_2 = away(now, origin, bound, TWO);
    wire now_3 = away(now, origin, bound, THREE);

    always @(posedge clk) begin
        reached <= !again ? read_0 : by2 ? now_2 : by1 ? now_1 : now_0;
        almost <= !again ? read_1 : by2 ? now_3 : by1 ? now_2 : now_1;
    end

endmodule

`default_nettype wire
