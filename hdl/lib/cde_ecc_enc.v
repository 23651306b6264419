// SPDX-License-Identifier: Apache-2.0
// cde_ecc_enc: code word of a memory.
//
// Purpose: adds the check bits of each lane of 64 data bits (cde_ecc_lane_enc); inverts one or two bits on demand, so that the correction can be tried. CW = W: no code.
// Ports:   en the code word is needed, flip invert the bits numbered at0 and at1, data, code.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_enc #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire          en,
    input  wire          flip,
    input  wire [9:0]    at0,
    input  wire [9:0]    at1,
    input  wire [W-1:0]  data,
    output reg  [CW-1:0] code
);

    generate
        if (CW == W) begin : g_plain
            wire unused = &{1'b0, en, flip, at0, at1};

            always @* code = data;
        end else begin : g_code
            localparam LANES = (W + 63) / 64;
            localparam [CW-1:0] ONE = 1;
            wire [CW-W-1:0] check;
            genvar i;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - 64 * i : 64;

                cde_ecc_lane_enc #(.D(D)) enc (.en(en), .data(data[64*i +: D]), .check(check[8*i +: `CDE_ECC_LANE(D)]));
            end

            always @* begin
                code = {check, data};
                if (flip) code = code ^ ((ONE << at0) | (ONE << at1));
            end
        end
    endgenerate

endmodule

`default_nettype wire
