// Tensor names under two conventions: ours, which is that of the official checkpoints, and another
// library's. A rule maps one to the other in both directions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cait {

// Dotted patterns. `*` stands for exactly one component and is carried over in order; a last `**`
// stands for the rest, one component or more. {"blocks.*.gamma_1", "blocks.*.ls1.gamma"}.
struct Rename {
    std::string official;
    std::string alias;
};

// The first rule that fits decides; a name that no rule fits is returned as it is.
std::string to_official(std::string_view name, std::span<const Rename> rules);
std::string to_alias(std::string_view name, std::span<const Rename> rules);

}  // namespace cait
