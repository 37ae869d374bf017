// Comparing tensors: the largest difference, relative to the spread of the expected values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cait/tensor.h"

namespace cait::test {

inline double deviation(std::span<const float> values) {
    double mean = 0;
    for (const float v : values) mean += v;
    mean /= double(values.size());
    double sum = 0;
    for (const float v : values) sum += (v - mean) * (v - mean);
    return std::sqrt(sum / double(values.size()));
}

inline double largest_difference(std::span<const float> a, std::span<const float> b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::fabs(double(a[i]) - double(b[i]));
        // A NaN compares false with everything and must not pass for agreement.
        if (!(difference <= most)) most = std::isnan(difference) ? INFINITY : difference;
    }
    return most;
}

inline void expect_within(const Tensor& found, const Tensor& expected, double absolute,
                          const std::string& what) {
    ASSERT_EQ(found.shape(), expected.shape()) << what;
    EXPECT_LE(largest_difference(found.floats(), expected.floats()), absolute) << what;
}

// Within `fraction` of the expected values' standard deviation.
inline void expect_close(const Tensor& found, const Tensor& expected, double fraction,
                         const std::string& what) {
    expect_within(found, expected, fraction * deviation(expected.floats()), what);
}

}  // namespace cait::test
