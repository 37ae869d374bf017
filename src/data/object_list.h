// What all data sets of objects have in common, whatever files they are written in: which objects
// are kept, what is told of the others, and how large an image is whose list does not say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/file_dataset.h"
#include "data/object.h"
#include "image/evaluation_transform.h"
#include "system/counted_memory.h"

namespace cait {

// A number of a text, whole and finite; nothing for anything else, also for "nan" and "inf".
std::optional<double> finite_number(std::string_view text);

// Width and height of an image file as it is shown, by its header alone; {0, 0} where it cannot be
// read, which whoever reads the image will say.
Extent image_extent(const std::filesystem::path& file);

// The smallest box around all of their points; all 0 where there is none.
Box polygon_bounds(const std::vector<std::vector<double>>& polygons);

class ObjectList {
public:
    explicit ObjectList(std::string source) : source_(source), memory_(std::move(source)) {}

    // The next image. An extent of {0, 0} is not known.
    void add_image(std::string file, const Extent& extent);
    std::size_t size() const { return list_.files.size(); }
    const Extent& extent(std::size_t image) const { return extents_[image]; }

    // Keeps the object unless it is one that nobody can learn from: without an area, outside of the
    // image, one of too many. A mask that is none is dropped. The area is filled in where it is 0.
    // Boxes stay as they are written, also where they reach beyond the image.
    void add(std::size_t image, Object object);

    // The images in a row under `root`, with labels for what is in them and notes for what was
    // left out. The list is empty afterwards.
    FileList finish(std::filesystem::path root, ClassList classes);

private:
    bool keeps(const Object& object, std::size_t image);
    void drop_broken_mask(Object& object, const Extent& extent);

    std::string source_;
    CountedMemory memory_;
    FileList list_;
    std::vector<Extent> extents_;
    std::vector<std::vector<Object>> objects_;
    // How many were left out or changed, and why.
    std::size_t without_area_ = 0, outside_ = 0, too_many_ = 0, short_polygons_ = 0,
                long_outlines_ = 0, with_mask_ = 0, without_mask_ = 0;
};

}  // namespace cait
