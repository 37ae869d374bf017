#include "data/bad_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/display_name.h"

namespace cait {

std::string describe(const std::vector<BadImage>& images, std::size_t of) {
    constexpr std::size_t kNamed = 20;
    std::string text = fmt::format("{} of {} images cannot be read: ", images.size(), of);
    for (std::size_t i = 0; i < std::min(images.size(), kNamed); ++i)
        text += (i == 0 ? "" : ", ") + display_name(images[i].name);
    if (images.size() > kNamed) text += fmt::format(" and {} more", images.size() - kNamed);
    return text;
}

bool BadImages::add(std::uint64_t epoch, const BadImage& image) {
    if (epoch != epoch_) {
        epoch_ = epoch;
        in_epoch_.clear();
    }
    in_epoch_.insert(image.index);
    const bool is_new = known_.insert(image.index).second;
    if (is_new) all_.push_back(image);
    if (double(in_epoch_.size()) > most_ * double(samples_)) {
        std::vector<BadImage> images;
        for (const BadImage& bad : all_)
            if (in_epoch_.contains(bad.index)) images.push_back(bad);
        throw BadImagesError(
            fmt::format("{} (more than {} % of an epoch)", describe(images, samples_), most_ * 100),
            images);
    }
    return is_new;
}

}  // namespace cait
