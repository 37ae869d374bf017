// A toy graph with two inputs, which every walker has to tell apart.
#pragma once

#include <array>

#include "graph/builder.h"

namespace cait::test {

// left [B, 3], right [B, 2, 3] → y [B, 2, 3] = 2 left + 10 right
inline Graph two_inputs() {
    Builder b({.taps = {"y"}});
    const Value right = b.input("right", {Shape::kBatch, 2, 3});
    const Value left = b.input("left", {Shape::kBatch, 3});
    const Value row = b.reshape(left, {Shape::kBatch, 1, 3});
    b.output("y", b.add(b.scale(row, 2), b.scale(right, 10)));
    return b.finish();
}

inline constexpr std::array kLeft{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};  // of a batch of two
inline constexpr std::array kRight{0.0F, 1.0F, 2.0F, 3.0F, 4.0F,  5.0F,
                                   6.0F, 7.0F, 8.0F, 9.0F, 10.0F, 11.0F};
inline constexpr std::array kTwoInputsResult{2.0F,  14.0F, 26.0F, 32.0F, 44.0F,  56.0F,
                                             68.0F, 80.0F, 92.0F, 98.0F, 110.0F, 122.0F};

}  // namespace cait::test
