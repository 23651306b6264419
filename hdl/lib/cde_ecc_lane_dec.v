// SPDX-License-Identifier: Apache-2.0
// cde_ecc_lane_dec: corrects one lane of a code word.
//
// Purpose: corrects one wrong bit of up to 29 data bits and their check bits (cde_ecc.vh); what else there is to say of
//          the word tells its syndrome (cde_ecc_check).
// Ports:   data as read, syndrome of the lane (cde_ecc_syndrome), fixed the corrected data.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_lane_dec #(
    parameter D = 8
) (
    input  wire [D-1:0]                data,
    input  wire [`CDE_ECC_LANE(D)-1:0] syndrome,
    output reg  [D-1:0]                fixed
);

    `include "cde_ecc.vh"

    localparam R = `CDE_ECC_LANE(D);
    localparam [223:0] ROWS = ecc_rows(R);

    reg [R-1:0] column;
    reg [D-1:0] wrong;      // the bit to invert; of two wrong bits more may be
    integer     j;
    integer     k;

    always @* begin
        column = {R{1'b0}};
        for (j = 0; j < D; j = j + 1) begin
            for (k = 0; k < R; k = k + 1) column[k] = ROWS[32*k + j];
            wrong[j] = (syndrome & column) == column;
        end
        fixed = data ^ wrong;
    end

endmodule

`default_nettype wire
