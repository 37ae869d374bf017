#include "weights/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "cait/error.h"
#include "system/digest.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace cait {

namespace {

// Stands among the tensors' checksums, where no tensor can have this name, and says that there is a
// digest: otherwise damage to the digest's own key would go unnoticed.
constexpr const char* kMetadataName = "__metadata__";

std::string crc_text(const Tensor& tensor) {
    const auto* bytes = reinterpret_cast<const Bytef*>(tensor.bytes());
    return fmt::format("{:08x}", ::crc32_z(0, bytes, z_size_t(tensor.byte_size())));
}

// Each text goes in with its length, so that no two lists of texts look alike.
class TextDigest {
public:
    void add(std::string_view text) {
        const std::string length = fmt::format("{}:", text.size());
        digest_.add(std::as_bytes(std::span(length)));
        digest_.add(std::as_bytes(std::span(text)));
    }
    std::string hex() { return digest_.hex(); }

private:
    Digest digest_{DigestKind::sha256};
};

std::string digest_of(std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
    TextDigest digest;
    for (const auto& [key, value] : metadata) {
        if (key == kDigestKey) continue;
        digest.add(key);
        digest.add(value);
    }
    std::vector<const NamedTensor*> order;
    for (const NamedTensor& named : tensors) order.push_back(&named);
    std::ranges::sort(order, {}, [](const NamedTensor* named) { return named->name; });
    for (const NamedTensor* named : order) {
        digest.add(named->name);
        digest.add(name_of(named->tensor.dtype()));
        digest.add(named->tensor.shape().to_string());
    }
    return digest.hex();
}

}  // namespace

std::string checksums(std::span<const NamedTensor> tensors) {
    std::map<std::string, std::string> sums{{kMetadataName, "sha256"}};
    for (const NamedTensor& named : tensors) sums.emplace(named.name, crc_text(named.tensor));
    return nlohmann::json(sums).dump();
}

std::map<std::string, std::string> sealed(std::map<std::string, std::string> metadata,
                                          std::span<const NamedTensor> tensors) {
    metadata[kChecksumKey] = checksums(tensors);
    metadata[kDigestKey] = digest_of(tensors, metadata);
    return metadata;
}

void write_sealed(const FilePlace& place, const std::map<std::string, Tensor>& tensors,
                  std::map<std::string, std::string> metadata) {
    std::vector<NamedTensor> named;
    for (const auto& [name, tensor] : tensors) named.push_back({name, tensor});
    write_safetensors(place, named, sealed(std::move(metadata), named));
}

void verify_metadata(std::span<const NamedTensor> tensors,
                     const std::map<std::string, std::string>& metadata, const std::string& path) {
    const auto entry = metadata.find(kDigestKey);
    if (entry == metadata.end()) {
        const auto sums = metadata.find(kChecksumKey);
        if (sums == metadata.end() || sums->second.find(kMetadataName) == std::string::npos) return;
        throw Error(fmt::format("{}: metadata: damaged: expected an entry '{}', found none", path,
                                kDigestKey));
    }
    const std::string found = digest_of(tensors, metadata);
    if (entry->second != found)
        throw Error(
            fmt::format("{}: metadata: damaged, or changed since it was written: expected SHA-256 "
                        "{}, found {}",
                        path, printable(entry->second, 64), found));
}

void verify_checksums(std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata, const std::string& path) {
    const auto entry = metadata.find(kChecksumKey);
    if (entry == metadata.end()) return;
    const auto sums = parse_metadata_json(entry->second);
    if (!sums.is_object())
        throw Error(fmt::format("{}: metadata '{}': expected a JSON object", path, kChecksumKey));
    for (const NamedTensor& named : tensors) {
        const auto expected = sums.find(named.name);
        if (expected == sums.end() || !expected->is_string())
            throw Error(fmt::format("{}: metadata '{}': expected a checksum for {}", path,
                                    kChecksumKey, named.name));
        const std::string found = crc_text(named.tensor);
        if (expected->get<std::string>() != found)
            throw Error(fmt::format("{}: {}: damaged: expected checksum {}, found {}", path,
                                    named.name, expected->get<std::string>(), found));
    }
}

}  // namespace cait
