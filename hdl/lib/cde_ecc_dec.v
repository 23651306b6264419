// SPDX-License-Identifier: Apache-2.0
// cde_ecc_dec: corrects a code word of a memory.
//
// Purpose: corrects one wrong bit in each lane and detects two (cde_ecc_lane_dec). CW = W: no code.
// Ports:   en the word counts, code as read, fixed the corrected data, bad it was not a code word, lost it could not be corrected.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_dec #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire          en,
    input  wire [CW-1:0] code,
    output wire [W-1:0]  fixed,
    output wire          bad,
    output wire          lost
);

    generate
        if (CW == W) begin : g_plain
            wire unused = &{1'b0, en};

            assign fixed = code;
            assign bad = 1'b0;
            assign lost = 1'b0;
        end else begin : g_code
            localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
            wire [LANES-1:0] lane_bad;
            wire [LANES-1:0] lane_lost;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - `CDE_ECC_D * i : `CDE_ECC_D;

                cde_ecc_lane_dec #(.D(D)) dec (
                    .en(en), .data(code[`CDE_ECC_D*i +: D]), .check(code[W + `CDE_ECC_R*i +: `CDE_ECC_LANE(D)]), .fixed(fixed[`CDE_ECC_D*i +: D]),
                    .bad(lane_bad[i]), .lost(lane_lost[i])
                );
            end

            assign bad = |lane_bad;
            assign lost = |lane_lost;
        end
    endgenerate

endmodule

`default_nettype wire
