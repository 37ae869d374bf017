// The devkit's table as a MATLAB file. Any bytes may be refused with cait::Error; everything else
// that escapes is a finding.
#include <cstdint>
#include <span>

#include "cait/error.h"
#include "data/formats/synset_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        cait::parse_meta_mat(std::as_bytes(std::span(data, size)), "input");
    } catch (const cait::Error&) {
    }
    return 0;
}
