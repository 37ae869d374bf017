// What the image fuzz targets have in common: probe, decode in both ways, read all the pixels.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

#include "cait/error.h"
#include "image/codec/decode.h"

namespace cait {

// One target looks at one format, so that libFuzzer does not wander to another's signature.
inline void decode_any(const std::uint8_t* data, std::size_t size, ImageFormat format) {
    const auto bytes = std::as_bytes(std::span(data, size));
    try {
        const ImageInfo info = probe_image(bytes, "input");
        if (info.format != format) return;
        for (const int channels : {3, 1}) {
            // Small limits: what is wanted is many inputs, not large ones.
            const Image image = decode_image(
                bytes, "input", {.limits = {.pixels = 1 << 18, .scans = 20}, .channels = channels});
            if (image.pixels.size() != std::size_t(image.width * image.height * channels) ||
                image.width * image.height != info.width * info.height)
                std::abort();
            volatile std::uint8_t sum = 0;
            for (const std::uint8_t value : image.pixels) sum = std::uint8_t(sum ^ value);
        }
    } catch (const Error&) {
    }
}

}  // namespace cait
