#include "serve/engine/service_time.h"

#include <algorithm>

namespace cait::serve {

ServiceTime::ServiceTime(double one, double all, std::size_t most)
    : one_(std::max(one, 1e-6)), all_(std::max(all, one_)), most_(std::max<std::size_t>(most, 1)) {}

ServiceTime& ServiceTime::operator=(const ServiceTime& other) {
    one_ = other.one_;
    all_ = other.all_;
    most_ = other.most_;
    scale_ = other.scale_.load();
    return *this;
}

double ServiceTime::plain(std::size_t images) const {
    if (most_ == 1) return one_ * double(images);
    if (images > most_) return all_ * double(images) / double(most_);
    return one_ +
           (all_ - one_) * double(images - std::min<std::size_t>(images, 1)) / double(most_ - 1);
}

double ServiceTime::expected(std::size_t images) const { return scale_ * plain(images); }

void ServiceTime::observe(std::size_t images, double seconds) {
    constexpr double kWeight = 0.1;
    const double now = std::clamp(seconds / plain(images), 0.1, 10.0);
    scale_ = (1 - kWeight) * scale_ + kWeight * now;  // one thread observes
}

std::size_t ServiceTime::batch_within(double bound) const {
    std::size_t batch = most_;
    while (batch > 1 && 4 * expected(batch) > bound) --batch;
    return batch;
}

}  // namespace cait::serve
