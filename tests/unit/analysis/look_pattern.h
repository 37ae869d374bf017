// The vectors of tests/golden/make_look.py: three groups around centres of their own.
#pragma once

#include <string>

#include "evaluate/vectors.h"
#include "golden/pattern.h"

namespace cait::look_test {

inline Vectors vectors(const std::string& name, std::size_t rows, std::size_t columns) {
    constexpr std::size_t kGroups = 3;
    const std::uint64_t noise = golden::hash_of(name), centres = golden::hash_of(name + " centres");
    Vectors result{rows, columns, {}};
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < columns; ++i) {
            const double value = golden::uniform(noise, row * columns + i) +
                                 golden::uniform(centres, row % kGroups * columns + i);
            result.values.push_back(float(value * (1 / (1 + double(i)))));
        }
    return result;
}

}  // namespace cait::look_test
