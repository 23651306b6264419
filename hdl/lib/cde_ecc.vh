// SPDX-License-Identifier: Apache-2.0
// Code of the memories: every 26 bits of a word (a lane; the last one may be narrower) carry an extended Hamming code,
// which corrects one and detects two wrong bits. The row of the overall parity is replaced by the sum of all rows, so
// that every column of the check matrix has an odd number of ones: a syndrome of even weight means two wrong bits.

// Rows of the check matrix of a lane with `checks` check bits, 32 bits each. The column of data bit j is the j-th
// number that is no power of two, below the bit that makes its weight odd.
function [191:0] ecc_rows;
    input integer checks;
    integer p;
    integer j;
    integer k;
    begin
        ecc_rows = 192'd0;
        j = 0;
        for (p = 3; p < 32; p = p + 1) begin
            if ((p & (p - 1)) != 0) begin
                for (k = 0; k < 5; k = k + 1) ecc_rows[32 * k + j] = p[k];
                ecc_rows[32 * (checks - 1) + j] = ~^p;
                j = j + 1;
            end
        end
    end
endfunction
