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

// Those whose elements are values by themselves, without the scale of a row: what any kernel can
// read and write.
inline std::vector<kernels::Format> float_formats() {
    std::vector<kernels::Format> formats = all_formats();
    std::erase_if(formats,
                  [](kernels::Format format) { return kernels::row_of(format).lhs_trailer > 0; });
    return formats;
}

}  // namespace cait::test
