// SPDX-License-Identifier: Apache-2.0
// cde_flip: the bits of a code word that an injection inverts.
//
// Purpose: decodes the numbers of two bits, by rows and columns of 16 that stand in registers.
// Ports:   at0, at1 bits to invert, the same for one; mask.
// Latency: mask belongs to at0 and at1 of the cycle before.
`default_nettype none

module cde_flip #(
    parameter CW = 13
) (
    input  wire          clk,
    input  wire [9:0]    at0,
    input  wire [9:0]    at1,
    output wire [CW-1:0] mask
);

    localparam ROWS = (CW + 15) / 16;

    reg [15:0]     column0, column1;
    reg [ROWS-1:0] row0, row1;
    reg [16*ROWS-1:0] all;             // mask, of whole rows
    integer        k;
    integer        r;

    always @(posedge clk) begin
        for (r = 0; r < 16; r = r + 1) begin
            column0[r] <= at0[3:0] == r[3:0];
            column1[r] <= at1[3:0] == r[3:0];
        end
        for (r = 0; r < ROWS; r = r + 1) begin
            row0[r] <= at0[9:4] == r[5:0];
            row1[r] <= at1[9:4] == r[5:0];
        end
    end

    // A row at a time: whole words for the simulator, which would go through all bits else.
    always @* begin
        for (k = 0; k < ROWS; k = k + 1) begin
            all[16 * k +: 16] = ({16{row0[k]}} & column0) | ({16{row1[k]}} & column1);
        end
    end

    assign mask = all[CW-1:0];
    wire   unused_all = &{1'b0, all};

endmodule

`default_nettype wire
