// SPDX-License-Identifier: Apache-2.0
// Code of the memories: every 29 bits of a word (a lane; the last one may be narrower) carry a Hsiao code, which
// corrects one and detects two wrong bits. All columns of the check matrix have an odd number of ones, those of data
// bits three: a syndrome of even weight means two wrong bits, and a data bit is wrong when its three rows are, so one
// LUT of four inputs corrects it.

// Rows of the check matrix of a lane with `checks` check bits, 32 bits each. The column of data bit j is the j-th
// number with three ones.
function [223:0] ecc_rows;
    input integer checks;
    integer p;
    integer two;
    integer one;
    integer j;
    integer k;
    begin
        ecc_rows = 224'd0;
        j = 0;
        for (p = 7; p < (1 << checks); p = p + 1) begin
            two = p & (p - 1);              // without its lowest one
            one = two & (two - 1);
            if (one != 0 && (one & (one - 1)) == 0 && j < 32) begin
                for (k = 0; k < checks; k = k + 1) ecc_rows[32 * k + j] = p[k];
                j = j + 1;
            end
        end
    end
endfunction
