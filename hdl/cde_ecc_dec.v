// SPDX-License-Identifier: Apache-2.0
// cde_ecc_dec: corrects a code word of a memory.
//
// Purpose: corrects one wrong bit in each lane of 64 data bits and detects two (cde_ecc.vh). CW = W: no code.
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

    `include "cde_ecc.vh"

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
                localparam R = `CDE_ECC_LANE(D);
                localparam [511:0] ROWS = ecc_rows(R);
                wire [R-1:0] check = code[W + 8*i +: R];
                reg [R-1:0] syndrome;
                reg [R-1:0] column;
                reg [D-1:0] data;
                reg         wrong;
                reg         stray;
                integer     j;
                integer     k;

                // The columns of the check bits have a single one; an odd syndrome that is no column comes of three wrong bits or more. An
                // unknown syndrome, of a word at an unknown address, is no report.
                always @* begin
                    data = code[64*i +: D];
                    wrong = 1'b0;
                    stray = 1'b0;
                    j = 0;
                    k = 0;
                    column = {R{1'b0}};
                    syndrome = check;
                    if (en) begin
                        for (k = 0; k < R; k = k + 1) syndrome[k] = check[k] ^ (^(data & ROWS[64*k +: D]));
                    end else begin
                        syndrome = {R{1'b0}};
                    end
                    if (syndrome != {R{1'b0}}) begin
                        wrong = 1'b1;
                        stray = (syndrome & (syndrome - 1'b1)) != {R{1'b0}};
                        for (j = 0; j < D; j = j + 1) begin
                            for (k = 0; k < R; k = k + 1) column[k] = ROWS[64*k + j];
                            if (syndrome == column) begin
                                stray = 1'b0;
                                data[j] = !data[j];
                            end
                        end
                    end
                end

                assign fixed[64*i +: D] = data;
                assign lane_bad[i] = wrong;
                assign lane_lost[i] = stray;
            end

            assign bad = |lane_bad;
            assign lost = |lane_lost;
        end
    endgenerate

endmodule

`default_nettype wire
