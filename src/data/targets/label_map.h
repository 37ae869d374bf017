// Token labels from files: for every training image a small map of the likeliest classes at each
// place, as "All Tokens Matter" (Jiang et al. 2021, arXiv 2104.10858) publishes them for ImageNet
// after "Re-labeling ImageNet" (Yun et al. 2021, arXiv 2101.05022). They are cropped, mirrored and
// moved along with the image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/image_size.h"
#include "data/target.h"

namespace cait {

inline constexpr const char* kLabelMaps = "label_maps";  // [B, label_map_floats()] float32

// Of one file: [2, count, height, width], the logits of the `count` likeliest classes and which
// they are.
struct LabelMapSize {
    std::int64_t count = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const LabelMapSize&) const = default;
};

// One image's numbers as they stand in the batch. The map is kept whole: what it says of each token
// would be a row of all classes for every one of them.
struct LabelMapRow {
    std::span<const float> map;  // [2, count, height, width]
    Box part;                    // that is shown, in shares of the image
    bool mirrored = false;
    // For each place of the grid over what is shown, row by row: the place that a rotation, shear
    // or translation has brought there, -1 for none.
    std::span<const float> sources;
};

// Floats of a row for tokens at this many places, and what they are.
std::int64_t label_map_floats(const LabelMapSize& size, std::int64_t places);
LabelMapRow label_map_row(std::span<const float> row, const LabelMapSize& size);

class LabelMaps {
public:
    // The map of DIR/CLASS/NAME.EXTENSION is folder/CLASS/NAME.pt (by torch.save) or .npy. All must
    // have the size of the first. Throws Error that names the file.
    LabelMaps(std::filesystem::path folder, DatasetPtr images);

    const LabelMapSize& size() const { return size_; }

    // That of an image of the data set, [2, count, height, width]. Thread-safe.
    Tensor read(std::size_t sample) const;

private:
    std::filesystem::path file_of(std::size_t sample) const;

    std::filesystem::path folder_;
    DatasetPtr images_;
    LabelMapSize size_;
};

// kLabelMaps for tokens that lie in `grid`.
TargetPtr label_map_target(std::shared_ptr<const LabelMaps> maps, ImageSize grid);

}  // namespace cait
