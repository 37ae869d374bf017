// How fast a model is on this machine, and where its time goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cait/model.h"
#include "cait/precision.h"

namespace cait {

// One setting of all that can be varied.
struct BenchCase {
    std::size_t batch = 1;
    Precision precision = Precision::fp32;
    int threads = 1;
    std::vector<std::string> keep = {};  // of int8, as SessionOptions has it
};

struct BenchEffort {
    double seconds = 2;    // to measure for
    std::size_t runs = 0;  // exactly this many runs instead; 0: by time
};

struct BenchResult {
    std::string model;
    std::int64_t image_height = 0, image_width = 0;
    BenchCase with;
    std::size_t runs = 0;
    double images_per_second = 0;                // of all runs together
    double p50_ms = 0, p99_ms = 0, mean_ms = 0;  // of one run
    double gflops = 0;                           // a multiply-add is 2
    double peak_share = 0;  // of what these threads can compute at best, measured beside
    double start_ms = 0;    // packing the weights and laying out memory
    double first_ms = 0;    // the first run
    double weights_mib = 0, activations_mib = 0;
    double resident_mib = 0;  // of the process after the last run
    double peak_mib = 0;      // of the process so far
};

struct LayerTime {
    std::string name;
    std::string op;
    double ms = 0;  // of one image, on one thread
    double share = 0;
};

BenchResult bench_model(const Model& model, const BenchCase& with, const BenchEffort& effort);
// Where the time goes: on one thread, step by step.
std::vector<LayerTime> bench_layers(const Model& model, const BenchCase& with,
                                    const BenchEffort& effort);

}  // namespace cait
