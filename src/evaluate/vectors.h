// Many vectors of the same length, one row each: what a network makes of images.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cait {

struct Vectors {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<float> values;  // (rows, columns)

    std::span<const float> row(std::size_t i) const {
        return std::span(values).subspan(i * columns, columns);
    }
};

// Every row divided by its length, so that inner products are cosines; a row of zeros stays. Throws
// Error, opening with `source`, where a value is not finite.
void normalise(Vectors& vectors, const std::string& source);

}  // namespace cait
