// SPDX-License-Identifier: Apache-2.0
// cde_ecc_enc: code word of a memory.
//
// Purpose: adds the check bits of each lane (cde_ecc_lane_enc). CW = W: no code.
// Ports:   en the code word is needed, data, code.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_enc #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire          en,
    input  wire [W-1:0]  data,
    output wire [CW-1:0] code
);

    generate
        if (CW == W) begin : g_plain
            wire unused = &{1'b0, en};

            assign code = data;
        end else begin : g_code
            localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
            wire [CW-W-1:0] check;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - `CDE_ECC_D * i : `CDE_ECC_D;

                cde_ecc_lane_enc #(.D(D)) enc (.en(en), .data(data[`CDE_ECC_D*i +: D]),
                                               .check(check[`CDE_ECC_R*i +: `CDE_ECC_LANE(D)]));
            end

            assign code = {check, data};
        end
    endgenerate

endmodule

`default_nettype wire
