#include "data/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "system/file_guard.h"

namespace cait {

const BadImage* KnownBad::find(std::size_t index) const {
    const std::shared_lock lock(mutex_);
    const auto found = images_.find(index);
    return found == images_.end() ? nullptr : &found->second;
}

const BadImage& KnownBad::add(const BadImage& image) {
    const std::unique_lock lock(mutex_);
    return images_.try_emplace(image.index, image).first->second;
}

const BadImage* SampleReader::try_read(std::size_t sample) {
    if (const BadImage* known = known_.find(sample)) return known;
    try {
        dataset_.read(sample, decode_, image_);
        if (std::holds_alternative<LabelledTransform>(transform_))
            labels_ = label_image_of(dataset_, sample, image_);
        return nullptr;
    } catch (const Error& error) {
        check_mapped_files();  // an image is not bad because its shard went away
        return &known_.add({sample, dataset_.name(sample), error.what()});
    }
}

void SampleReader::write(const SampleKey& key, Batch& batch, std::size_t item) {
    const Geometry geometry = write_image(key, batch, item);
    for (const TargetPtr& target : options_.targets)
        target->write({dataset_, key, image_, geometry, labels_}, item, batch.targets);
}

Geometry SampleReader::write_image(const SampleKey& key, Batch& batch, std::size_t item) {
    if (const auto* views = std::get_if<ViewTransform>(&transform_))
        return write_views(*views, key, batch, item);
    const auto count = std::size_t(options_.channels * options_.height * options_.width);
    std::byte* const bytes = batch.storage.mutable_bytes().data();
    if (const auto* to_bytes = std::get_if<ByteTransform>(&transform_))
        return (*to_bytes)(image_, key,
                           {reinterpret_cast<std::uint8_t*>(bytes) + item * count, count});
    const std::span<float> values(reinterpret_cast<float*>(bytes) + item * count, count);
    if (const auto* labelled = std::get_if<LabelledTransform>(&transform_))
        return (*labelled)(image_, labels_, key, values);
    return std::get<FloatTransform>(transform_)(image_, key, values);
}

// Returns the geometry of the first view.
Geometry SampleReader::write_views(const ViewTransform& views, SampleKey key, Batch& batch,
                                   std::size_t item) {
    Geometry first;
    for (ViewGroup& group : batch.views) {
        const auto count = std::size_t(options_.channels * group.height * group.width);
        for (std::size_t v = 0; v < std::size_t(group.count); ++v, ++key.view) {
            const Geometry geometry = views.write(
                image_, key,
                std::span(group.pixels).subspan((v * batch.size + item) * count, count));
            if (key.view == 0) first = geometry;
        }
    }
    return first;
}

void SampleReader::run(const EpochOrder& order, std::size_t position, Batch& batch,
                       std::size_t item, std::vector<BadImage>& bad) {
    constexpr std::size_t kMostTries = 1000;
    const std::size_t tries = std::min(order.size(), kMostTries);
    for (std::size_t attempt = 0; attempt < tries; ++attempt) {
        const Pick pick = order[(position + attempt) % order.size()];
        if (const BadImage* reason = try_read(pick.sample)) {
            if (options_.on_bad == OnBad::refuse)
                throw BadImagesError(reason->reason + " (evaluation refuses unreadable images)",
                                     {*reason});
            bad.push_back(*reason);
            if (options_.on_bad == OnBad::leave_out) return;
            continue;
        }
        // A substitute gets a number of its own, so that it is not augmented as in its own place.
        const std::size_t copy = attempt == 0 ? pick.copy : sampler_.repeats + attempt;
        const SampleKey key{sampler_.seed, batch.position.epoch, pick.sample, copy};
        write(key, batch, item);
        batch.keys[item] = key;
        check_mapped_files();
        return;
    }
    throw BadImagesError(
        fmt::format("{}: {} images in a row cannot be read", dataset_.source(), tries), bad);
}

}  // namespace cait
