#include "data/formats/tar_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/formats/gzip.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"

namespace cait {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestHeader = std::size_t{1} << 20;  // extended: long names, mostly

struct Field {
    std::size_t begin, size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 6};
constexpr Field kPrefix{345, 155};

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view field(std::string_view block, Field where) {
    const std::string_view text = block.substr(where.begin, where.size);
    return text.substr(0, text.find('\0'));
}

// Octal digits, or, where the first bit is set, a big-endian number (GNU, beyond 8 GiB).
std::optional<std::uint64_t> number(std::string_view block, Field where) {
    std::string_view text = block.substr(where.begin, where.size);
    std::uint64_t value = 0;
    if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
        for (std::size_t i = 1; i < text.size(); ++i) {
            if (value >> 55 != 0) return std::nullopt;
            value = value << 8 | static_cast<unsigned char>(text[i]);
        }
        return value;
    }
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    text = text.substr(0, text.find_first_of(std::string_view("\0 ", 2)));
    for (const char c : text) {
        if (c < '0' || c > '7') return std::nullopt;
        value = value << 3 | std::uint64_t(c - '0');
    }
    return value;
}

// The checksum field itself counts as spaces.
std::uint64_t checksum(std::string_view block) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const bool own = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.size;
        sum += own ? ' ' : static_cast<unsigned char>(block[i]);
    }
    return sum;
}

std::uint64_t padding(std::uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

std::string name_of(std::string_view block) {
    std::string name(field(block, kName));
    const std::string_view prefix = field(block, kPrefix);
    if (field(block, kMagic) == "ustar" && !prefix.empty()) return std::string(prefix) + "/" + name;
    return name;
}

}  // namespace

TarReader::TarReader(std::span<const std::byte> bytes, std::string file)
    : bytes_(bytes), file_(std::move(file)) {}

std::span<const std::byte> TarReader::take(std::uint64_t size, std::string_view what) {
    const std::size_t left = bytes_.size() - position_;
    if (size > left)
        throw Error(fmt::format("{}: truncated: {} at byte {} needs {} bytes, {} left", file_,
                                display_name(what), position_, size, left));
    const auto result = bytes_.subspan(position_, size);
    // The last member's padding may be missing; tar itself does not mind.
    position_ += std::min<std::size_t>(size + padding(size), left);
    return result;
}

void TarReader::fail_long(const std::string& name) const {
    throw Error(fmt::format("{}: {}: expected an extended header of at most {} bytes, found more",
                            file_, display_name(name), kLongestHeader));
}

// "27 path=some/long/name\n": length of the whole record, key, value.
void TarReader::read_pax(std::string_view records) {
    while (!records.empty()) {
        std::size_t length = 0;
        std::size_t digits = 0;
        for (; digits < records.size() && digits < 9 && records[digits] >= '0' &&
               records[digits] <= '9';
             ++digits)
            length = length * 10 + std::size_t(records[digits] - '0');
        const std::size_t equals = records.find('=', digits);
        if (digits == 0 || length > records.size() || equals == std::string_view::npos ||
            equals + 1 >= length || records[digits] != ' ' || records[length - 1] != '\n')
            throw Error(fmt::format("{}: broken extended header before byte {}", file_, position_));
        const std::string_view key = records.substr(digits + 1, equals - digits - 1);
        const std::string_view value = records.substr(equals + 1, length - equals - 2);
        if (key == "path") next_name_ = std::string(value);
        if (key == "size") {
            constexpr std::size_t kMostDigits = 18;
            if (value.empty() || value.size() > kMostDigits ||
                value.find_first_not_of("0123456789") != std::string_view::npos)
                throw Error(fmt::format("{}: extended header: size {}: expected a number", file_,
                                        display_name(value)));
            next_size_ = std::stoll(std::string(value));
        }
        records.remove_prefix(length);
    }
}

