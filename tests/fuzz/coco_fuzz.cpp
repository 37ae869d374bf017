// The JSON of boxes and masks. Any bytes may be refused with cait::Error; everything else that
// escapes is a finding, and so are objects of no class, boxes without an area and masks that cannot
// be drawn.
#include <cstdint>

#include "as_file.h"
#include "check_objects.h"
#include "data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    cait::check_objects(
        [&] { return cait::open_dataset("coco:" + file.path().string() + "?images=/nowhere"); });
    return 0;
}
