// Any bytes may be refused with cait::Error; everything else that escapes is a finding.
#include "decode_any.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cait::decode_any(data, size, cait::ImageFormat::webp);
    return 0;
}
