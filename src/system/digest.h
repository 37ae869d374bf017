// MD5 (RFC 1321) and SHA-256 (FIPS 180-4): the checksums under which data sets are published. MD5
// tells a broken download from a good one, but not a forged one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace cait {

enum class DigestKind { md5, sha256 };

std::string_view name_of(DigestKind kind);  // "MD5", "SHA-256"

class Digest {
public:
    explicit Digest(DigestKind kind);

    void add(std::span<const std::byte> bytes);
    std::string hex();  // lower case; ends the message

private:
    void block(const std::uint8_t* bytes);

    DigestKind kind_;
    std::array<std::uint32_t, 8> state_;
    std::array<std::uint8_t, 64> pending_{};
    std::uint64_t length_ = 0;  // bytes
};

// Throws Error, naming the file, when it cannot be read.
std::string file_digest(const std::filesystem::path& path, DigestKind kind);

}  // namespace cait
