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

// A class of ImageNet-1k and the one of 127 coarse classes that it belongs to, as in "What makes
// ImageNet good for transfer learning?" (Huh et al. 2016); scripts/imagenet_parents.py says how they
// follow from WordNet.
struct ImageNetParent {
    std::string wordnet_id;  // "n01440764"
    std::string coarse;      // "soft-finned fish"
};
std::vector<ImageNetParent> imagenet_parents();

// The tables of src/data/imagenet_classes.txt and imagenet_parents.txt as they stand there.
std::string_view imagenet_classes_text();
std::string_view imagenet_parents_text();

}  // namespace cait
