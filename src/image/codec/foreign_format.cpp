#include "image/codec/foreign_format.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cait {

namespace {

using namespace std::string_view_literals;

struct Signature {
    std::size_t at;
    std::string_view bytes;
    std::string_view what;  // and a common program that makes one of ours of it
};

constexpr std::string_view kGif = "a GIF; convert it, for example with `convert in.gif out.png`";
constexpr std::string_view kBmp = "a BMP; convert it, for example with `convert in.bmp out.png`";
constexpr std::string_view kTiff = "a TIFF; convert it, for example with `convert in.tif out.png`";
constexpr std::string_view kHeic =
    "a HEIC; convert it, for example with `heif-convert in.heic out.jpg`";
constexpr std::string_view kAvif =
    "an AVIF; convert it, for example with `avifdec in.avif out.png`";

// HEIC and AVIF are ISO media files, which say after "ftyp" of what brand they are.
constexpr std::array<Signature, 12> kSignatures{{{0, "GIF8"sv, kGif},
                                                 {0, "BM"sv, kBmp},
                                                 {0, "II*\0"sv, kTiff},
                                                 {0, "MM\0*"sv, kTiff},
                                                 {4, "ftypheic"sv, kHeic},
                                                 {4, "ftypheix"sv, kHeic},
                                                 {4, "ftypheim"sv, kHeic},
                                                 {4, "ftyphevc"sv, kHeic},
                                                 {4, "ftypmif1"sv, kHeic},
                                                 {4, "ftypmsf1"sv, kHeic},
                                                 {4, "ftypavif"sv, kAvif},
                                                 {4, "ftypavis"sv, kAvif}}};

bool fits(const Signature& signature, std::span<const std::byte> bytes) {
    if (bytes.size() < signature.at + signature.bytes.size()) return false;
    const auto* const start = reinterpret_cast<const char*>(bytes.data()) + signature.at;
    return std::equal(signature.bytes.begin(), signature.bytes.end(), start);
}

}  // namespace

std::string_view describe_foreign_image(std::span<const std::byte> bytes) {
    const auto* const found = std::ranges::find_if(
        kSignatures, [&](const Signature& signature) { return fits(signature, bytes); });
    return found == kSignatures.end() ? std::string_view{} : found->what;
}

}  // namespace cait
