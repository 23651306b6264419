// SPDX-License-Identifier: Apache-2.0
//
// Feeds recorded inputs (mutate_record.cpp) to the netlist and compares its outputs with the recorded ones, just before each edge of
// the clock, until one differs. Requests are lines on standard input, `MUTANT FILE`; answers are lines on standard output:
// `CYCLES DIFFERENCE MICROSECONDS [MUTANT...]`: the cycles that were simulated, the first output bit that differs in the last of them
// (-1: none does), processor time, and for mutant 0 the mutants that the run can tell (mutate_local.py). INPUT_WORDS and OUTPUT_WORDS are set by the build.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "Vreplay.h"
#include "Vreplay___024root.h"

struct Recording {
    const uint16_t* begin = nullptr;
    const uint16_t* end = nullptr;
};

static Recording load(const std::string& path) {
    static std::map<std::string, Recording> known;
    Recording& found = known[path];
    if (!found.begin) {
        struct stat state;
        const int file = open(path.c_str(), O_RDONLY);
        if (file < 0 || fstat(file, &state) || !state.st_size) {
            std::cerr << path << ": cannot be read or empty\n";
            _exit(1);
        }
        void* place = mmap(nullptr, state.st_size, PROT_READ, MAP_SHARED, file, 0);
        close(file);
        found.begin = static_cast<const uint16_t*>(place);
        found.end = found.begin + state.st_size / 2;
    }
    return found;
}

int main() {
    VerilatedContext context;
    Vreplay top{&context};
    top.eval();
    // All state of the design is in one object without anything that points to itself: a copy starts a run.
    std::vector<char> start(sizeof(Vreplay___024root));
    std::memcpy(start.data(), static_cast<void*>(top.rootp), start.size());
    const int selects = sizeof(top.hit) / 4;
    const auto* const hit = reinterpret_cast<const uint32_t*>(&top.hit);
    auto* const ins = reinterpret_cast<uint32_t*>(&top.next_ins);
    auto* const expected = reinterpret_cast<uint32_t*>(&top.next_expected);
    const auto* const difference = reinterpret_cast<const uint32_t*>(&top.difference);
    static_assert(sizeof(top.next_ins) >= INPUT_WORDS * 4 && sizeof(top.next_expected) >= OUTPUT_WORDS * 4, "ports");

    std::string text;
    while (std::getline(std::cin, text)) {
        std::istringstream line(text);
        unsigned mutant;
        std::string path;
        std::getline(line >> mutant >> std::ws, path);
        const Recording recording = load(path);
        const clock_t began = clock();
        std::memcpy(static_cast<void*>(top.rootp), start.data(), start.size());
        top.next_mutant = mutant;
        top.watching = !mutant;
        long cycles = 0, first = -1;
        // An edge of the clock ends the cycle that was loaded before it.
        for (const uint16_t* at = recording.begin; first < 0;) {
            const bool more = at < recording.end;
            if (at > recording.begin) {
                top.clk = !top.clk;
                ++cycles;
            }
            for (unsigned left = more ? *at++ : 0; left; --left, at += 3) {
                const unsigned word = at[0];
                const uint32_t value = at[1] | static_cast<uint32_t>(at[2]) << 16;
                if (word < INPUT_WORDS)
                    ins[word] = value;
                else
                    expected[word - INPUT_WORDS] = value;
            }
            top.load = !top.load;
            top.eval();
            if (top.differs) {
                for (first = 0; !(difference[first / 32] >> (first % 32) & 1);) ++first;
            }
            if (!more) break;
        }
        std::cout << cycles << ' ' << first << ' ' << (clock() - began) * 1000000 / CLOCKS_PER_SEC;
        for (int n = 0; !mutant && n < 32 * selects; ++n)
            if (hit[n / 32] >> (n % 32) & 1) std::cout << ' ' << n;
        std::cout << std::endl;
    }
    _exit(0);
}
