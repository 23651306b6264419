// SPDX-License-Identifier: Apache-2.0
// cde_ecc_lane_enc: check bits of one lane of a code word.
//
// Purpose: check bits of up to 29 data bits (cde_ecc.vh).
// Ports:   en the check bits are needed (0 else), data, check.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_lane_enc #(
    parameter D = 8
) (
    input  wire                        en,
    input  wire [D-1:0]                data,
    output reg  [`CDE_ECC_LANE(D)-1:0] check
);

    `include "cde_ecc.vh"

    localparam R = `CDE_ECC_LANE(D);
    localparam [223:0] ROWS = ecc_rows(R);

    integer k;

    always @* begin
        k = 0;
        check = {R{1'b0}};
        if (en) begin
            for (k = 0; k < R; k = k + 1) check[k] = ^(data & ROWS[32*k +: D]);
        end
    end

endmodule

`default_nettype wire
