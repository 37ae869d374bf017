// A model whose weights are kept as whole numbers of a byte: a file of little more than a quarter
// of the size, for SessionOptions::precision int8. Link cait::engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"

namespace cait {

struct QuantizeOptions {
    // Smoothing moves a part of the range of a layer norm's channels into the linear map behind it,
    // which is exact but for rounding: `strength` 0 leaves all of it in the activations, 1 moves
    // all of it. choose: for each norm the strength with the least error on the images, or none.
    enum class Smoothing { off, choose, fixed };
    Smoothing smoothing = Smoothing::off;
    double strength = 0.5;               // of `fixed`
    std::vector<std::string> keep = {};  // as SessionOptions has it; the file remembers it
    int threads = 0;                     // 0: as many processors as this process may use
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// Ratios of signal to noise, in decibels: 40 is an error of 1 % of the signal. At most 200.
struct LayerError {
    std::string name;
    std::string op;
    double weights_db = 0;               // of its rounded weights
    std::optional<double> results_db{};  // of its results, errors of the layers before included
    std::optional<double> logits_db{};   // of the logits where this layer alone is int8
    std::optional<double> smoothing{};   // the strength; none: not smoothed
};

struct QuantizedModel {
    Model model;
    std::vector<LayerError> layers;                  // in the order in which they run
    std::optional<double> logits_db{};               // of int8 against the model as it was
    std::size_t images = 0;                          // that this and the layers were measured with
    std::int64_t bytes_before = 0, bytes_after = 0;  // of the weights, before as float32
};

// images [B, C, H, W] float32, prepared as for Session::run, show what the layers see; without them
// there is no smoothing, and only the weights' own errors are known. Throws Error for a model that
// is int8 already or has no product that could be, UsageError for smoothing without images.
QuantizedModel quantize(const Model& model, const Tensor& images = {},
                        const QuantizeOptions& options = {});

}  // namespace cait
