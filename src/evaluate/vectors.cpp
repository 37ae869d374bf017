#include "evaluate/vectors.h"

#include <fmt/format.h>

#include <cmath>

#include "cait/error.h"

namespace cait {

void normalise(Vectors& vectors, const std::string& source) {
    for (std::size_t i = 0; i < vectors.rows; ++i) {
        const std::span<float> row(vectors.values.data() + i * vectors.columns, vectors.columns);
        double sum = 0;
        for (const float value : row) sum += double(value) * double(value);
        if (!std::isfinite(sum))
            throw Error(fmt::format("{}: vector {}: expected finite values", source, i));
        const double length = std::sqrt(sum);
        if (length > 0)
            for (float& value : row) value = float(double(value) / length);
    }
}

}  // namespace cait
