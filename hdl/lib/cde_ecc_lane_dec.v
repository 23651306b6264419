// SPDX-License-Identifier: Apache-2.0
// cde_ecc_lane_dec: corrects one lane of a code word.
//
// Purpose: corrects one wrong bit of up to 26 data bits and their check bits, and detects two (cde_ecc.vh).
// Ports:   en the lane counts, data and check as read, fixed the corrected data, bad it was not a code word, lost it could not be corrected.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_lane_dec #(
    parameter D = 8
) (
    input  wire                        en,
    input  wire [D-1:0]                data,
    input  wire [`CDE_ECC_LANE(D)-1:0] check,
    output reg  [D-1:0]                fixed,
    output reg                         bad,
    output reg                         lost
);

    `include "cde_ecc.vh"

    localparam R = `CDE_ECC_LANE(D);
    localparam [191:0] ROWS = ecc_rows(R);

    reg [R-1:0] syndrome;
    reg [R-1:0] column;
    reg [D-1:0] wrong;      // the bit to invert
    reg         of_check;   // a check bit is wrong: the columns of the check bits have a single one
    integer     j;
    integer     k;

    // An odd syndrome that is no column comes of three wrong bits or more. An unknown syndrome, of a word at an unknown address, is no
    // report.
    always @* begin
        j = 0;
        column = {R{1'b0}};
        of_check = 1'b0;
        for (k = 0; k < R; k = k + 1) begin
            syndrome[k] = check[k] ^ (^(data & ROWS[32*k +: D]));
        end
        for (k = 0; k < R; k = k + 1) begin
            if (syndrome == {{(R-1){1'b0}}, 1'b1} << k) of_check = 1'b1;
        end
        for (j = 0; j < D; j = j + 1) begin
            for (k = 0; k < R; k = k + 1) column[k] = ROWS[32*k + j];
            wrong[j] = syndrome == column;
        end
        fixed = data ^ wrong;
        bad = 1'b0;
        lost = 1'b0;
        if (en && syndrome != {R{1'b0}}) begin
            bad = 1'b1;
            lost = !of_check && wrong == {D{1'b0}};
        end
    end

endmodule

`default_nettype wire
