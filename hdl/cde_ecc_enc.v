// SPDX-License-Identifier: Apache-2.0
// cde_ecc_enc: code word of a memory.
//
// Purpose: adds the check bits (cde_ecc.vh); inverts one or two bits on demand, so that the correction can be tried. CW = W: no code.
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

    `include "cde_ecc.vh"

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
                localparam R = `CDE_ECC_LANE(D);
                localparam [511:0] ROWS = ecc_rows(R);
                reg [R-1:0] sum;
                integer k;

                always @* begin
                    k = 0;
                    sum = {R{1'b0}};
                    if (en) begin
                        for (k = 0; k < R; k = k + 1) sum[k] = ^(data[64*i +: D] & ROWS[64*k +: D]);
                    end
                end

                assign check[8*i +: R] = sum;
            end

            always @* begin
                code = {check, data};
                if (flip) code = code ^ ((ONE << at0) | (ONE << at1));
            end
        end
    endgenerate

endmodule

`default_nettype wire
