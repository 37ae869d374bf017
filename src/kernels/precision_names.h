// The words for a model's precision (fp32, bf16) in commands, recipes and cait/c.h, out of the
// table of number formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cait/precision.h"

namespace cait {

std::vector<std::string> precision_names();
std::string name_of(Precision precision);
Precision precision_of(std::string_view word);  // throws UsageError for another word

}  // namespace cait
