// SPDX-License-Identifier: Apache-2.0
//
// Feeds recorded inputs (mutate_record.cpp) to the netlist and compares its outputs with the recorded ones, just before each edge of
// the clock, until one differs. Requests are lines on standard input, words between tabs: `MUTANT FILE` (0: none; a recording).
//
// Answers are lines on standard output: `CYCLES DIFFERENCE MICROSECONDS`: the cycles that were simulated, the first output bit
// that differs in the last of them (-1: none does), processor time. INPUT_WORDS and OUTPUT_WORDS are set by the build.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "Vreplay.h"
#include "Vreplay___024root.h"

// A file of 16-bit words.
struct Words {
    const uint16_t* begin = nullptr;
    const uint16_t* end = nullptr;
};

static Words load(const std::string& path) {
    static std::map<std::string, Words> known;
    Words& found = known[path];
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

// Loads what the next cycle has, with the edge of the clock that ends the one before it; false if that was the last one.
// `at`: place in the recording.
static bool step(Vreplay& top, const Words& recording, const uint16_t*& at) {
    auto* const ins = reinterpret_cast<uint32_t*>(&top.next_ins);
    auto* const expected = reinterpret_cast<uint32_t*>(&top.next_expected);
    const bool more = at < recording.end;
    if (at > recording.begin) top.clk = !top.clk;
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
    return more;
}

// The first output that differs in the cycle that ended; -1: none does.
static long difference(const Vreplay& top) {
    const auto* const bits = reinterpret_cast<const uint32_t*>(&top.difference);
    if (!top.differs) return -1;
    long first = 0;
    while (!(bits[first / 32] >> (first % 32) & 1)) ++first;
    return first;
}

int main() {
    VerilatedContext context;
    Vreplay top{&context};
    static_assert(sizeof(top.next_ins) >= INPUT_WORDS * 4 && sizeof(top.next_expected) >= OUTPUT_WORDS * 4, "ports");
    top.eval();
    // All state of the design is in one object without anything that points to itself: a copy starts each run.
    char* const state = reinterpret_cast<char*>(top.rootp);
    const std::vector<char> start(state, state + sizeof(Vreplay___024root));
    for (std::string line; std::getline(std::cin, line);) {
        const size_t tab = line.find('\t');
        const Words recording = load(line.substr(tab + 1));
        const clock_t began = clock();
        std::memcpy(state, start.data(), start.size());
        top.next_mutant = std::stoul(line);
        long cycles = 0, first = -1;
        const uint16_t* at = recording.begin;
        for (bool more = true; more && first < 0;) {
            if (at > recording.begin) ++cycles;
            more = step(top, recording, at);
            first = difference(top);
        }
        std::cout << cycles << ' ' << first << ' ' << (clock() - began) * 1000000 / CLOCKS_PER_SEC << std::endl;
    }
    _exit(0);
}
