#include "base/content_hash.h"

#include <array>
#include <cstring>

namespace cait {

// In four sums at once, so that memory is the limit and not the multiplications.
std::uint64_t content_hash(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
    constexpr std::size_t kLanes = 4;
    std::array<std::uint64_t, kLanes> sums{1, 2, 3, 4};
    const auto stir = [](std::uint64_t sum, std::uint64_t word) {
        sum = (sum ^ word) * kPrime;
        return sum ^ sum >> 29;
    };
    const std::byte* data = bytes.data();
    const std::size_t size = bytes.size();
    std::size_t i = 0;
    for (; i + 8 * kLanes <= size; i += 8 * kLanes) {
        std::array<std::uint64_t, kLanes> words;
        std::memcpy(words.data(), data + i, sizeof words);
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            sums[lane] = stir(sums[lane], words[lane]);
    }
    std::uint64_t hash = stir(kPrime, size);  // never 0, which a zero byte would not change
    for (; i < size; ++i) hash = stir(hash, std::uint64_t(data[i]));
    for (const std::uint64_t sum : sums) hash = stir(hash, sum);
    return hash;
}

}  // namespace cait
