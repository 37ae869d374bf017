// Any bytes may be refused with cait::Error; everything else that escapes is a finding, and so is a
// label that is no class.
#include <zlib.h>

#include <cstdlib>
#include <vector>

#include "cait/error.h"
#include "data/label_files.h"
#include "image/codec/byte_order.h"

namespace {

constexpr std::size_t kClasses = 4;

// With right checksums, as in png_fuzz.cpp, and not so large that an input takes long.
std::vector<std::uint8_t> with_label_checksums(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> mended(data, data + size);
    const auto bytes = std::as_bytes(std::span(mended));
    for (std::size_t at = 8; at + 12 <= size;) {
        const std::size_t length = *cait::read_unsigned(bytes, at, 4);
        if (length > size - at - 12) break;
        const auto sum = ::crc32(0, mended.data() + at + 4, uInt(length + 4));
        for (std::size_t i = 0; i < 4; ++i)
            mended[at + 8 + length + i] = std::uint8_t(sum >> (24 - 8 * i));
        at += length + 12;
    }
    return mended;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<std::uint8_t> mended = with_label_checksums(data, size);
    const auto bytes = std::as_bytes(std::span(mended));
    try {
        const cait::ImageInfo info = cait::probe_image(bytes, "input");
        if (info.width * info.height > 1 << 18) return 0;
        const cait::LabelImage labels = cait::LabelCodes::counted(kClasses).read(bytes, "input");
        if (labels.values.size() != std::size_t(info.width * info.height)) std::abort();
        for (const std::uint8_t value : labels.values)
            if (value >= kClasses && value != cait::kIgnored) std::abort();
    } catch (const cait::Error&) {
    }
    return 0;
}
