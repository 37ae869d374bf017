// Do vectors tell more than the labels that they were trained with? Every class is split at random
// into two, and a linear classifier learns to tell the halves apart (Touvron's thesis,
// section 2.2): the better it fits what is nothing but chance, the further the images of a class
// lie apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

struct SeparabilityOptions {
    std::size_t draws = 10;
    std::uint64_t seed = 0;
    int threads = default_threads();
    // (rows, classes): probabilities of the coarse classes by the model's own classifier, for the
    // accuracy that is conditioned on it; empty: there is no such classifier.
    std::span<const double> coarse = {};
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

// Of one draw; accuracies are those on the images that the classifier was fitted to.
struct SeparabilityDraw {
    double top1 = 0;
    double conditional = 0;  // meaningless without SeparabilityOptions::coarse
    std::size_t iterations = 0;
    bool converged = false;
};

// Classes 2 c and 2 c + 1 for the halves of class c: as many of one as of the other, of an odd
// number one more of the first. A function of seed and draw.
std::vector<std::int64_t> split_classes(std::span<const std::int64_t> labels, std::size_t classes,
                                        std::uint64_t seed, std::size_t draw);

// Throws Error, opening with `source`, for fewer than two classes with images or a class of one.
void check_split(std::span<const std::int64_t> labels, std::size_t classes,
                 const std::string& source);

// `labels` are below `classes`. Throws as check_split() and LinearProbe do.
std::vector<SeparabilityDraw> separability(const Vectors& vectors,
                                           std::span<const std::int64_t> labels,
                                           std::size_t classes, const std::string& source,
                                           const SeparabilityOptions& options);

}  // namespace cait
