// Book-keeping of images that cannot be read: one in a million must not end a week of training, and
// a broken disk must not pass for one in a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cait/error.h"

namespace cait {

struct BadImage {
    std::size_t index = 0;  // in the data set
    std::string name;
    std::string reason;
};

// what() names the first few; images() has them all.
class BadImagesError : public Error {
public:
    BadImagesError(const std::string& message, std::vector<BadImage> images)
        : Error(message), images_(std::move(images)) {}

    const std::vector<BadImage>& images() const noexcept { return images_; }

private:
    std::vector<BadImage> images_;
};

class BadImages {
public:
    // At most this fraction of the `samples` of an epoch.
    BadImages(double most, std::size_t samples) : most_(most), samples_(samples) {}

    // True when this image is bad for the first time in the run. Throws BadImagesError when the
    // epoch has too many.
    bool add(std::uint64_t epoch, const BadImage& image);

    const std::vector<BadImage>& all() const noexcept { return all_; }  // each once

private:
    double most_;
    std::size_t samples_;
    std::vector<BadImage> all_;
    std::set<std::size_t> known_;
    std::set<std::size_t> in_epoch_;
    std::uint64_t epoch_ = 0;
};

// "3 of 40 images cannot be read (a.jpg, b.jpg, …)" for a list of any length.
std::string describe(const std::vector<BadImage>& images, std::size_t of);

}  // namespace cait
