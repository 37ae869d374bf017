// A list of strangers names files below its folder only.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

namespace cait {

inline bool is_below_folder(const std::string& name) {
    const std::filesystem::path path = name;
    return !path.empty() && !path.is_absolute() &&
           std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

}  // namespace cait
