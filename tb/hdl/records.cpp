// SPDX-License-Identifier: Apache-2.0
//
// The rows of the latest block of bfm_record, where Python reads them as bytes (tb/env/harness/rows.py).
#include <cstring>
#include <svdpi.h>

namespace {
constexpr int ROWS = 16, ROW_BYTES = 512;
}

extern "C" {
unsigned char carillon_rows[ROWS * ROW_BYTES];

void carillon_row(int number, const svBitVecVal* words) {
    std::memcpy(carillon_rows + number * ROW_BYTES, words, ROW_BYTES);
}
}
