#include "engine/packed_file.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "core/atomic_file.h"
#include "core/open_file.h"
#include "kernels/dispatch.h"

namespace cait::engine {

namespace {

using kernels::Format;
using kernels::Index;
using kernels::Layout;
using kernels::PackedView;
using Json = nlohmann::json;

// "CAITPACK", the version, the length of the JSON that follows; matrices start at cache lines.
constexpr std::string_view kMagic = "CAITPACK";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHead = 64;
constexpr std::uint64_t kMostJson = 8 << 20;
constexpr int kDeepestJson = 4;  // brackets alone take a hundred times their own memory
constexpr Index kMostExtent = Index{1} << 40;

std::uint64_t aligned(std::uint64_t size) { return (size + kHead - 1) / kHead * kHead; }

std::uint64_t bytes_of(const PackedView& view) {
    return std::uint64_t(kernels::products(view.format).packed_bytes(view.rows, view.columns));
}

Json describe(const std::string& key, const PackedView& view, std::uint64_t offset) {
    return {{"key", key},
            {"offset", offset},
            {"rows", view.rows},
            {"columns", view.columns},
            {"format", view.format == Format::f32 ? "f32" : "bf16"}};
}

}  // namespace

std::shared_ptr<const PackedFile> PackedFile::open(const std::filesystem::path& path) try {
    if (!std::filesystem::is_regular_file(path)) return nullptr;
    auto result = std::make_shared<PackedFile>();
    result->file_ = MappedFile::open(path);
    const std::span<const std::byte> bytes = result->file_->bytes();
    std::uint32_t version = 0;
    std::uint64_t length = 0;
    if (bytes.size() < kHead || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return nullptr;
    std::memcpy(&version, bytes.data() + 8, sizeof version);
    std::memcpy(&length, bytes.data() + 16, sizeof length);
    if (version != kVersion || length > kMostJson || length > bytes.size() - kHead) return nullptr;
    const auto* text = reinterpret_cast<const char*>(bytes.data() + kHead);
    const Json index =
        Json::parse(text, text + length, [](int depth, Json::parse_event_t, const Json&) {
            if (depth > kDeepestJson) throw Error("packed weights: the index is too deep");
            return true;
        });
    if (index.at("isa") != kernels::best_kernels().name) return nullptr;
    for (const Json& entry : index.at("matrices")) {
        PackedView view;
        view.rows = entry.at("rows");
        view.columns = entry.at("columns");
        view.format = entry.at("format") == "f32" ? Format::f32 : Format::bf16;
        view.layout = kernels::products(view.format).layout;
        const std::uint64_t offset = entry.at("offset");
        const bool fits = view.rows > 0 && view.columns > 0 &&
                          view.rows <= kMostExtent / view.columns && offset % kHead == 0 &&
                          offset <= bytes.size() && bytes_of(view) <= bytes.size() - offset;
        if (!fits) return nullptr;
        view.data = bytes.data() + offset;
        result->matrices_[entry.at("key")] = view;
    }
    return result;
} catch (const Json::exception&) {
    return nullptr;
} catch (const Error&) {
    return nullptr;
}

bool PackedFile::may_replace(const std::filesystem::path& path) {
    // What is no regular file is never replaced, see core/output_place.h.
    if (!std::filesystem::is_regular_file(path)) return true;
    OpenFile file(path);
    std::array<std::byte, kMagic.size()> start{};
    const std::size_t count = file.read(start);
    return std::memcmp(start.data(), kMagic.data(), count) == 0;
}

const PackedView* PackedFile::find(const std::string& key) const {
    const auto found = matrices_.find(key);
    return found == matrices_.end() ? nullptr : &found->second;
}

void PackedFile::write(const std::filesystem::path& path,
                       const std::map<std::string, PackedView>& matrices) {
    // Offsets are counted from the start of the data first, whose place depends on the JSON's
    // length.
    const auto index_at = [&](std::uint64_t start) {
        Json list = Json::array();
        for (const auto& [key, view] : matrices) {
            list.push_back(describe(key, view, start));
            start = aligned(start + bytes_of(view));
        }
        return Json{{"isa", kernels::best_kernels().name}, {"matrices", list}}.dump();
    };
    // Longer numbers make the JSON longer: room for all of them.
    const std::uint64_t start = aligned(kHead + index_at(std::uint64_t{1} << 60).size());
    std::string index = index_at(start);
    index.resize(start - kHead, ' ');
    std::string head(kHead, '\0');
    const std::uint64_t length = index.size();
    std::memcpy(head.data(), kMagic.data(), kMagic.size());
    std::memcpy(head.data() + 8, &kVersion, sizeof kVersion);
    std::memcpy(head.data() + 16, &length, sizeof length);

    AtomicFile file(path);
    file.write(std::string_view(head));
    file.write(std::string_view(index));
    for (const auto& [key, view] : matrices) {
        const std::uint64_t size = bytes_of(view);
        file.write(std::span(static_cast<const std::byte*>(view.data), std::size_t(size)));
        const std::string padding(std::size_t(aligned(size) - size), '\0');
        file.write(std::string_view(padding));
    }
    file.commit();
}

}  // namespace cait::engine
