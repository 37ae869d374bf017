#include "base/philox.h"

#include <cmath>
#include <numbers>

namespace cait {

PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_high,
                   std::uint64_t counter_low) noexcept {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
    constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
    constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
    constexpr int kRounds = 10;

    PhiloxBlock c{std::uint32_t(counter_low), std::uint32_t(counter_low >> 32),
                  std::uint32_t(counter_high), std::uint32_t(counter_high >> 32)};
    auto key0 = std::uint32_t(key);
    auto key1 = std::uint32_t(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t product0 = kMultiplier0 * c[0];
        const std::uint64_t product1 = kMultiplier1 * c[2];
        c = {std::uint32_t(product1 >> 32) ^ c[1] ^ key0, std::uint32_t(product1),
             std::uint32_t(product0 >> 32) ^ c[3] ^ key1, std::uint32_t(product0)};
        key0 += kWeyl0;
        key1 += kWeyl1;
    }
    return c;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose)
    : RandomStream(seed, stable_hash(purpose)) {}

std::uint32_t RandomStream::bits() noexcept {
    if (used_ == block_.size()) {
        block_ = philox(seed_, purpose_, block_index_++);
        used_ = 0;
    }
    return block_[used_++];
}

float RandomStream::uniform() noexcept { return float(bits() >> 8) * 0x1p-24F; }

float RandomStream::normal() noexcept {
    if (has_spare_) {
        has_spare_ = false;
        return spare_normal_;
    }
    // In double, so that the values agree on every machine after rounding to float.
    const double u = (double(bits()) + 1.0) * 0x1p-32;  // (0, 1]: the logarithm stays finite
    const double angle = 2.0 * std::numbers::pi * (double(bits()) * 0x1p-32);
    const double radius = std::sqrt(-2.0 * std::log(u));
    spare_normal_ = float(radius * std::sin(angle));
    has_spare_ = true;
    return float(radius * std::cos(angle));
}

std::uint64_t stable_hash(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash ^= std::uint8_t(c);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}

}  // namespace cait
