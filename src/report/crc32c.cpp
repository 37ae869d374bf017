#include "report/crc32c.h"

#include <array>
#include <bit>

namespace cait {

namespace {

constexpr std::array<std::uint32_t, 256> kTable = [] {
    constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41, lowest bit first
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
        table[i] = value;
    }
    return table;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t value = 0xffffffff;
    for (const std::byte byte : bytes)
        value = (value >> 8) ^ kTable[(value ^ std::uint32_t(byte)) & 0xff];
    return ~value;
}

std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
    constexpr std::uint32_t kShift = 0xa282ead8;
    return std::rotr(crc32c(bytes), 15) + kShift;
}

}  // namespace cait
