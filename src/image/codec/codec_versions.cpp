#include "image/codec/codec_versions.h"

#include <fmt/format.h>
#include <png.h>
#include <webp/decode.h>
#include <zlib.h>
// jpeglib.h wants FILE and size_t declared before it.
#include <cstdio>

#include <jpeglib.h>

namespace cait {

namespace {

std::string jpeg_version() {
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
    constexpr int kVersion = LIBJPEG_TURBO_VERSION_NUMBER;  // 2001005 is 2.1.5
    return fmt::format("{}.{}.{}", kVersion / 1000000, kVersion / 1000 % 1000, kVersion % 1000);
#else
    return fmt::format("libjpeg {}", JPEG_LIB_VERSION);
#endif
}

std::string webp_version() {
    const int version = WebPGetDecoderVersion();  // 0x010204 is 1.2.4
    return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xFF, version & 0xFF);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> codec_versions() {
    return {{"libjpeg-turbo", jpeg_version()},
            {"libpng", png_get_libpng_ver(nullptr)},
            {"libwebp", webp_version()},
            {"zlib", zlibVersion()}};
}

}  // namespace cait
