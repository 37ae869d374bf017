// Sums of squares of a signal and of an error in it, and their ratio.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace cait::engine {

struct SignalNoise {
    double signal = 0, noise = 0;

    void add(std::span<const float> expected, std::span<const float> found) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const double lost = double(found[i]) - double(expected[i]);
            signal += double(expected[i]) * double(expected[i]);
            noise += lost * lost;
        }
    }

    // No noise, and nothing at all, count as the most.
    double decibels() const {
        constexpr double kMost = 200;
        if (!(noise > 0)) return kMost;
        return signal > 0 ? std::clamp(10 * std::log10(signal / noise), -kMost, kMost) : -kMost;
    }
};

}  // namespace cait::engine
