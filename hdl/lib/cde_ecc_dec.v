// SPDX-License-Identifier: Apache-2.0
// cde_ecc_dec: corrects a code word of a memory.
//
// Purpose: corrects one wrong bit in each lane of 64 data bits and detects two (cde_ecc_lane_dec). CW = W: no code.
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
            localparam LANES = (W + 63) / 64;
            wire [LANES-1:0] lane_bad;
            wire [LANES-1:0] lane_lost;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - 64 * i : 64;

                cde_ecc_lane_dec #(.D(D)) dec (
                    .en(en), .data(code[64*i +: D]), .check(code[W + 8*i +: `CDE_ECC_LANE(D)]), .fixed(fixed[64*i +: D]),
                    .bad(lane_bad[i]), .lost(lane_lost[i])
                );
            end

            assign bad = |lane_bad;
            assign lost = |lane_lost;
        end
    endgenerate

endmodule

`default_nettype wire
