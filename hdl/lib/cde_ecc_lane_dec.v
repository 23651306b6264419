// SPDX-License-Identifier: Apache-2.0
// cde_ecc_lane_dec: corrects one lane of a code word.
//
// Purpose: corrects one wrong bit of up to 26 data bits and their check bits (cde_ecc.vh); what else there is to say of
//          the word tells its syndrome (cde_ecc_check).
// Ports:   data and check as read, fixed the corrected data, syndrome 0 of a code word.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_lane_dec #(
    parameter D = 8
) (
    input  wire [D-1:0]                data,
    input  wire [`CDE_ECC_LANE(D)-1:0] check,
    output reg  [D-1:0]                fixed,
    output reg  [`CDE_ECC_LANE(D)-1:0] syndrome
);

    `include "cde_ecc.vh"

    localparam R = `CDE_ECC_LANE(D);
    localparam [191:0] ROWS = ecc_rows(R);

    reg [R-1:0] column;
    reg [D-1:0] wrong;      // the bit to invert
    integer     j;
    integer     k;

    always @* begin
        column = {R{1'b0}};
        for (k = 0; k < R; k = k + 1) syndrome[k] = check[k] ^ (^(data & ROWS[32*k +: D]));
        for (j = 0; j < D; j = j + 1) begin
            for (k = 0; k < R; k = k + 1) column[k] = ROWS[32*k + j];
            wrong[j] = syndrome == column;
        end
        fixed = data ^ wrong;
    end

endmodule

`default_nettype wire
