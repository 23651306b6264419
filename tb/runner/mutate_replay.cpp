// SPDX-License-Identifier: Apache-2.0
//
// Feeds recorded inputs (mutate_record.cpp) to the netlist and compares its outputs with the recorded ones, just before each edge of
// the clock, until one differs. Requests are lines on standard input, words between tabs; FILE is a recording:
//
//   run MUTANT FILE        one mutant (0: none)
//   watch FILE TOLD        without a mutant; writes to TOLD which mutants can be told from the design in each block of cycles
//                          (mutate_local.py), as 16-bit words: how many, then their numbers
//   group FILE TOLD LIST   mutants (numbers between commas), each simulated only while its state is another than the design's
//
// Answers are lines on standard output: `CYCLES DIFFERENCE MICROSECONDS [WORD...]`: the cycles that were simulated, the first output bit
// that differs in the last of them (-1: none does; `group`: without a mutant), processor time. The words: of `watch` the mutants that can be told, of `group` MUTANT:DIFFERENCE:CYCLES
// for those that were simulated. INPUT_WORDS and OUTPUT_WORDS are set by the build.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "Vreplay.h"
#include "Vreplay___024root.h"

// Cycles between two looks at whether a mutant's state is the design's again.
static const int BLOCK = 16;

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

// All state of the design is in one object without anything that points to itself: a copy starts or resumes a run.
using State = std::vector<char>;

// A netlist that is at some place of a recording.
class Run {
public:
    explicit Run(Vreplay& top) : top(top) {}

    State save() const {
        const char* const from = reinterpret_cast<const char*>(top.rootp);
        return State(from, from + sizeof(Vreplay___024root));
    }
    void restore(const State& state) { std::memcpy(static_cast<void*>(top.rootp), state.data(), state.size()); }

    // Sets the mutant (0: none) without an edge of the clock.
    void become(unsigned mutant) {
        top.next_mutant = mutant;
        top.load = !top.load;
        top.eval();
    }

    // Loads what the next cycle has, with the edge of the clock that ends the one before it; false if that was the last one.
    // `at`: place in the recording.
    bool step(const Words& recording, const uint16_t*& at) {
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
    long difference() const {
        const auto* const bits = reinterpret_cast<const uint32_t*>(&top.difference);
        if (!top.differs) return -1;
        long first = 0;
        while (!(bits[first / 32] >> (first % 32) & 1)) ++first;
        return first;
    }

    Vreplay& top;
};

struct Found {
    long cycles = 0;
    long first = -1;
    std::string words;
};

// Up to `cycles` cycles; stops at a difference or the end. Returns whether the recording goes on.
static bool go(Run& run, const Words& recording, const uint16_t*& at, long cycles, Found& found) {
    for (long n = 0; n < cycles; ++n) {
        if (at > recording.begin) ++found.cycles;
        const bool more = run.step(recording, at);
        found.first = run.difference();
        if (found.first >= 0 || !more) return false;
    }
    return true;
}

static Found replay(Run& run, unsigned mutant, const Words& recording) {
    Found found;
    run.top.next_mutant = mutant;
    const uint16_t* at = recording.begin;
    while (go(run, recording, at, BLOCK, found)) {}
    return found;
}

static Found watch(Run& run, const Words& recording, const std::string& path) {
    Found found;
    std::vector<uint16_t> out;
    std::set<unsigned> all;
    auto* const hit = reinterpret_cast<uint32_t*>(&run.top.hit);
    const unsigned words = sizeof(run.top.hit) / 4;
    run.top.next_mutant = 0;
    run.top.watching = 1;
    const uint16_t* at = recording.begin;
    for (bool more = true; more;) {
        more = go(run, recording, at, BLOCK, found);
        const size_t place = out.size();
        out.push_back(0);
        for (unsigned n = 0; n < 32 * words; ++n)
            if (hit[n / 32] >> (n % 32) & 1) {
                out.push_back(n);
                all.insert(n);
            }
        out[place] = out.size() - place - 1;
        std::memset(hit, 0, 4 * words);
    }
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(out.data()), 2 * out.size());
    for (unsigned n : all) found.words += " " + std::to_string(n);
    return found;
}

static Found group(Run& run, const Words& recording, const Words& told, const std::set<unsigned>& mutants) {
    Found found;
    std::set<unsigned> left = mutants;
    std::map<unsigned, State> active;  // those in a state of their own
    std::map<unsigned, Found> owns;
    run.top.next_mutant = 0;
    State design = run.save();
    const uint16_t* at = recording.begin;
    const uint16_t* block = told.begin;
    for (bool more = true; more && !left.empty();) {
        // As both are without the mutant, after the same edges.
        run.restore(design);
        run.become(0);
        const State settled = run.save();
        for (auto item = active.begin(); item != active.end();) {
            run.restore(item->second);
            run.become(0);
            const bool same = !std::memcmp(static_cast<const void*>(run.top.rootp), settled.data(), settled.size());
            item = same ? active.erase(item) : std::next(item);
        }
        for (unsigned count = block < told.end ? *block++ : 0; count; --count) {
            const unsigned mutant = *block++;
            if (left.count(mutant) && !active.count(mutant)) {
                run.restore(settled);
                run.become(mutant);
                active[mutant] = run.save();
            }
        }
        const uint16_t* const begin = at;
        for (auto item = active.begin(); item != active.end();) {
            Found& own = owns[item->first];
            at = begin;
            run.restore(item->second);
            go(run, recording, at, BLOCK, own);
            if (own.first >= 0) {
                left.erase(item->first);
                item = active.erase(item);
            } else {
                item->second = run.save();
                ++item;
            }
        }
        at = begin;
        run.restore(design);
        more = go(run, recording, at, BLOCK, found);
        design = run.save();
    }
    for (const auto& [mutant, own] : owns)
        found.words += " " + std::to_string(mutant) + ":" + std::to_string(own.first) + ":" + std::to_string(own.cycles);
    return found;
}

int main() {
    VerilatedContext context;
    Vreplay top{&context};
    static_assert(sizeof(top.next_ins) >= INPUT_WORDS * 4 && sizeof(top.next_expected) >= OUTPUT_WORDS * 4, "ports");
    top.eval();
    Run run(top);
    const State start = run.save();
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<std::string> words;
        std::istringstream text(line);
        for (std::string word; std::getline(text, word, '\t');) words.push_back(word);
        const clock_t began = clock();
        run.restore(start);
        Found found;
        if (words.at(0) == "run") {
            found = replay(run, std::stoul(words.at(1)), load(words.at(2)));
        } else if (words[0] == "watch") {
            found = watch(run, load(words.at(1)), words.at(2));
        } else {
            std::set<unsigned> mutants;
            std::istringstream list(words.at(3));
            for (std::string number; std::getline(list, number, ',');) mutants.insert(std::stoul(number));
            found = group(run, load(words.at(1)), load(words.at(2)), mutants);
        }
        std::cout << found.cycles << ' ' << found.first << ' ' << (clock() - began) * 1000000 / CLOCKS_PER_SEC << found.words
                  << std::endl;
    }
    _exit(0);
}
