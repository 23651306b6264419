// SPDX-License-Identifier: Apache-2.0
// cde_ecc_check: what the syndromes of a code word say (ISO-05).
//
// Purpose: tells a wrong word, and one that could not be corrected, from the syndromes of its lanes (cde_ecc_dec),
//          which come from a register. Columns of the check matrix have an odd number of ones; a syndrome that is no
//          column comes of two wrong bits or more. CW = W: no code.
// Ports:   syndrome of all lanes, 0 where the word does not count; bad it was not a code word, lost it could not be
//          corrected.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_check #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome,
    output reg                              bad,
    output reg                              lost
);

    `include "cde_ecc.vh"

    localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
    localparam LAST = W - `CDE_ECC_D * (LANES - 1);     // data bits of the last lane

    // Whether a syndrome is a column of a lane of `bits` data bits
    function is_column;
        input [`CDE_ECC_R-1:0] value;
        input integer          bits;
        input integer          checks;
        reg [223:0]            rows;
        reg [`CDE_ECC_R-1:0]   column;
        integer                j;
        integer                k;
        begin
            rows = ecc_rows(checks);
            is_column = 1'b0;
            for (k = 0; k < checks; k = k + 1) if (value == {{(`CDE_ECC_R-1){1'b0}}, 1'b1} << k) is_column = 1'b1;
            for (j = 0; j < bits; j = j + 1) begin
                column = {`CDE_ECC_R{1'b0}};
                for (k = 0; k < checks; k = k + 1) column[k] = rows[32*k + j];
                if (value == column) is_column = 1'b1;
            end
        end
    endfunction

    reg [`CDE_ECC_R-1:0] value;
    integer              i;

    // An unknown syndrome, of a word at an unknown address, is no report.
    always @* begin
        bad = 1'b0;
        lost = 1'b0;
        value = {`CDE_ECC_R{1'b0}};
        for (i = 0; i < LANES; i = i + 1) begin
            value = syndrome[`CDE_ECC_R*i +: `CDE_ECC_R];
            if (CW != W && value != {`CDE_ECC_R{1'b0}}) begin
                bad = 1'b1;
                if (i < LANES - 1 ? !is_column(value, `CDE_ECC_D, `CDE_ECC_R) :
                    !is_column(value, LAST, `CDE_ECC_LANE(LAST))) lost = 1'b1;
            end
        end
    end

endmodule

`default_nettype wire
