#include "evaluate/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "system/digest.h"

namespace cait {

namespace {

void add(Digest& digest, const std::string& text) {
    digest.add(std::as_bytes(std::span(text)));
    digest.add(std::as_bytes(std::span("\n", 1)));
}

}  // namespace

std::string model_fingerprint(const Model& model) {
    Digest digest(DigestKind::sha256);
    add(digest, model.info().name);
    for (const auto& [key, value] : model.settings()) add(digest, key + "=" + value);
    const Preprocessing& seen = model.preprocessing();
    add(digest, fmt::format("{} {} {} {} {}", seen.crop_ratio, seen.crop_mode, seen.interpolation,
                            fmt::join(seen.mean, " "), fmt::join(seen.std, " ")));
    for (const auto& [name, tensor] : model.stored_weights()) {
        constexpr std::size_t kSamples = 256;
        add(digest, name + tensor.shape().to_string());
        const std::size_t size = size_of(tensor.dtype()), count = std::size_t(tensor.count());
        const std::size_t step = std::max<std::size_t>(1, count / kSamples);
        for (std::size_t i = 0; i < count; i += step) digest.add({tensor.bytes() + i * size, size});
    }
    return digest.hex();
}

}  // namespace cait
