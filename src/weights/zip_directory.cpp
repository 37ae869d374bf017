#include "weights/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/printable.h"
#include "cait/error.h"
#include "weights/byte_reader.h"

namespace cait {

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Locator = 0x07064b50;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEnd64LocatorSize = 20;
constexpr std::size_t kCentralHeaderSize = 46;
constexpr std::uint32_t kSaturated = 0xffffffff;  // the value stands in a zip64 field instead

// Where the central directory lies and how many entries it has.
struct Extent {
    std::uint64_t offset = 0, size = 0, count = 0;
    std::size_t limit = 0;  // the end records start here
};

struct CentralEntry {
    std::string name;
    std::uint64_t offset = 0;  // of the local header
    std::uint64_t size = 0;
    std::span<const std::byte> bytes;
    std::uint32_t crc = 0;
};

class ArchiveReader {
public:
    ArchiveReader(std::span<const std::byte> bytes, const std::string& file)
        : bytes_(bytes), file_(file) {}

    std::vector<CentralEntry> read() {
        const Extent extent = find_directory();
        ByteReader reader(bytes_.subspan(extent.offset, extent.size), file_ + ": zip directory");
        std::vector<CentralEntry> entries;
        for (std::uint64_t i = 0; i < extent.count; ++i)
            entries.push_back(read_entry(reader, extent.offset));
        if (reader.remaining() != 0)
            fail(fmt::format("{} stray bytes in the directory", reader.remaining()));
        check_overlap(entries);
        return entries;
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}: zip: {}", file_, what));
    }

    [[noreturn]] void fail(std::string_view entry, const std::string& what) const {
        throw Error(fmt::format("{}: zip: '{}': {}", file_, printable(entry), what));
    }

    ByteReader at(std::size_t position) const { return {bytes_.subspan(position), file_}; }

    // The end record is followed by a comment of at most 64 kB and nothing else.
    std::size_t find_end() const {
        if (bytes_.size() < kEndSize) fail("truncated: no end record");
        const std::size_t last = bytes_.size() - kEndSize;
        const std::size_t first = last > 0xffff ? last - 0xffff : 0;
        for (std::size_t position = last + 1; position-- > first;) {
            ByteReader reader = at(position);
            if (reader.number<std::uint32_t>() != kEnd) continue;
            reader.take(16);
            if (reader.number<std::uint16_t>() == reader.remaining()) return position;
        }
        fail("truncated: no end record");
    }

    Extent find_directory() const {
        const std::size_t end = find_end();
        Extent extent;
        ByteReader reader = at(end + 4);
        const auto disk = reader.number<std::uint16_t>();
        const auto directory_disk = reader.number<std::uint16_t>();
        const auto count_here = reader.number<std::uint16_t>();
        extent.count = reader.number<std::uint16_t>();
        extent.size = reader.number<std::uint32_t>();
        extent.offset = reader.number<std::uint32_t>();
        extent.limit = end;
        if (disk != directory_disk || count_here != extent.count) fail("archive in several parts");
        read_end64(end, extent);
        if (extent.offset > extent.limit || extent.size > extent.limit - extent.offset)
            fail("directory out of range");
        if (extent.count > extent.size / kCentralHeaderSize)
            fail(fmt::format("{} entries do not fit a directory of {} bytes", extent.count,
                             extent.size));
        return extent;
    }

    // Torch always writes the zip64 records, even where the plain ones would do.
    void read_end64(std::size_t end, Extent& extent) const {
        if (end < kEnd64LocatorSize) return;
        ByteReader locator = at(end - kEnd64LocatorSize);
        if (locator.number<std::uint32_t>() != kEnd64Locator) return;
        locator.take(4);
        const auto position = locator.number<std::uint64_t>();
        if (position > end - kEnd64LocatorSize) fail("zip64 record out of range");
        ByteReader reader = at(std::size_t(position));
        if (reader.number<std::uint32_t>() != kEnd64) fail("zip64 record missing");
        reader.take(20);  // its size, versions and disks
        const auto count_here = reader.number<std::uint64_t>();
        extent.count = reader.number<std::uint64_t>();
        extent.size = reader.number<std::uint64_t>();
        extent.offset = reader.number<std::uint64_t>();
        extent.limit = std::size_t(position);
        if (count_here != extent.count) fail("archive in several parts");
    }

