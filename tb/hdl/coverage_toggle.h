// SPDX-License-Identifier: Apache-2.0
// Toggle counting of signals wider than a word, for every C++ file of a coverage build.
//
// Verilator 5.48's own function (verilated_cov.h) lets the bit number run on past the word, so that a change of bit 0 may count for bits
// 32, 64, ... too. This one stops at the word's end. Layout of the counters: two for each bit, first those of falls, then of rises.
#ifndef CARILLON_COVERAGE_TOGGLE_H
#define CARILLON_COVERAGE_TOGGLE_H

#include "verilated.h"
#include "verilated_cov.h"

static inline void carillon_toggle_wide(const int width, uint32_t* counts, WDataInP now, WDataInP before) {
    for (int word = 0; word < VL_WORDS_I(width); ++word) {
        EData changed = now[word] ^ before[word];
        while (changed) {
            const int bit = __builtin_ctz(changed);
            changed &= changed - 1;
            if (word * VL_EDATASIZE + bit >= width) break;
            ++counts[(word * VL_EDATASIZE + bit) * 2 + ((now[word] >> bit) & 1)];
        }
    }
}

#define VL_COV_TOGGLE_CHG_ST_W(width, counts, now, before) carillon_toggle_wide(width, counts, now, before)

#endif
