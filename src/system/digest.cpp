#include "system/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "system/open_file.h"

namespace cait {

namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kLengthAt = 56;  // where the last block holds the length

// The first 32 fractional bits of the square roots of the first eight primes.
constexpr std::array<std::uint32_t, 8> kSha256Start = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

// The same of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kSha256Constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

constexpr std::array<std::uint32_t, 8> kMd5Start = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

// |sin(1)|, |sin(2)|, … in 32 fractional bits.
constexpr std::array<std::uint32_t, 64> kMd5Constants = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

constexpr std::array<std::array<int, 4>, 4> kMd5Shifts = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

std::uint32_t big_endian(const std::uint8_t* p) {
    return std::uint32_t(p[0]) << 24 | std::uint32_t(p[1]) << 16 | std::uint32_t(p[2]) << 8 | p[3];
}

std::uint32_t little_endian(const std::uint8_t* p) {
    return std::uint32_t(p[3]) << 24 | std::uint32_t(p[2]) << 16 | std::uint32_t(p[1]) << 8 | p[0];
}

void md5_block(std::array<std::uint32_t, 8>& state, const std::uint8_t* bytes) {
    auto [a, b, c, d] = std::array{state[0], state[1], state[2], state[3]};
    for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t round = i / 16;
        std::uint32_t mixed = 0;
        std::size_t word = 0;
        switch (round) {
            case 0: mixed = (b & c) | (~b & d), word = i; break;
            case 1: mixed = (b & d) | (c & ~d), word = 5 * i + 1; break;
            case 2: mixed = b ^ c ^ d, word = 3 * i + 5; break;
            default: mixed = c ^ (b | ~d), word = 7 * i; break;
        }
        mixed += a + kMd5Constants[i] + little_endian(bytes + 4 * (word % 16));
        a = d;
        d = c;
        c = b;
        b += std::rotl(mixed, kMd5Shifts[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void sha256_block(std::array<std::uint32_t, 8>& state, const std::uint8_t* bytes) {
    std::array<std::uint32_t, 64> words;
    for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(bytes + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t before = words[i - 15];
        const std::uint32_t last = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] +
                   (std::rotr(before, 7) ^ std::rotr(before, 18) ^ before >> 3) +
                   (std::rotr(last, 17) ^ std::rotr(last, 19) ^ last >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                    ((e & f) ^ (~e & g)) + kSha256Constants[i] + words[i];
        const std::uint32_t second =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const std::array<std::uint32_t, 8> worked{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += worked[i];
}

}  // namespace

std::string_view name_of(DigestKind kind) { return kind == DigestKind::md5 ? "MD5" : "SHA-256"; }

Digest::Digest(DigestKind kind)
    : kind_(kind), state_(kind == DigestKind::md5 ? kMd5Start : kSha256Start) {}

void Digest::block(const std::uint8_t* bytes) {
    if (kind_ == DigestKind::md5)
        md5_block(state_, bytes);
    else
        sha256_block(state_, bytes);
}

void Digest::add(std::span<const std::byte> bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    while (left > 0) {
        const std::size_t used = length_ % kBlock;
        const std::size_t take = std::min(kBlock - used, left);
        if (take == kBlock) {
            block(data);
        } else {
            std::copy_n(data, take, pending_.data() + used);
            if (used + take == kBlock) block(pending_.data());
        }
        length_ += take;
        data += take;
        left -= take;
    }
}

std::string Digest::hex() {
    const bool little = kind_ == DigestKind::md5;
    const std::uint64_t bits = length_ * 8;
    std::array<std::byte, kBlock + 8> tail{std::byte{0x80}};
    const std::size_t padding = (kBlock + kLengthAt - 1 - length_ % kBlock) % kBlock + 1;
    for (std::size_t i = 0; i < 8; ++i)
        tail[padding + i] = std::byte(bits >> (little ? 8 * i : 8 * (7 - i)));
    add(std::span(tail).first(padding + 8));

    std::string text;
    for (std::size_t i = 0; i < (little ? 4U : 8U); ++i)
        for (int byte = 0; byte < 4; ++byte)
            text += fmt::format("{:02x}", state_[i] >> (little ? 8 * byte : 24 - 8 * byte) & 0xff);
    return text;
}

std::string file_digest(const std::filesystem::path& path, DigestKind kind) {
    OpenFile file(path);
    Digest digest(kind);
    std::vector<std::byte> buffer(std::size_t{1} << 18);
    while (const std::size_t count = file.read(buffer)) digest.add(std::span(buffer).first(count));
    return digest.hex();
}

}  // namespace cait
