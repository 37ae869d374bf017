// Names that come from a file, made fit for an error message: one line, bounded, plain ASCII.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cait {

// Control and non-ASCII bytes become \xNN; what is longer than `most` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t most = 160);

}  // namespace cait
