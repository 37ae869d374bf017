// Images as training would show them to a model, as tiles for a contact sheet.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/image_size.h"
#include "data/augment/multi_crop.h"
#include "data/augment/train_transform.h"
#include "data/batch.h"
#include "image/draw/contact_sheet.h"
#include "train/recipe/recipe.h"

namespace cait::app {

// Whether that is the name of an augmentation policy rather than of a recipe.
bool is_policy(const std::string& text);

// The recipe of that name or file; for the name of a policy, a recipe with nothing else but a crop
// and a flip. Throws UsageError when it is neither.
Recipe recipe_to_show(const std::string& text);

struct ShownImage {
    Image image;
    std::size_t index = 0;  // in the data set
    std::int64_t label = 0;
};

// Back from what the model reads, (3, height, width), to pixels.
Image seen_image(std::span<const float> values, ImageSize size, const ChannelValues& mean,
                 const ChannelValues& std);

// Makes batches as training does, mixup and CutMix included.
class TileMaker {
public:
    TileMaker(const Recipe& recipe, ImageSize size, std::vector<std::string> classes);

    // Of each image in an epoch.
    std::uint64_t views() const;

    // One tile per image, all of them in one batch, of the view of that number. The caption has the
    // labels that training would ask for, and what the policy or the view's chances did.
    std::vector<SheetTile> tiles(std::span<const ShownImage> images, const Position& position,
                                 std::uint64_t view);

private:
    std::vector<SheetTile> batch_tiles(std::span<const ShownImage> images,
                                       const Position& position);
    std::vector<SheetTile> view_tiles(std::span<const ShownImage> images, const Position& position,
                                      std::uint64_t view);
    SampleKey key(const ShownImage& image, const Position& position, std::uint64_t view = 0) const;
    std::string view_text(const ShownImage& image, const SampleKey& key) const;
    std::string label_text(const Batch& batch, std::size_t place) const;
    std::string operations(const SampleKey& key) const;

    std::uint64_t seed_;
    TrainTransform transform_;
    TrainWorkspace workspace_;
    std::function<std::vector<MixDraw>(const Batch&)> mix_;  // none where the recipe does not mix
    TargetList targets_;                                     // of a batch that is mixed
    std::optional<ViewTransform> views_;                     // where the recipe has several
    std::optional<MultiCrop> crops_;
    std::vector<std::string> classes_;
    float spread_;  // what label smoothing gives to every class
};

}  // namespace cait::app
