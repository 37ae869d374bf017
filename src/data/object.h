// The things that are annotated in an image: a box each, perhaps a mask.
#pragma once

#include <cstdint>
#include <vector>

#include "image/masks/run_mask.h"
#include "image/ops/resize.h"

namespace cait {

// One of the two, or none.
struct ObjectMask {
    std::vector<std::vector<double>> polygons{};  // x and y in turn, in pixels of the stored image
    RunMask runs{};                               // of the stored image's size

    bool empty() const { return polygons.empty() && runs.runs.empty(); }
};

struct Object {
    std::int64_t label = 0;  // into Dataset::classes()
    Box box;                 // in pixels of the stored image
    bool crowd = false;      // many at once: neither learned from nor counted as missed
    double area = 0;         // as the annotation says, else of the mask or of the box
    ObjectMask mask = {};
};

// No image is read with more; sources skip the rest with a note.
inline constexpr std::size_t kMostObjects = 20'000;

// The mask of an object in an image of that size, whichever way it is written; of an object without
// one, its box. Throws Error where the runs are of an image of another size.
RunMask object_mask(const Object& object, std::int64_t width, std::int64_t height);

}  // namespace cait
