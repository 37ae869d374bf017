#include "data/object.h"

#include <fmt/format.h>

#include "cait/error.h"

namespace cait {

RunMask object_mask(const Object& object, std::int64_t width, std::int64_t height) {
    const auto& [polygons, runs] = object.mask;
    if (!polygons.empty()) return polygon_mask(polygons, width, height);
    if (!runs.runs.empty()) {
        if (runs.width != width || runs.height != height)
            throw Error(fmt::format("expected a mask of {}x{} pixels, as the image, found {}x{}",
                                    width, height, runs.width, runs.height));
        return runs;
    }
    const auto& [left, top, right, bottom] = object.box;
    const std::vector<std::vector<double>> corners{
        {left, top, right, top, right, bottom, left, bottom}};
    return polygon_mask(corners, width, height);
}

}  // namespace cait
