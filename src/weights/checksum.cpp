#include "weights/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "cait/error.h"

namespace cait {

namespace {

std::string crc_text(const Tensor& tensor) {
    const auto* bytes = reinterpret_cast<const Bytef*>(tensor.bytes());
    return fmt::format("{:08x}", ::crc32_z(0, bytes, z_size_t(tensor.byte_size())));
}

}  // namespace

std::string checksums(std::span<const NamedTensor> tensors) {
    std::map<std::string, std::string> sums;
    for (const NamedTensor& named : tensors) sums.emplace(named.name, crc_text(named.tensor));
    return nlohmann::json(sums).dump();
}

void verify_checksums(std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata, const std::string& path) {
    const auto entry = metadata.find(kChecksumKey);
    if (entry == metadata.end()) return;
    const auto sums = nlohmann::json::parse(entry->second, nullptr, false);
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
