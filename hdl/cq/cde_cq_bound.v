// SPDX-License-Identifier: Apache-2.0
// cde_cq_bound: whether an index of a CQ stands at its bound: the next place at that of a full ring, or the credits
// used up at those granted.
//
// Purpose: the loop over the index is one cycle long, so what it asks is known when its cycle begins: for each number
//          of places that the step ahead may take, it is worked out beside that step whether the index is at the bound.
// Ports:   read and now the index of the memory and of the step ahead, each less the same origin; bound less that
//          origin; again the step ahead is of this CQ, so now counts; by2, by1 that it takes two, one; reached the
//          index is the bound; almost the one behind it is.
// Latency: one cycle.
`default_nettype none

module cde_cq_bound #(
    parameter IDX_W = 16
) (
    input  wire             clk,
    input  wire [IDX_W-1:0] read,
    input  wire [IDX_W-1:0] now,
    input  wire [IDX_W-1:0] bound,
    input  wire             again,
    input  wire             by2,
    input  wire             by1,
    output reg              reached,
    output reg              almost
);

    // a + (1 << low) == b in bit `low` and above, without a carry chain: where the bits differ, all lower ones of a are
    // 1 and of b are 0.
    function follows;
        input [IDX_W-1:0] a;
        input [IDX_W-1:0] b;
        input integer     low;
        follows = ((a ^ b ^ (({a[IDX_W-2:0] & ~b[IDX_W-2:0], 1'b0} >> (low + 1) << (low + 1)) |
                             ({{(IDX_W-1){1'b0}}, 1'b1} << low))) >> low) == {IDX_W{1'b0}};
    endfunction

    wire read_0 = read == bound;
    wire read_1 = follows(read, bound, 0);
    wire now_0 = now == bound;
    wire now_1 = follows(now, bound, 0);
    wire now_2 = now[0] == bound[0] && follows(now, bound, 1);
    wire now_3 = now[1:0] + 2'd3 == bound[1:0] &&
                 (now[1:0] == 2'd0 ? now[IDX_W-1:2] == bound[IDX_W-1:2] : follows(now, bound, 2));

    always @(posedge clk) begin
        reached <= !again ? read_0 : by2 ? now_2 : by1 ? now_1 : now_0;
        almost <= !again ? read_1 : by2 ? now_3 : by1 ? now_2 : now_1;
    end

endmodule

`default_nettype wire
