// SPDX-License-Identifier: Apache-2.0
// cde_ecc_syndrome: syndrome of each lane of a code word of a memory.
//
// Purpose: adds the parities of parts of the code word (cde_ecc_parts), one level of logic.
// Ports:   parts, of a register or as they come; syndrome 0 in lanes of a code word.
// Latency: combinational.
`default_nettype none
`include "cde_mem.vh"

module cde_ecc_syndrome #(
    parameter W = 8
) (
    input  wire [4*`CDE_ECC_SYNDROMES(W)-1:0] parts,
    output reg  [`CDE_ECC_SYNDROMES(W)-1:0]   syndrome
);

    integer k;

    always @* begin
        for (k = 0; k < `CDE_ECC_SYNDROMES(W); k = k + 1) syndrome[k] = ^parts[4*k +: 4];
    end

endmodule

`default_nettype wire
