// The state of a run. Any bytes may be refused with cait::Error; everything else that escapes is a
// finding.
#include <cstdint>

#include "as_file.h"
#include "cait/error.h"
#include "train/run/run_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    try {
        cait::check_position(cait::load_state(file.path()), 100, 1000, "input");
    } catch (const cait::Error&) {
    }
    return 0;
}
