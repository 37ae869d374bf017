#include "data/object_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "cait/error.h"
#include "system/file_bytes.h"
#include "system/open_file.h"

namespace cait {

namespace {

constexpr std::size_t kLeastPolygon = 6;  // numbers: three points
constexpr double kFarthest = 1'000'000;   // from the image, of what its polygons may name

bool is_near(double value) { return std::abs(value) <= kFarthest; }

// Of all polygons of an object, in pixels. Drawing one takes memory and time for each.
double outline_length(const ObjectMask& mask) {
    double length = 0;
    for (const std::vector<double>& polygon : mask.polygons) {
        if (!std::ranges::all_of(polygon, is_near)) return HUGE_VAL;
        for (std::size_t i = 0; i + 1 < polygon.size(); i += 2) {
            const std::size_t next = (i + 2) % polygon.size();
            length += 1 + std::max(std::abs(polygon[next] - polygon[i]),
                                   std::abs(polygon[next + 1] - polygon[i + 1]));
        }
    }
    return length;
}

// No mask of an image has a longer one, but for a few around it.
double longest_outline(const Extent& image) {
    const auto width = double(image.width), height = double(image.height);
    return 4 * width * height + 100 * (width + height) + 1000;
}

double polygon_area(const std::vector<double>& polygon) {
    double twice = 0;
    for (std::size_t i = 0; i + 1 < polygon.size(); i += 2) {
        const std::size_t next = (i + 2) % polygon.size();
        twice += polygon[i] * polygon[next + 1] - polygon[next] * polygon[i + 1];
    }
    return std::abs(twice) / 2;
}

double area_of(const Object& object) {
    if (!object.mask.runs.runs.empty()) return double(mask_area(object.mask.runs));
    double area = 0;
    for (const std::vector<double>& polygon : object.mask.polygons) area += polygon_area(polygon);
    if (!object.mask.polygons.empty()) return area;
    return (object.box.right - object.box.left) * (object.box.bottom - object.box.top);
}

std::size_t memory_of(const Object& object) {
    std::size_t bytes = sizeof(object) + object.mask.runs.runs.size() * sizeof(std::uint32_t);
    for (const std::vector<double>& polygon : object.mask.polygons)
        bytes += sizeof(polygon) + polygon.size() * sizeof(double);
    return bytes;
}

// Of a JPEG the beginning says all, nearly always; of other formats the end may say how it is
// turned.
ImageInfo image_header(const std::filesystem::path& file) {
    constexpr std::size_t kHead = std::size_t{1} << 17;
    std::vector<std::byte> head(kHead);
    OpenFile opened{FilePlace(file)};
    head.resize(opened.read(head));
    const bool is_jpeg =
        head.size() > 1 && head[0] == std::byte{0xFF} && head[1] == std::byte{0xD8};
    if (is_jpeg || head.size() < kHead) {
        try {
            return probe_image(head, file.string());
        } catch (const Error&) {
            if (head.size() < kHead) throw;  // that was all of it
        }
    }
    return probe_image(read_bytes(file), file.string());
}

}  // namespace

std::optional<double> finite_number(std::string_view text) {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

Extent image_extent(const std::filesystem::path& file) {
    constexpr int kFirstTurned = 5;  // orientations from here on swap the sides
    try {
        const ImageInfo info = image_header(file);
        if (info.orientation >= kFirstTurned) return {info.height, info.width};
        return {info.width, info.height};
    } catch (const Error&) {
        return {0, 0};
    }
}

Box polygon_bounds(const std::vector<std::vector<double>>& polygons) {
    std::optional<Box> bounds;
    for (const std::vector<double>& polygon : polygons)
        for (std::size_t i = 0; i + 1 < polygon.size(); i += 2) {
            const double x = polygon[i], y = polygon[i + 1];
            if (!bounds) bounds = Box{x, y, x, y};
            *bounds = {std::min(bounds->left, x), std::min(bounds->top, y),
                       std::max(bounds->right, x), std::max(bounds->bottom, y)};
        }
    return bounds.value_or(Box{});
}

void ObjectList::add_image(std::string file, const Extent& extent) {
    memory_.add_text(file);
    memory_.add(sizeof(extent) + sizeof(std::vector<Object>) + 2 * sizeof(std::int64_t));
    list_.files.push_back(std::move(file));
    extents_.push_back(extent);
    objects_.emplace_back();
}

void ObjectList::drop_broken_mask(Object& object, const Extent& extent) {
    short_polygons_ += std::erase_if(object.mask.polygons, [](const std::vector<double>& polygon) {
        return polygon.size() < kLeastPolygon;
    });
    const bool is_known = extent.width > 0 && extent.height > 0;
    if (is_known && outline_length(object.mask) > longest_outline(extent)) {
        object.mask.polygons.clear();
        ++long_outlines_;
    }
}

bool ObjectList::keeps(const Object& object, std::size_t image) {
    const auto& [left, top, right, bottom] = object.box;
    const Extent& extent = extents_[image];
    std::size_t* reason = nullptr;
    if (!(right > left && bottom > top))
        reason = &without_area_;
    else if (extent.width > 0 && (right <= 0 || bottom <= 0 || left >= double(extent.width) ||
                                  top >= double(extent.height)))
        reason = &outside_;
    else if (objects_[image].size() >= kMostObjects)
        reason = &too_many_;
    if (reason != nullptr) ++*reason;
    return reason == nullptr;
}

void ObjectList::add(std::size_t image, Object object) {
    if (!keeps(object, image)) return;
    drop_broken_mask(object, extents_[image]);
    if (object.area <= 0) object.area = area_of(object);
    ++(object.mask.empty() ? without_mask_ : with_mask_);
    memory_.add(memory_of(object));
    objects_[image].push_back(std::move(object));
}

FileList ObjectList::finish(std::filesystem::path root, ClassList classes) {
    const auto note = [this](std::size_t count, std::string_view what) {
        if (count > 0) list_.notes.push_back(fmt::format("{}: {} {}", source_, count, what));
    };
    note(without_area_, "boxes without an area are left out");
    note(outside_, "boxes outside of their image are left out");
    note(too_many_,
         fmt::format("boxes after the first {} of their image are left out", kMostObjects));
    note(short_polygons_, "polygons of fewer than three points are left out");
    note(long_outlines_, "masks are left out: their outlines are longer than their image allows");
    if (with_mask_ > 0) note(without_mask_, "objects have no mask: it is taken to fill their box");
    std::vector<std::vector<std::int64_t>> answers(objects_.size());
    for (std::size_t i = 0; i < objects_.size(); ++i)
        for (const Object& object : objects_[i]) answers[i].push_back(object.label);
    list_.root = std::move(root);
    list_.classes = std::move(classes);
    list_.set_answers(std::move(answers));
    list_.objects = std::move(objects_);
    list_.object_masks = with_mask_ > 0;
    return std::move(list_);
}

}  // namespace cait
