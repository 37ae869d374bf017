// Any bytes may be refused with cait::Error; everything else that escapes is a finding.
#include <cstdint>
#include <memory>
#include <vector>

#include "cait/error.h"
#include "touch.h"
#include "weights/safetensors.h"
#include "weights/weight_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    try {
        for (const cait::NamedTensor& entry :
             cait::TensorFile::parse(owner, *owner, "input").tensors)
            cait::touch(entry.tensor);
    } catch (const cait::Error&) {
    }
    try {
        cait::open_weights_bytes(owner, *owner, "input");
    } catch (const cait::Error&) {
    }
    return 0;
}
