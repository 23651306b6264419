// SPDX-License-Identifier: Apache-2.0
// What replaces parts of Verilator's coverage library (verilated_cov.h, 5.48), for every C++ file of a coverage build.
//
// Verilator's library keeps a sorted table of texts, and writes it in each run, which takes longer than most runs. Here
// a run writes one bit for each point, in the order of the points: whether its counter is 0; the first in bit 0 of the
// first byte. The file that CARILLON_COVERAGE_POINTS names gets the points, one a line, unless it is there. The linker
// is told to --wrap what writes the file.
#ifndef CARILLON_COVERAGE_COUNTS_H
#define CARILLON_COVERAGE_COUNTS_H

#include "verilated.h"
#include "verilated_cov.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

struct CarillonPoints {
    std::vector<const uint32_t*> counters;
    std::string name;  // of the list of points, if it is to be written
    std::string part;  // its name until it is whole; forks of this process have the same one
    FILE* list = nullptr;

    CarillonPoints() {
        const char* const wanted = std::getenv("CARILLON_COVERAGE_POINTS");
        if (!wanted || access(wanted, F_OK) == 0) return;
        name = wanted;
        part = name + "." + std::to_string(getpid());
        list = std::fopen(part.c_str(), "w");
    }

    void field(const char* key, const char* value) const {
        static const char* const SHORT[][2] = {{"filename", "f"}, {"lineno", "l"}, {"column", "n"}, {"hier", "h"},
                                               {"comment", "o"}, {"linescov", "S"}};
        if (!*key || !*value) return;
        for (const auto& known : SHORT) {
            if (!std::strcmp(key, known[0])) key = known[1];
        }
        std::fprintf(list, "\1%s\2%s", key, value);
    }

    void field(const char* key, int value) const { field(key, std::to_string(value).c_str()); }

    void fields() const { std::fputc('\n', list); }

    template <class T, class... More>
    void fields(const char* key, T value, More... more) const {
        field(key, value);
        fields(more...);
    }

    template <class... Fields>
    void insert(const uint32_t* counter, Fields... all) {
        counters.push_back(counter);
        if (list) fields(all...);
    }

    void write(const char* file) {
        std::vector<unsigned char> bits((counters.size() + 7) / 8);
        for (size_t i = 0; i < counters.size(); ++i) {
            if (*counters[i]) bits[i / 8] |= 1U << (i % 8);
        }
        if (FILE* const out = std::fopen(file, "wb")) {
            std::fwrite(bits.data(), 1, bits.size(), out);
            std::fclose(out);
        }
        if (!list) return;
        std::fclose(list);
        list = nullptr;
        std::rename(part.c_str(), name.c_str());
    }
};

inline CarillonPoints& carillon_points() {
    static CarillonPoints points;
    return points;
}

#undef VL_COVER_INSERT
#define VL_COVER_INSERT(context, instance, counter, ...) \
    do { \
        (void)(context); \
        carillon_points().insert(counter, __VA_ARGS__); \
    } while (false)

// VerilatedCovContext::write(const std::string&)
extern "C" __attribute__((weak)) void
__wrap__ZN19VerilatedCovContext5writeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(VerilatedCovContext*, const std::string& file) {
    carillon_points().write(file.c_str());
}

#endif
