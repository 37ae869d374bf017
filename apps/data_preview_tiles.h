// Augmented variants of an image as tiles for a contact sheet.
#pragma once

#include <string>
#include <vector>

#include "data/augment/train_transform.h"
#include "image/draw/contact_sheet.h"
#include "recipe/recipe.h"

namespace cait::app {

// The recipe of that name or file; for the name of a policy, a recipe with nothing else but a crop
// and a flip. Throws UsageError when it is neither.
Recipe recipe_to_show(const std::string& text);

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
