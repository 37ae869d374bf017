// Names of ImageNet's classes. Published weights and ImageNet's folders know them by position and
// by WordNet id; people and our model files by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// One of the lists that published heads were trained on: ImageNet-1k, and ImageNet-21k in the sizes
// that are about.
struct ImageNetList {
    std::string_view title;          // "ImageNet-1k"
    std::vector<std::string> names;  // in the order of the logits
};

// The list with this number of classes, if there is one.
std::optional<ImageNetList> imagenet_list(std::size_t classes);

// "n01440764" → "tench"; nothing for other words.
std::optional<std::string> imagenet_name(std::string_view wordnet_id);

// The table of src/data/imagenet_classes.txt as it stands there.
std::string_view imagenet_classes_text();

}  // namespace cait
