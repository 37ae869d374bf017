// The JSON that lists images. Any bytes may be refused with cait::Error; everything else that
// escapes is a finding.
#include <cstdint>

#include "as_file.h"
#include "cait/error.h"
#include "data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    try {
        cait::open_dataset("inaturalist:/nowhere?json=" + file.path().string(), cait::Split::train);
    } catch (const cait::Error&) {
    }
    return 0;
}
