// SPDX-License-Identifier: Apache-2.0
//
// Of the simulation of a netlist with mutants: which one is active, by CARILLON_MUTANT (0 or nothing: none), and the recorder.
//
// Records what crosses the ports of the top level just before each rising edge of the clock, to the file CARILLON_MUTATE_RECORD.
// For each cycle, as 16-bit words: the number of 32-bit words that changed, then for each its index, its lower and its upper half.
// All words start at 0.
#include <fcntl.h>
#include <svdpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const char* const RECORD = "CARILLON_MUTATE_RECORD";

extern "C" int carillon_mutant() {
    const char* const number = getenv("CARILLON_MUTANT");
    return number ? atoi(number) : 0;
}

extern "C" svBit carillon_recording() { return getenv(RECORD) != nullptr; }

extern "C" void carillon_record(int words, const svBitVecVal* values) {
    static int file = -1;
    static std::vector<uint32_t> last;
    static std::vector<uint16_t> line;
    if (file < 0) {
        file = open(getenv(RECORD), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        last.assign(words, 0);
        if (file < 0) {
            perror(RECORD);
            _exit(1);
        }
    }
    line.assign(1, 0);
    for (int n = 0; n < words; ++n) {
        if (values[n] == last[n]) continue;
        last[n] = values[n];
        ++line[0];
        line.push_back(n);
        line.push_back(values[n] & 0xffff);
        line.push_back(values[n] >> 16);
    }
    const size_t bytes = 2 * line.size();
    if (write(file, line.data(), bytes) != static_cast<ssize_t>(bytes)) {
        perror(RECORD);
        _exit(1);
    }
}
