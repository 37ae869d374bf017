#include "evaluate/overlaps_of_objects.h"

#include <algorithm>

namespace cait {

namespace {

// A box as COCO writes it, whose right edge is a sum.
struct CocoBox {
    double x = 0, y = 0, width = 0, height = 0;
    double area() const { return width * height; }
};

CocoBox coco_box(const Region& box) {
    return {double(box.left), double(box.top), double(box.right) - double(box.left),
            double(box.bottom) - double(box.top)};
}

CocoBox coco_box(const Box& box) {
    return {box.left, box.top, box.right - box.left, box.bottom - box.top};
}

double box_overlap(const CocoBox& found, const CocoBox& annotated, bool crowd) {
    const double across = std::min(found.width + found.x, annotated.width + annotated.x) -
                          std::max(found.x, annotated.x);
    const double down = std::min(found.height + found.y, annotated.height + annotated.y) -
                        std::max(found.y, annotated.y);
    if (!(across > 0) || !(down > 0)) return 0;
    const double both = across * down;
    return both / (crowd ? found.area() : found.area() + annotated.area() - both);
}

std::vector<CocoBox> found_boxes(std::span<const DetectedObject* const> found) {
    std::vector<CocoBox> boxes;
    for (const DetectedObject* one : found) boxes.push_back(coco_box(one->box));
    return boxes;
}

// A mask and where it is: most pairs are far apart, and need not be compared run by run.
struct PlacedMask {
    RunMask mask;
    CocoBox bounds;
};

PlacedMask placed(RunMask mask) {
    const CocoBox bounds = coco_box(mask_bounds(mask));
    return {std::move(mask), bounds};
}

}  // namespace

ComparedObjects compare_boxes(std::span<const DetectedObject* const> found,
                              std::span<const Object* const> annotated) {
    const std::vector<CocoBox> boxes = found_boxes(found);
    ComparedObjects result;
    for (const CocoBox& box : boxes) result.found.push_back(box.area());
    std::vector<CocoBox> objects;
    for (const Object* one : annotated) {
        result.annotated.push_back({one->area, one->crowd});
        objects.push_back(coco_box(one->box));
    }
    for (const CocoBox& box : boxes)
        for (std::size_t i = 0; i < objects.size(); ++i)
            result.overlaps.push_back(box_overlap(box, objects[i], annotated[i]->crowd));
    return result;
}

ComparedObjects compare_masks(std::span<const DetectedObject* const> found,
                              std::span<const Object* const> annotated, std::int64_t width,
                              std::int64_t height) {
    ComparedObjects result;
    std::vector<PlacedMask> objects;
    for (const Object* one : annotated) {
        result.annotated.push_back({one->area, one->crowd || one->mask.empty()});
        if (!found.empty()) objects.push_back(placed(object_mask(*one, width, height)));
    }
    for (const DetectedObject* one : found) {
        result.found.push_back(double(mask_area(one->mask)));
        const CocoBox bounds = coco_box(mask_bounds(one->mask));
        for (std::size_t i = 0; i < objects.size(); ++i) {
            const bool crowd = result.annotated[i].ignored;
            const bool apart = box_overlap(bounds, objects[i].bounds, crowd) <= 0;
            result.overlaps.push_back(apart ? 0 : mask_overlap(one->mask, objects[i].mask, crowd));
        }
    }
    return result;
}

}  // namespace cait
