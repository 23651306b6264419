// SPDX-License-Identifier: Apache-2.0
// cde_ecc_parts: parities of parts of a code word of a memory.
//
// Purpose: each bit of a syndrome is the parity of at most 15 bits of the code word as read: here are those of four
//          bits each, one level of logic, which fits after a block RAM; cde_ecc_syndrome adds them. They are kept, or
//          synthesis shares them and builds chains. CW = W: no code.
// Ports:   code as read; parts, four for each bit of the syndrome.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_parts #(
    parameter W = 8,
    parameter CW = 13
) (
    input  wire [CW-1:0] code,
    output wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts
);

    `include "cde_ecc.vh"

    // Four of the bits that are set: those that `first` others are below
    function [32:0] four;
        input [32:0]  bits;
        input integer first;
        integer       j, n;
        begin
            four = 33'd0;
            n = 0;
            for (j = 0; j < 33; j = j + 1) begin
                if (bits[j] && n >= first && n < first + 4) four[j] = 1'b1;
                if (bits[j]) n = n + 1;
            end
        end
    endfunction

    generate
        if (CW == W) begin : g_plain
            wire unused_code = &{1'b0, code};
            assign parts = {(4*`CDE_ECC_SYNDROMES(W)){1'b0}};
        end else begin : g_code
            localparam LANES = (W + `CDE_ECC_D - 1) / `CDE_ECC_D;
            genvar i, k;

            for (i = 0; i < LANES; i = i + 1) begin : g_lane
                localparam D = i == LANES - 1 ? W - `CDE_ECC_D * i : `CDE_ECC_D;
                localparam R = `CDE_ECC_LANE(D);
                localparam [223:0] ROWS = ecc_rows(R);
                wire [D-1:0] data = code[`CDE_ECC_D*i +: D];
                wire [R-1:0] check = code[W + `CDE_ECC_R*i +: R];

                for (k = 0; k < `CDE_ECC_R; k = k + 1) begin : g_bit
                    if (k < R) begin : g_row
                        localparam [32:0] ROW = {{(33-D){1'b0}}, ROWS[32*k +: D]} << 1 | 33'd1;
                        wire [32:0] bits = {{(32-D){1'b0}}, data, check[k]};
                        (* keep *)
                        wire [3:0]  part;
                        assign part = {^(bits & four(ROW, 12)), ^(bits & four(ROW, 8)), ^(bits & four(ROW, 4)),
                                       ^(bits & four(ROW, 0))};
                        assign parts[4*(`CDE_ECC_R*i + k) +: 4] = part;
                    end else begin : g_none
                        assign parts[4*(`CDE_ECC_R*i + k) +: 4] = 4'd0;
                    end
                end
            end
        end
    endgenerate

endmodule

`default_nettype wire
