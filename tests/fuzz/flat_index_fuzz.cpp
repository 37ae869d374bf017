// Any bytes may be refused with cait::Error; everything else that escapes is a finding.
#include <cstdint>
#include <span>

#include "cait/error.h"
#include "evaluate/index/flat_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const cait::Vectors vectors =
            cait::read_flat_index_bytes(std::as_bytes(std::span(data, size)), "input");
        if (vectors.values.size() != vectors.rows * vectors.columns) __builtin_trap();
    } catch (const cait::Error&) {
    }
    return 0;
}
