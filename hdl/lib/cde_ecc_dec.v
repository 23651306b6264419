// SPDX-License-Identifier: Apache-2.0
// cde_ecc_dec: corrects a code word of a memory.
//
// Purpose: corrects one wrong bit in each lane (cde_ecc_lane_dec). CW = W: no code.
// Ports:   code as read, fixed the corrected data, syndrome of each lane (cde_ecc_check).
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_dec #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire [CW-1:0] code,
    output wire [W-1:0]  fixed,
    output wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome
);

    generate
        if (CW == W) begin : g_plain
            assign fixed = code;
            assign syndrome = {`CDE_ECC_SYNDROMES(W){1'b0}};
        end else begin : g_code
            localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - `CDE_ECC_D * i : `CDE_ECC_D;
                localparam R = `CDE_ECC_LANE(D);

                cde_ecc_lane_dec #(.D(D)) dec (
                    .data(code[`CDE_ECC_D*i +: D]), .check(code[W + `CDE_ECC_R*i +: `CDE_ECC_LANE(D)]),
                    .fixed(fixed[`CDE_ECC_D*i +: D]),
                    .syndrome(syndrome[`CDE_ECC_R*i +: R])
                );
                if (R < `CDE_ECC_R) begin : g_rest
                    assign syndrome[`CDE_ECC_R*i + R +: `CDE_ECC_R - R] = {(`CDE_ECC_R - R){1'b0}};
                end
            end
        end
    endgenerate

endmodule

`default_nettype wire
