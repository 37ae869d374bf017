// The lists of a file annotated as COCO's instances are, brought together: what refers to an image
// or a category by its id has found it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/class_list.h"
#include "data/formats/annotation_json.h"
#include "image/evaluation_transform.h"

namespace cait {

struct CocoImage {
    std::int64_t id = -1;
    std::string file;     // below the folder of the images
    Extent extent{0, 0};  // {0, 0}: it does not say
};

struct CocoAnnotation {
    std::int64_t id = -1;
    std::size_t image = 0;       // in CocoLists::images
    std::int64_t category = -1;  // in CocoLists::classes
    // Only where boxes were asked for; as they are written.
    std::vector<double> box;  // left, top, width, height
    double area = 0;
    bool crowd = false;
    AnnotationShape shape{};
};

struct CocoLists {
    std::vector<CocoImage> images;
    ClassList classes;                        // in the order of the file
    std::vector<std::int64_t> class_numbers;  // their ids
    std::vector<CocoAnnotation> annotations;
};

// Throws Error that names the file, the list and the id for what is missing, unknown, there twice
// or no JSON, and for images outside their folder.
CocoLists read_coco_lists(const std::filesystem::path& json, bool with_boxes);

}  // namespace cait
