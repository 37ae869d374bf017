// COCO's instances (Lin et al. 2014) and what is annotated like them: a box for each thing in an
// image, perhaps a mask as polygons or as runs. Images in which nothing is annotated stay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/formats/coco_lists.h"
#include "data/object_list.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

class CocoObjects {
public:
    explicit CocoObjects(std::string file) : file_(std::move(file)) {}

    // Of an annotation, in an image of that extent; {0, 0}: unknown.
    Object object(CocoAnnotation& annotation, const Extent& extent) const {
        Object object;
        object.label = annotation.category;
        object.crowd = annotation.crowd;
        object.area = annotation.area;
        object.mask = mask(annotation, extent);
        const std::vector<double>& box = annotation.box;
        if (box.empty()) {
            object.box = bounds(object.mask, annotation);
            return object;
        }
        if (box.size() != 4)
            fail(annotation, fmt::format("expected a bbox of 4 numbers, found {}", box.size()));
        object.box = {box[0], box[1], box[0] + box[2], box[1] + box[3]};
        return object;
    }

private:
    [[noreturn]] void fail(const CocoAnnotation& annotation, const std::string& what) const {
        throw Error(fmt::format("{}: annotations: entry (id {}): {}", file_, annotation.id, what));
    }

    ObjectMask mask(CocoAnnotation& annotation, const Extent& extent) const {
        AnnotationShape& shape = annotation.shape;
        for (const std::vector<double>& polygon : shape.polygons)
            if (polygon.size() % 2 != 0)
                fail(annotation, fmt::format("expected polygons of x and y in turn, found {} "
                                             "numbers",
                                             polygon.size()));
        if (!shape.polygons.empty()) return {.polygons = std::move(shape.polygons), .runs = {}};
        if (shape.counts.empty() && shape.text.empty()) return {};
        const Extent size = size_of_runs(annotation, extent);
        try {
            if (!shape.text.empty())
                return {.polygons = {}, .runs = mask_of_text(shape.text, size.width, size.height)};
            return {.polygons = {},
                    .runs = mask_of_counts(whole_counts(annotation), size.width, size.height)};
        } catch (const Error& error) {
            fail(annotation, error.what());
        }
    }

    Extent size_of_runs(const CocoAnnotation& annotation, const Extent& extent) const {
        constexpr double kLongest = 65'535;
        const std::vector<double>& size = annotation.shape.size;
        const auto is_side = [](double side) {
            return side >= 1 && side <= kLongest && side == std::floor(side);
        };
        if (size.size() != 2 || !is_side(size[0]) || !is_side(size[1]))
            fail(annotation, "expected the size [height, width] of its runs, found another");
        const Extent found{std::int64_t(size[1]), std::int64_t(size[0])};
        if (extent.width > 0 && (found.width != extent.width || found.height != extent.height))
            fail(annotation, fmt::format("expected runs of {}x{} pixels, as its image, found {}x{}",
                                         extent.width, extent.height, found.width, found.height));
        return found;
    }

    std::vector<std::uint32_t> whole_counts(const CocoAnnotation& annotation) const {
        std::vector<std::uint32_t> counts;
        for (const double count : annotation.shape.counts) {
            if (!(count >= 0 && count <= double(std::numeric_limits<std::uint32_t>::max()) &&
                  count == std::floor(count)))
                fail(annotation, fmt::format("expected lengths of runs, found {}", count));
            counts.push_back(std::uint32_t(count));
        }
        return counts;
    }

    // Some tools leave the box to be found from the mask.
    Box bounds(const ObjectMask& mask, const CocoAnnotation& annotation) const {
        if (mask.empty()) fail(annotation, "expected a bbox, found none");
        if (mask.polygons.empty()) return mask_bounds(mask.runs);
        return polygon_bounds(mask.polygons);
    }

    std::string file_;
};

DatasetPtr open_coco(const DatasetUri& uri, Split) {
    const std::string& file = uri.path;
    const auto images = uri.option("images");
    if (!images)
        throw UsageError(
            fmt::format("{}: expected ?images=FOLDER, where the images are", uri.text));
    CocoLists lists = read_coco_lists(file, true);
    ObjectList objects(file);
    std::vector<std::int64_t> numbers;
    for (CocoImage& image : lists.images) {
        const Extent extent =
            image.extent.width > 0 ? image.extent : image_extent(fs::path(*images) / image.file);
        objects.add_image(std::move(image.file), extent);
        numbers.push_back(image.id);
    }
    const CocoObjects reader(file);
    for (CocoAnnotation& annotation : lists.annotations)
        objects.add(annotation.image, reader.object(annotation, objects.extent(annotation.image)));
    FileList list = objects.finish(*images, std::move(lists.classes));
    list.image_numbers = std::move(numbers);
    list.class_numbers = std::move(lists.class_numbers);
    return make_file_dataset(file, std::move(list));
}

}  // namespace

std::vector<DataSource> coco_sources() {
    return {{.scheme = "coco",
             .form = "coco:FILE.json?images=FOLDER",
             .help = "boxes and masks of the things in each image, as COCO's instances have them: "
                     "polygons, runs, crowds",
             .options = {"images"},
             .open = open_coco,
             .is_layout = true}};
}

}  // namespace cait
