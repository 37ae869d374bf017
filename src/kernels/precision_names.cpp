#include "kernels/precision_names.h"

#include "cait/error.h"
#include "kernels/format.h"

namespace cait {

std::vector<std::string> precision_names() {
    std::vector<std::string> names;
    for (const kernels::FormatRow& row : kernels::kFormats) names.emplace_back(row.precision_name);
    return names;
}

std::string name_of(Precision precision) { return kernels::row_of(precision).precision_name; }

Precision precision_of(std::string_view word) {
    std::string known;
    for (const kernels::FormatRow& row : kernels::kFormats) {
        if (word == row.precision_name) return row.precision;
        known += (known.empty() ? "" : " or ") + std::string(row.precision_name);
    }
    throw UsageError("precision: expected " + known + ", found " + std::string(word));
}

}  // namespace cait
