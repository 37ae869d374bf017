// Measures what the machine could do at best: bare arithmetic per number format, and memory. What
// kernels reach is reported as a share of these, measured in the same run.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/format.h"
#include "system/isa.h"

namespace cait::kernels {

struct PeakKind {
    Format format = Format::f32;
    Isa isa = Isa::portable;  // whose instructions do it
};

// What this machine has within CAIT_ISA: float32 by the best vectors, bfloat16 by AVX512_BF16, int8
// by the best vectors for bytes, both also by AMX.
std::vector<PeakKind> peak_kinds();

// 1e9 operations per second (a multiply-add is 2) of all threads together: the best of many short
// runs within about `seconds`, so that a neighbour's load counts little.
double measure_peak(const PeakKind& kind, int threads, double seconds);

// 1e9 bytes per second of all threads together, as above. Working sets of `bytes` in total should
// be several times the last cache. A copy counts what it reads and what it writes.
double measure_read(int threads, std::size_t bytes, double seconds);
double measure_copy(int threads, std::size_t bytes, double seconds);

// Only for processors with the instructions; like KernelTable::multiply_adds.
double bf16_dot_products(std::int64_t rounds, float* sink);   // AVX512_BF16
double bf16_tile_products(std::int64_t rounds, float* sink);  // AMX
double int8_tile_products(std::int64_t rounds, float* sink);  // AMX

}  // namespace cait::kernels
