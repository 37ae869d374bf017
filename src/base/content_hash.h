// A fast 64-bit hash of bytes, as quick as memory gives them (system/digest.h is a hundred times
// slower): what a disk or a copy changed is noticed, what somebody forged on purpose is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cait {

// A change within one of the words of eight bytes gives another hash for certain; others escape
// once in 2^64 times.
std::uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace cait