bool TarReader::next(TarMember& member) {
    while (bytes_.size() - position_ >= kBlock) {
        const std::size_t at = position_;
        // A copy: what the checksum was right for is what is used, even if the file is written to.
        const std::string block(text_of(bytes_.subspan(at, kBlock)));
        // The end is marked by blocks of zeros; cat a.tar b.tar is not one archive.
        if (block.find_first_not_of('\0') == std::string_view::npos) return false;
        const auto stated = number(block, kChecksum);
        auto size = number(block, kSize);
        if (!stated || *stated != checksum(block) || !size)
            throw Error(fmt::format("{}: no tar header at byte {} (wrong checksum)", file_, at));
        position_ += kBlock;

        const char type = block[kType];
        const bool regular = type == '0' || type == '\0' || type == '7';
        if (regular && next_size_ >= 0) size = std::uint64_t(next_size_);
        std::string name = next_name_.empty() ? name_of(block) : next_name_;
        // Links and devices have no contents, whatever the field says.
        const bool empty = type >= '1' && type <= '6';
        const auto content = take(empty ? 0 : *size, name);
        if (type == 'x') {
            if (content.size() > kLongestHeader) fail_long(name);
            read_pax(std::string(text_of(content)));
            continue;
        }
        if (type == 'L') {
            if (content.size() > kLongestHeader) fail_long(name);
            next_name_ = std::string(text_of(content));
            next_name_.resize(std::min(next_name_.find('\0'), next_name_.size()));
            continue;
        }
        if (type == 'g' || type == 'K') continue;
        next_name_.clear();
        next_size_ = -1;
        if (!regular || name.ends_with('/')) continue;
        member = {std::move(name), content};
        return true;
    }
    if (position_ == 0)
        throw Error(fmt::format("{}: truncated: expected a tar header of {} bytes, found {}", file_,
                                kBlock, bytes_.size()));
    return false;
}

bool TarReader::has_end() const {
    return bytes_.size() - position_ >= 2 * kBlock &&
           text_of(bytes_.subspan(position_, 2 * kBlock)).find_first_not_of('\0') ==
               std::string_view::npos;
}

std::string tar_header(std::string_view name, std::uint64_t size) {
    if (name.empty() || name.size() > kName.size)
        throw Error(
            fmt::format("tar: name {}: expected 1 to {} bytes", display_name(name), kName.size));
    std::string block(kBlock, '\0');
    const auto put = [&](Field where, std::string_view text) {
        block.replace(where.begin, text.size(), text);
    };
    const auto octal = [&](Field where, std::uint64_t value) {
        put(where, fmt::format("{:0{}o}", value, where.size - 1));
    };
    put(kName, name);
    octal(kMode, 0644);
    octal(kOwner, 0);
    octal(kGroup, 0);
    octal(kSize, size);
    octal(kTime, 0);
    block[kType] = '0';
    put(kMagic, std::string_view("ustar\0"
                                 "00",
                                 8));
    put(kChecksum, fmt::format("{:06o}{} ", checksum(block), '\0'));  // its own, odd spelling
    return block;
}

std::string tar_padding(std::uint64_t size) { return std::string(padding(size), '\0'); }

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

namespace fs = std::filesystem;

namespace {

bool stays_inside(const fs::path& name) {
    return !name.empty() && name.is_relative() && std::ranges::find(name, "..") == name.end();
}

bool has_size(const fs::path& path, std::size_t size) {
    std::error_code error;
    return fs::is_regular_file(path, error) && fs::file_size(path, error) == size && !error;
}

}  // namespace

std::size_t unpack_tar_gz(const fs::path& archive, const fs::path& folder, std::size_t most) {
    const auto mapping = MappedFile::open(archive);
    const std::vector<std::byte> bytes = gunzip(mapping->bytes(), most + 1, archive.string());
    if (bytes.size() > most)
        throw Error(fmt::format("{}: unpacks to more than {} bytes", archive.string(), most));
    TarReader reader(bytes, archive.string());
    TarMember member;
    std::size_t count = 0;
    for (; reader.next(member); ++count) {
        if (!stays_inside(member.name))
            throw Error(fmt::format("{}: the name {} leads out of the folder", archive.string(),
                                    display_name(member.name)));
        const fs::path target = folder / member.name;
        if (has_size(target, member.bytes.size())) continue;
        fs::create_directories(target.parent_path());
        AtomicFile file(target);
        file.write(member.bytes);
        file.commit();
    }
    return count;
}

}  // namespace cait
