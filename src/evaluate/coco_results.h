// What was found in images, as COCO's file of results: a list of boxes, scores and masks that
// pycocotools reads. It is written as it comes, and appears whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluate/detect_image.h"
#include "system/atomic_file.h"

namespace cait {

class CocoResults {
public:
    // `class_numbers`: COCO's ids of the classes, one for each.
    CocoResults(const std::string& file, std::vector<std::int64_t> class_numbers);

    void add(std::int64_t image, std::span<const DetectedObject> found);
    void finish();  // without it there is no file

private:
    AtomicFile file_;
    std::vector<std::int64_t> class_numbers_;
    std::uint64_t objects_ = 0;
};

}  // namespace cait
