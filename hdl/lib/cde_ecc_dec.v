// SPDX-License-Identifier: Apache-2.0
// cde_ecc_dec: corrects a code word of a memory (ISO-05).
//
// Purpose: corrects one wrong bit in each lane (cde_ecc_lane_dec). CW = W: no code.
// Ports:   data as read, syndrome of each lane (cde_ecc_syndrome), fixed the corrected data.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_dec #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire [W-1:0] data,
    input  wire [`CDE_ECC_SYNDROMES(W)-1:0] syndrome,
    output wire [W-1:0] fixed
);

    wire unused_syndrome = &{1'b0, syndrome};       // of rows that a short lane does not have

    generate
        if (CW == W) begin : g_plain
            assign fixed = data;
        end else begin : g_code
            localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - `CDE_ECC_D * i : `CDE_ECC_D;

                cde_ecc_lane_dec #(.D(D)) dec (
                    .data(data[`CDE_ECC_D*i +: D]), .syndrome(syndrome[`CDE_ECC_R*i +: `CDE_ECC_LANE(D)]),
                    .fixed(fixed[`CDE_ECC_D*i +: D])
                );
            end
        end
    endgenerate

endmodule

`default_nettype wire
