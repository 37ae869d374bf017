// The table of boxes. Any text may be refused with cait::Error; everything else that escapes is a
// finding.
#include <cstdint>

#include "as_file.h"
#include "check_objects.h"
#include "data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    cait::check_objects(
        [&] { return cait::open_dataset("boxes-csv:" + file.path().string() + "?root=/nowhere"); });
    return 0;
}
