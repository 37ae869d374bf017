// Token labels from files: for every training image a small map of the likeliest classes at each
// place, as "All Tokens Matter" (Jiang et al. 2021, arXiv 2104.10858) publishes them for ImageNet
// after "Re-labeling ImageNet" (Yun et al. 2021, arXiv 2101.05022). They are cropped, mirrored and
// moved along with the image.
#pragma once

#include "train/torch/libtorch.h"

#include <filesystem>
#include <span>

#include "data/augment/train_transform.h"
#include "data/dataset.h"
#include "graph/graph.h"

namespace cait {

// Of one file: [2, count, height, width], the logits of the `count` likeliest classes and which
// they are.
struct LabelMapSize {
    std::int64_t count = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const LabelMapSize&) const = default;
};

// Numbers for one image whose tokens lie in `grid`: the map, and what was done to the image.
std::int64_t label_floats(const LabelMapSize& size, Grid grid);

class LabelMaps {
public:
    // The map of DIR/CLASS/NAME.EXTENSION is folder/CLASS/NAME.pt (by torch.save) or .npy. All must
    // have the size of the first. Throws Error that names the file.
    LabelMaps(std::filesystem::path folder, DatasetPtr images);

    const LabelMapSize& size() const { return size_; }

    // Those of the image `key.sample`, as `transform` shows it. Thread-safe.
    void read(const Image& image, const SampleKey& key, const TrainTransform& transform, Grid grid,
              std::span<float> out) const;

private:
    std::filesystem::path file_of(std::size_t sample) const;
    Tensor map_of(std::size_t sample) const;

    std::filesystem::path folder_;
    DatasetPtr images_;
    LabelMapSize size_;
};

struct MapTargets {
    at::Tensor tokens;  // [B, N, K]
    at::Tensor images;  // [B, K]
};

// What a batch's numbers, [B, floats], mean: the mean logits in each place of the grid and in the
// whole of what is shown (RoIAlign), as probabilities p, of which `smoothing` is spread over the
// classes as the official code does it: p * (1 - s + s / K) + s / K.
MapTargets map_targets(const at::Tensor& numbers, const LabelMapSize& size, Grid grid,
                       std::int64_t classes, double smoothing);

// For each of rows × columns bins of a part of a map (in its pixels, whose centres are whole
// numbers) the weight of each of its height × width values: torchvision's roi_align with
// aligned=False and as many samples as the bin has pixels.
std::vector<float> roi_align_weights(const Box& part, std::int64_t height, std::int64_t width,
                                     std::int64_t rows, std::int64_t columns);

}  // namespace cait
