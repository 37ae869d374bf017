// How fast a model that translates is on this machine: made-up sentences of one length, and
// translations as long, so that every run does the same.
#pragma once

#include "cait/translator.h"
#include "engine/bench_model.h"

namespace cait {

inline constexpr std::int64_t kBenchPieces = 32;  // of a source and of a translation, with the end

struct TranslateBenchResult {
    std::string model;
    BenchCase with;  // its batch: sentences of a run
    std::size_t beam = 0, runs = 0;
    double sentences_per_second = 0, pieces_per_second = 0;  // pieces of translations
    double p50_ms = 0, p99_ms = 0, mean_ms = 0;              // of one run
    double start_ms = 0, first_ms = 0;
    double kept_mib = 0, peak_mib = 0;
};

TranslateBenchResult bench_translate(const Model& model, const BenchCase& with,
                                     const BenchEffort& effort);

}  // namespace cait
