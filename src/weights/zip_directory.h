// The table of contents of a zip archive whose entries are stored, not compressed: each entry is a
// span of the mapped file. A zip library would copy every entry; weights are meant to stay mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

struct ZipEntry {
    std::string name;  // a copy: entries are sorted by it, and what is mapped may change
    std::span<const std::byte> bytes;
    std::uint32_t crc = 0;  // CRC-32 as the directory states it; not compared here
};

class ZipDirectory {
public:
    // Reads the central directory (zip64 too). Throws Error for compressed or encrypted entries,
    // for entries that overlap or lie outside, for repeated names and for archives in parts.
    static ZipDirectory read(std::span<const std::byte> bytes, const std::string& file);

    std::span<const ZipEntry> entries() const noexcept { return entries_; }  // sorted by name
    std::optional<std::span<const std::byte>> find(std::string_view name) const;

private:
    std::vector<ZipEntry> entries_;
};

}  // namespace cait
