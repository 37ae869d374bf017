// Augmented variants of an image as tiles for a contact sheet.
#pragma once

#include <string>
#include <vector>

#include "data/train_transform.h"
#include "image/contact_sheet.h"

namespace cait::app {

// What the named recipe does to an image; what it does to a batch (mixup) is left out. A name that
// is none of the recipes is that of a policy; throws UsageError when it is not.
TrainSettings recipe_settings(const std::string& recipe, std::int64_t size);

// The variants of one image after another; the caption is the label and what the policy did.
class TileMaker {
public:
    explicit TileMaker(const TrainSettings& settings);

    SheetTile tile(const Image& image, const SampleKey& key, const std::string& label);

private:
    Image to_image() const;
    std::string operations(const SampleKey& key) const;

    TrainTransform transform_;
    TrainWorkspace workspace_;
    std::vector<float> values_;  // (3, height, width)
};

}  // namespace cait::app
