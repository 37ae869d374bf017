// Many N(0, 1) numbers at once, for erasing with noise: vectorised, and the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace cait {

// Number i is a function of the key, the purpose and i alone.
void fill_normal(std::uint64_t key, std::uint64_t purpose, std::span<float> values);

}  // namespace cait
