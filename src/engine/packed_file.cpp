#include "engine/packed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/content_hash.h"
#include "base/display_name.h"
#include "cait/error.h"
#include "kernels/dispatch.h"
#include "system/atomic_file.h"
#include "system/open_file.h"

namespace cait::engine {

namespace {

using kernels::Index;
using kernels::PackedView;
using Json = nlohmann::json;

constexpr std::string_view kMagic = "CAITPACK";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kLine = 64;  // matrices start at cache lines
constexpr std::uint64_t kMostJson = 8 << 20;
constexpr int kDeepestJson = 4;  // brackets alone take a hundred times their own memory
constexpr Index kMostExtent = Index{1} << 40;

// What a file starts with; JSON follows, padded by spaces to a cache line, then the matrices.
struct Head {
    std::array<char, 8> magic{};
    std::uint32_t version = kVersion;
    std::uint32_t zero = 0;
    std::uint64_t length = 0;  // of the JSON
    std::uint64_t hash = 0;    // of the head, with zero in this place, and the JSON
    std::array<std::uint64_t, 3> zeros{};
    std::array<char, 8>
        again{};  // the magic word: damage to one of the two does not hide whose it is
};
static_assert(sizeof(Head) == kLine);

bool is_magic(const std::array<char, 8>& word) {
    return std::string_view(word.data(), word.size()) == kMagic;
}

std::uint64_t hash_of(Head head, std::string_view json) {
    head.hash = 0;
    std::string text(reinterpret_cast<const char*>(&head), sizeof head);
    text += json;
    return content_hash(std::as_bytes(std::span(text)));
}

std::uint64_t aligned(std::uint64_t size) { return (size + kLine - 1) / kLine * kLine; }

std::span<const std::byte> bytes_of(const PackedView& view) {
    return {static_cast<const std::byte*>(view.data), std::size_t(packed_size(view))};
}

Json describe(const std::string& key, const PackedEntry& entry, std::uint64_t offset) {
    return {{"key", key},
            {"offset", offset},
            {"rows", entry.view.rows},
            {"columns", entry.view.columns},
            {"format", kernels::row_of(entry.view.format).name},
            {"hash", entry.hash}};
}

// Of this file in these words, for the handler in open().
class Damage : public Error {
public:
    using Error::Error;
};

// The file is whole, but of another processor or another version of ours.
class NotOurs : public Error {
public:
    using Error::Error;
};

}  // namespace

std::uint64_t packed_size(const PackedView& view) {
    return std::uint64_t(kernels::products(view.format).packed_bytes(view.rows, view.columns));
}

PackedEntry PackedEntry::of(const PackedView& view) { return {view, content_hash(bytes_of(view))}; }

// Matrices lie one after another, with zeros up to the next cache line and nothing behind the last.
void PackedFile::read_index(const std::string& text, std::uint64_t start) {
    const std::span<const std::byte> bytes = file_->bytes();
    const Json index = Json::parse(text, [](int depth, Json::parse_event_t, const Json&) {
        if (depth > kDeepestJson) throw Damage("its index is too deep");
        return true;
    });
    if (index.at("isa") != kernels::best_kernels().name) throw NotOurs("of another processor");
    for (const Json& item : index.at("matrices")) {
        const std::string key = item.at("key");
        const std::string what = "matrix " + display_name(key);
        PackedEntry entry;
        PackedView& view = entry.view;
        view.rows = item.at("rows");
        view.columns = item.at("columns");
        const auto* row = kernels::format_named(item.at("format").get<std::string>().c_str());
        if (row == nullptr) throw Damage(what + ": unknown number format");
        view.format = row->format;
        view.layout = kernels::products(view.format).layout;
        const bool fits = view.rows > 0 && view.columns > 0 &&
                          view.rows <= kMostExtent / view.columns && item.at("offset") == start &&
                          start <= bytes.size() && packed_size(view) <= bytes.size() - start;
        if (!fits) throw Damage(what + ": it does not fit the file");
        view.data = bytes.data() + start;
        entry.hash = item.at("hash");
        if (content_hash(bytes_of(view)) != entry.hash) throw Damage(what + ": wrong checksum");
        const std::uint64_t end = start + packed_size(view);
        start = std::min<std::uint64_t>(aligned(end), bytes.size());
        for (const std::byte byte : bytes.subspan(end, start - end))
            if (byte != std::byte{0}) throw Damage(what + ": expected zeros behind it");
        matrices_[key] = entry;
    }
    if (start != bytes.size())
        throw Damage(fmt::format("expected {} bytes, found {}", start, bytes.size()));
}

PackedFile::Opened PackedFile::open(const std::filesystem::path& path) try {
    if (!std::filesystem::is_regular_file(path)) return {};
    auto result = std::make_shared<PackedFile>();
    result->file_ = MappedFile::open(path);
    const std::span<const std::byte> bytes = result->file_->bytes();
    Head head;
    if (bytes.empty()) return {};
    if (bytes.size() < sizeof head) throw Damage("it is cut off");
    std::memcpy(&head, bytes.data(), sizeof head);
    if (!is_magic(head.magic) && !is_magic(head.again)) return {};
    if (is_magic(head.magic) && head.version < kVersion) return {};  // had no checksums
    if (head.length > kMostJson || head.length > bytes.size() - sizeof head)
        throw Damage("it is cut off, or its head is wrong");
    // Checked and used from a copy: somebody may write into what is mapped.
    const std::string text(reinterpret_cast<const char*>(bytes.data()) + sizeof head,
                           std::size_t(head.length));
    if (hash_of(head, text) != head.hash) throw Damage("head and index: wrong checksum");
    if (head.version != kVersion) return {};
    result->read_index(text, sizeof head + head.length);
    return {std::move(result), {}};
} catch (const NotOurs&) {
    return {};
} catch (const Json::exception&) {
    return {nullptr, "its index is broken"};
} catch (const Error& error) {
    return {nullptr, error.what()};
}

bool PackedFile::may_replace(const std::filesystem::path& path) {
    // What is no regular file is never replaced, see system/output_place.h.
    if (!std::filesystem::is_regular_file(path)) return true;
    OpenFile file(path);
    Head head;
    const std::size_t count = file.read(std::as_writable_bytes(std::span(&head, 1)));
    const std::size_t begun = std::min(count, kMagic.size());
    return std::memcmp(head.magic.data(), kMagic.data(), begun) == 0 ||
           (count == sizeof head && is_magic(head.again));
}

const PackedEntry* PackedFile::find(const std::string& key) const {
    const auto found = matrices_.find(key);
    return found == matrices_.end() ? nullptr : &found->second;
}

void PackedFile::write(const std::filesystem::path& path,
                       const std::map<std::string, PackedEntry>& matrices) {
    // Offsets are counted from the start of the data first, whose place depends on the JSON's
    // length.
    const auto index_at = [&](std::uint64_t start) {
        Json list = Json::array();
        for (const auto& [key, entry] : matrices) {
            list.push_back(describe(key, entry, start));
            start = aligned(start + packed_size(entry.view));
        }
        return Json{{"isa", kernels::best_kernels().name}, {"matrices", list}}.dump();
    };
    // Longer numbers make the JSON longer: room for all of them.
    const std::uint64_t start = aligned(sizeof(Head) + index_at(std::uint64_t{1} << 60).size());
    std::string index = index_at(start);
    index.resize(start - sizeof(Head), ' ');
    Head head;
    std::ranges::copy(kMagic, head.magic.begin());
    std::ranges::copy(kMagic, head.again.begin());
    head.length = index.size();
    head.hash = hash_of(head, index);

    AtomicFile file(path);
    file.write(std::as_bytes(std::span(&head, 1)));
    file.write(std::string_view(index));
    for (const auto& [key, entry] : matrices) {
        const std::uint64_t size = packed_size(entry.view);
        file.write(bytes_of(entry.view));
        const std::string padding(std::size_t(aligned(size) - size), '\0');
        file.write(std::string_view(padding));
    }
    file.commit();
}

}  // namespace cait::engine
