// The one thing that is read of a YAML file: the class names of a data.yaml, as the tools around
// YOLO write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// What "names:" at the start of a line holds: [a, 'b'], {0: a, 1: b}, or lines "- a" or "0: a"
// below it; numbers have to be 0, 1, … in a row. Nothing where there is no such line. Throws Error,
// opening with `file`, for another form.
std::optional<std::vector<std::string>> read_yaml_names(std::string_view text,
                                                        const std::string& file);

}  // namespace cait
