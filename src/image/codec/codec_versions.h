// Versions of the libraries that decode and encode images, for `cait machine`: pixels can depend on
// them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cait {

// Name and version: what runs where the library can say so, otherwise what this was built with.
std::vector<std::pair<std::string, std::string>> codec_versions();

}  // namespace cait
