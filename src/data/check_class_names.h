// Class names that no model file could hold are refused when a data set is opened: at the end of
// the first epoch it would be too late.
#pragma once

#include <string>
#include <vector>

namespace cait {

// Throws Error, opening with `source`, for a name that is not UTF-8.
void check_class_names(const std::vector<std::string>& names, const std::string& source);

}  // namespace cait