    CentralEntry read_entry(ByteReader& reader, std::uint64_t directory) const {
        if (reader.number<std::uint32_t>() != kCentralHeader) fail("broken directory entry");
        reader.take(4);  // versions
        const auto flags = reader.number<std::uint16_t>();
        const auto method = reader.number<std::uint16_t>();
        reader.take(4);  // time, date
        CentralEntry entry;
        entry.crc = reader.number<std::uint32_t>();
        std::uint64_t stored = reader.number<std::uint32_t>();
        entry.size = reader.number<std::uint32_t>();
        const auto name_length = reader.number<std::uint16_t>();
        const auto extra_length = reader.number<std::uint16_t>();
        const auto comment_length = reader.number<std::uint16_t>();
        reader.take(8);  // disk, attributes
        entry.offset = reader.number<std::uint32_t>();
        entry.name = reader.text(name_length);
        read_extra64(reader.take(extra_length), entry, stored);
        reader.take(comment_length);

        if ((flags & 1) != 0) fail(entry.name, "encrypted entry");
        if (method != 0)
            fail(entry.name, fmt::format("compressed entry (method {}), expected stored", method));
        if (stored != entry.size)
            fail(entry.name, fmt::format("stored entry of {} bytes claims {}", stored, entry.size));
        entry.bytes = locate(entry, directory);
        return entry;
    }

    // Only the values that are saturated in the header stand in the extra field, in this order.
    void read_extra64(std::span<const std::byte> extra, CentralEntry& entry,
                      std::uint64_t& stored) const {
        constexpr std::uint16_t kZip64 = 1;
        ByteReader reader(extra, file_ + ": zip: extra field");
        while (reader.remaining() >= 4) {
            const auto id = reader.number<std::uint16_t>();
            const auto length = reader.number<std::uint16_t>();
            ByteReader field(reader.take(length), reader.where());
            if (id != kZip64) continue;
            for (std::uint64_t* value : {&entry.size, &stored, &entry.offset})
                if (*value == kSaturated) *value = field.number<std::uint64_t>();
            return;
        }
    }

    std::span<const std::byte> locate(const CentralEntry& entry, std::uint64_t directory) const {
        if (entry.offset > directory) fail(entry.name, "out of range");
        const auto region = bytes_.first(directory).subspan(entry.offset);
        ByteReader reader(region, file_ + ": zip: local header");
        if (reader.number<std::uint32_t>() != kLocalHeader) fail(entry.name, "no local header");
        reader.take(2);  // version
        const auto flags = reader.number<std::uint16_t>();
        const auto method = reader.number<std::uint16_t>();
        reader.take(16);  // time, date, checksum, sizes: the directory's sizes are used
        const auto name_length = reader.number<std::uint16_t>();
        const auto extra_length = reader.number<std::uint16_t>();
        if ((flags & 1) != 0 || method != 0 || reader.text(name_length) != entry.name)
            fail(entry.name, "local header disagrees with the directory");
        reader.take(extra_length);
        if (entry.size > reader.remaining())
            fail(entry.name,
                 fmt::format("out of range: {} bytes, {} left", entry.size, reader.remaining()));
        return reader.take(entry.size);
    }

    void check_overlap(std::vector<CentralEntry>& entries) const {
        std::ranges::sort(entries, {}, &CentralEntry::offset);
        for (std::size_t i = 1; i < entries.size(); ++i) {
            const auto& before = entries[i - 1].bytes;
            if (before.data() + before.size() > bytes_.data() + entries[i].offset)
                fail(entries[i].name, "overlaps the entry before it");
        }
    }

    std::span<const std::byte> bytes_;
    const std::string& file_;
};

}  // namespace

ZipDirectory ZipDirectory::read(std::span<const std::byte> bytes, const std::string& file) {
    ZipDirectory directory;
    for (CentralEntry& entry : ArchiveReader(bytes, file).read())
        directory.entries_.push_back({std::move(entry.name), entry.bytes, entry.crc});
    std::ranges::sort(directory.entries_, {}, &ZipEntry::name);
    const auto twice = std::ranges::adjacent_find(directory.entries_, {}, &ZipEntry::name);
    if (twice != directory.entries_.end())
        throw Error(fmt::format("{}: zip: duplicate entry '{}'", file, printable(twice->name)));
    return directory;
}

std::optional<std::span<const std::byte>> ZipDirectory::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(entries_, name, {}, &ZipEntry::name);
    if (found == entries_.end() || found->name != name) return std::nullopt;
    return found->bytes;
}

}  // namespace cait
