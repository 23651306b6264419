// SPDX-License-Identifier: Apache-2.0
// cde_ecc_lane_dec: corrects one lane of a code word.
//
// Purpose: corrects one wrong bit of up to 64 data bits and their check bits, and detects two (cde_ecc.vh).
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
    localparam [511:0] ROWS = ecc_rows(R);

    reg [R-1:0] syndrome;
    reg [R-1:0] column;
    reg [D-1:0] wrong;      // the bit to invert
    integer     j;
    integer     k;

    // The columns of the check bits have a single one; an odd syndrome that is no column comes of three wrong bits or more. An
    // unknown syndrome, of a word at an unknown address, is no report.
    always @* begin
        bad = 1'b0;
        lost = 1'b0;
        j = 0;
        k = 0;
        column = {R{1'b0}};
        wrong = {D{1'b0}};
        syndrome = check;
        if (en) begin
            for (k = 0; k < R; k = k + 1) syndrome[k] = check[k] ^ (^(data & ROWS[64*k +: D]));
        end else begin
            syndrome = {R{1'b0}};
        end
        if (syndrome != {R{1'b0}}) begin
            bad = 1'b1;
            for (j = 0; j < D; j = j + 1) begin
                for (k = 0; k < R; k = k + 1) column[k] = ROWS[64*k + j];
                wrong[j] = syndrome == column;
            end
            lost = (syndrome & (syndrome - 1'b1)) != {R{1'b0}} && wrong == {D{1'b0}};
        end
        fixed = data ^ wrong;
    end

endmodule

`default_nettype wire
