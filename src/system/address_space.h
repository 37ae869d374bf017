// How much memory the process may still map (`ulimit -v`, overcommit). OpenBLAS maps 128 MiB for
// each of its threads while it is being loaded and once more for each caller, and where it gets
// nothing it asks again for ever; so its callers ask here first.
#pragma once

#include <cstdint>
#include <optional>

namespace cait {

constexpr std::uint64_t kBlasBuffer = std::uint64_t{128} << 20;  // OpenBLAS 0.3 on x86-64

// What `ulimit -v` allows, in bytes; nothing where it does not limit.
std::optional<std::uint64_t> address_space_limit();

// Whether this many bytes could be mapped now.
bool can_map(std::uint64_t bytes);

}  // namespace cait
