// The formats of the kernels' table, for loops over them.
#pragma once

#include <vector>

#include "kernels/format.h"

namespace cait::test {

inline std::vector<kernels::Format> all_formats() {
    std::vector<kernels::Format> formats;
    for (const kernels::FormatRow& row : kernels::kFormats) formats.push_back(row.format);
    return formats;
}

}  // namespace cait::test
