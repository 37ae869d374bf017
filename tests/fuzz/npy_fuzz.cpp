// Any bytes may be refused with cait::Error; everything else that escapes is a finding.
#include <cstdint>
#include <memory>
#include <vector>

#include "cait/error.h"
#include "touch.h"
#include "weights/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    try {
        cait::touch(cait::read_npy_bytes(owner, *owner, "input"));
    } catch (const cait::Error&) {
    }
    return 0;
}
