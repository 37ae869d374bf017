// Any bytes may be refused with cait::Error; everything else that escapes is a finding. The first
// byte says how many of the others are the images, the rest are the labels.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "as_file.h"
#include "cait/error.h"
#include "data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t images = std::min(size - 1, std::size_t{data[0]} * 4);
    const cait::AsFile first(data + 1, images);
    const cait::AsFile second(data + 1 + images, size - 1 - images);
    try {
        const cait::DatasetPtr dataset = cait::open_dataset("idx:" + first.path().string() +
                                                            "?labels=" + second.path().string());
        for (std::size_t i = 0; i < std::min<std::size_t>(dataset->size(), 16); ++i)
            if (dataset->image(i).pixels.empty() ||
                dataset->classes().size() <= std::size_t(dataset->label(i)))
                std::abort();
    } catch (const cait::Error&) {
    }
    return 0;
}
