#include "weights/weight_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "cait/error.h"
#include "system/mapped_file.h"
#include "weights/byte_reader.h"
#include "weights/checksum.h"
#include "weights/pytorch_file.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

// What people hand over by mistake, known by its first bytes.
struct Lookalike {
    std::string_view start;
    std::string_view message;
};

using namespace std::string_view_literals;

constexpr std::array kLookalikes{
    Lookalike{"version https://git-lfs"sv,
              "this is a Git-LFS pointer, not weights (fetch the file itself with git lfs pull)"sv},
    Lookalike{"\x1f\x8b"sv, "this is a gzip file, not weights (unpack it first)"sv},
    Lookalike{"\xfd"
              "7zXZ"sv,
              "this is an xz file, not weights (unpack it first)"sv},
    Lookalike{"\x28\xb5\x2f\xfd"sv, "this is a zstd file, not weights (unpack it first)"sv},
    Lookalike{"BZh"sv, "this is a bzip2 file, not weights (unpack it first)"sv},
    Lookalike{"\x89HDF"sv, "HDF5 files are not supported, expected safetensors or .pth"sv},
    Lookalike{"GGUF"sv, "GGUF files are not supported, expected safetensors or .pth"sv},
    Lookalike{"\x93NUMPY"sv, "this is a single .npy array, expected safetensors or .pth"sv},
};

// Checked first: a header length may begin with the same bytes as another format's signature.
bool looks_like_safetensors(std::span<const std::byte> bytes) {
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header > bytes.size() - sizeof header) return false;
    const std::string_view start = as_text(bytes).substr(sizeof header, 64);
    const std::size_t first = start.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && start[first] == '{';
}

[[noreturn]] void refuse_page(const std::string& name) {
    throw Error(fmt::format(
        "{}: this is an HTML or XML page, not weights (did the download end at a login page?)",
        name));
}

void refuse_lookalikes(std::string_view text, const std::string& name) {
    for (const Lookalike& lookalike : kLookalikes)
        if (text.starts_with(lookalike.start))
            throw Error(fmt::format("{}: {}", name, lookalike.message));
    const std::size_t first = text.substr(0, 512).find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '<') refuse_page(name);
    constexpr std::size_t kTarMagic = 257;
    if (text.size() > kTarMagic && text.substr(kTarMagic).starts_with("ustar"))
        throw Error(
            fmt::format("{}: the tar format of old PyTorch is not supported (load it and "
                        "save it again with a newer torch.save)",
                        name));
}

void strip_wrapper_prefix(std::vector<NamedTensor>& tensors) {
    constexpr std::array kPrefixes{"module."sv, "_orig_mod."sv};
    for (const std::string_view prefix : kPrefixes) {
        const auto wrapped = [&](const NamedTensor& t) { return t.name.starts_with(prefix); };
        if (!std::ranges::all_of(tensors, wrapped)) continue;
        for (NamedTensor& t : tensors) t.name.erase(0, prefix.size());
    }
}

constexpr std::string_view kBackbone = "backbone.";

bool starts_with_any(const NamedTensor& tensor, std::span<const std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](auto p) { return tensor.name.starts_with(p); });
}

// DINO and DINOv2 train a backbone below projection heads, and save both: the backbone is the
// model, and nothing reads the projections any more. A classifier on a backbone stays beside it.
void unwrap_backbone(WeightFile& file) {
    constexpr std::array kProjections{"head.mlp."sv, "head.last_layer."sv, "dino_head."sv,
                                      "ibot_head."sv};
    constexpr std::array kParts{kBackbone, "head."sv, "dino_head."sv, "ibot_head."sv};
    // The segmentation models of mmseg and the detectors of mmdetection; a neck alone is anybody's.
    constexpr std::array kDenseParts{"decode_head."sv, "roi_head."sv, "auxiliary_head."sv,
                                     "rpn_head."sv, "neck."sv};
    const bool is_dense = std::ranges::any_of(file.tensors, [&](const NamedTensor& t) {
        return t.name.starts_with(kDenseParts[0]) || t.name.starts_with(kDenseParts[1]);
    });
    std::unordered_set<std::string_view> inner;
    for (const NamedTensor& t : file.tensors) {
        if (!starts_with_any(t, kParts) && !(is_dense && starts_with_any(t, kDenseParts))) return;
        std::string_view name = t.name;
        if (name.starts_with(kBackbone)) name.remove_prefix(kBackbone.size());
        if (!inner.insert(name).second) return;  // two of one name: not what it looks like
    }
    if (std::ranges::none_of(file.tensors,
                             [](const NamedTensor& t) { return t.name.starts_with(kBackbone); }))
        return;
    for (const NamedTensor& t : file.tensors)
        if (starts_with_any(t, kProjections)) file.skipped.push_back(t.name);
    std::erase_if(file.tensors, [&](const auto& t) { return starts_with_any(t, kProjections); });
    for (NamedTensor& t : file.tensors)
        if (t.name.starts_with(kBackbone)) t.name.erase(0, kBackbone.size());
}

}  // namespace

WeightFile open_weights(const std::filesystem::path& path, const OpenOptions& options) {
    const auto file = MappedFile::open(path);
    return open_weights_bytes(file, file->bytes(), path.string(), options);
}

WeightFile open_weights_bytes(const std::shared_ptr<const void>& owner,
                              std::span<const std::byte> bytes, const std::string& name,
                              const OpenOptions& options) {
    if (bytes.size() < sizeof(std::uint64_t))
        throw Error(fmt::format("{}: truncated header: expected at least 8 bytes, found {}", name,
                                bytes.size()));
    WeightFile file;
    if (!looks_like_safetensors(bytes)) refuse_lookalikes(as_text(bytes), name);
    if (!looks_like_safetensors(bytes) && looks_like_pytorch(bytes)) {
        file = read_pytorch(owner, bytes, name, options);
    } else {
        TensorFile parsed = TensorFile::parse(owner, bytes, name);
        verify_metadata(parsed.tensors, parsed.metadata, name);
        file = {.format = "safetensors",
                .metadata = std::move(parsed.metadata),
                .tensors = std::move(parsed.tensors),
                .skipped = {}};
    }
    strip_wrapper_prefix(file.tensors);
    unwrap_backbone(file);
    return file;
}

}  // namespace cait
