// Tensor names under two conventions: ours, which is that of the official checkpoints, and another
// library's. A rule maps one to the other in both directions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cait {

// Dotted patterns. `*` stands for exactly one component and is carried over in order; a last `**`
// stands for the rest, one component or more. {"blocks.*.gamma_1", "blocks.*.ls1.gamma"}.
struct Rename {
    std::string official;
    std::string alias;
    std::size_t axes = 0;  // that the other library gives a vector, as in [1, 1, D]; 0: as ours
};

// The first rule that fits decides; a name that no rule fits is returned as it is.
std::string to_official(std::string_view name, std::span<const Rename> rules);
std::string to_alias(std::string_view name, std::span<const Rename> rules);
// How many axes the other library gives the tensor of that official name; 0: as many as ours.
std::size_t alias_axes(std::string_view name, std::span<const Rename> rules);

}  // namespace cait
