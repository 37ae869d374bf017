#include "data/formats/coco_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/below_folder.h"
#include "system/counted_memory.h"

namespace cait {

namespace {

constexpr double kLongestSide = 65'535;  // of an image, as for the decoders

// As they stand in the file, by ids.
struct CocoEntries {
    std::vector<CocoImage> images;
    std::vector<std::pair<std::int64_t, std::string>> categories;  // id, name
    std::vector<CocoAnnotation> annotations;
    std::vector<std::pair<std::int64_t, std::int64_t>> refers_to;  // image's id, category's
};

// {0, 0} where it is not said, or not as a size.
Extent extent_of(const AnnotationEntry& entry) {
    const auto side = [&](std::string_view key) {
        const std::span<const double> values = entry.values(key);
        const bool is_side = values.size() == 1 && values[0] >= 1 && values[0] <= kLongestSide;
        return is_side ? std::int64_t(values[0]) : 0;
    };
    const Extent extent{side("width"), side("height")};
    return extent.width > 0 && extent.height > 0 ? extent : Extent{0, 0};
}

std::size_t numbers_of(const AnnotationShape& shape) {
    std::size_t count = shape.counts.size() + shape.size.size();
    for (const std::vector<double>& polygon : shape.polygons) count += polygon.size() + 3;
    return count;
}

CocoAnnotation annotation_of(AnnotationEntry& entry) {
    const auto first = [&](std::string_view key) {
        const std::span<const double> values = entry.values(key);
        return values.empty() ? 0.0 : values[0];
    };
    CocoAnnotation annotation;
    annotation.id = entry.id;
    annotation.box.assign(entry.values("bbox").begin(), entry.values("bbox").end());
    annotation.area = first("area");
    annotation.crowd = first("iscrowd") != 0;
    annotation.shape = std::move(entry.shape);
    return annotation;
}

CocoEntries read_entries(const std::filesystem::path& json, bool with_boxes) {
    const std::string file = json.string(), text = read_annotation_file(json);
    CountedMemory memory(file);
    memory.add(text.size());
    CocoEntries found;
    const auto named = [&](const AnnotationEntry& entry, std::string_view field) {
        std::string name = entry.text(field);
        require_field(entry.id >= 0, entry, "id", file);
        require_field(!name.empty(), entry, field, file);
        memory.add_text(name);
        return name;
    };
    AnnotationOptions options{.texts = {"file_name", "name"}};
    if (with_boxes) {
        options.numbers = {"width", "height", "bbox", "area", "iscrowd"};
        options.shape = "segmentation";
    }
    parse_annotations(text, file, options, [&](AnnotationEntry& entry) {
        if (entry.section == "images")
            found.images.push_back({entry.id, named(entry, "file_name"), extent_of(entry)});
        if (entry.section == "categories")
            found.categories.emplace_back(entry.id, named(entry, "name"));
        if (entry.section != "annotations") return;
        require_field(entry.image_id >= 0, entry, "image_id", file);
        require_field(entry.category_id >= 0, entry, "category_id", file);
        found.annotations.push_back(annotation_of(entry));
        found.refers_to.emplace_back(entry.image_id, entry.category_id);
        memory.add(sizeof(CocoAnnotation) + 2 * sizeof(std::int64_t) +
                   sizeof(double) * numbers_of(found.annotations.back().shape) +
                   found.annotations.back().shape.text.size());
    });
    return found;
}

class Places {  // by id
public:
    Places(const char* what, const std::string& file) : what_(what), file_(file) {}

    void add(std::int64_t id) {
        if (!places_.emplace(id, places_.size()).second)
            throw Error(fmt::format("{}: {}: id {} stands there twice", file_, what_, id));
    }
    std::size_t at(std::int64_t id, const char* one) const {
        const auto found = places_.find(id);
        if (found == places_.end())
            throw Error(
                fmt::format("{}: annotations: expected an id of {}, found {}", file_, one, id));
        return found->second;
    }

private:
    const char* what_;
    const std::string& file_;
    std::unordered_map<std::int64_t, std::size_t> places_;
};

}  // namespace

CocoLists read_coco_lists(const std::filesystem::path& json, bool with_boxes) {
    const std::string file = json.string();
    CocoEntries found = read_entries(json, with_boxes);
    if (found.categories.empty()) throw Error(fmt::format("{}: expected categories", file));
    Places images("images", file), categories("categories", file);
    for (const CocoImage& image : found.images) images.add(image.id);
    for (const auto& [id, name] : found.categories) categories.add(id);

    CocoLists lists;
    std::set<std::string> names;
    for (auto& [id, name] : found.categories) {
        if (!names.insert(name).second)
            throw Error(
                fmt::format("{}: categories: {} stands there twice", file, display_name(name)));
        lists.class_numbers.push_back(id);
        lists.classes.names.push_back(std::move(name));
    }
    for (const CocoImage& image : found.images)
        if (!is_below_folder(image.file))
            throw Error(fmt::format("{}: images: expected a file_name below the folder, found {}",
                                    file, display_name(image.file)));
    lists.images = std::move(found.images);
    lists.annotations = std::move(found.annotations);
    for (std::size_t i = 0; i < lists.annotations.size(); ++i) {
        const auto [image, category] = found.refers_to[i];
        lists.annotations[i].image = images.at(image, "an image");
        lists.annotations[i].category = std::int64_t(categories.at(category, "a category"));
    }
    return lists;
}

}  // namespace cait
