// A batch of prepared images and their targets as the loader hands it out, and what prepares one
// image.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cait/tensor.h"
#include "data/geometry.h"
#include "data/sampler.h"
#include "data/target.h"
#include "image/image.h"

namespace cait {

// Views of equal size, view after view: view v of image i is row v * Batch::size + i.
struct ViewGroup {
    std::int64_t count = 0;  // views of each image in this group
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<float> pixels;  // (count * Batch::size, channels, height, width)
};

struct Batch {
    // (capacity, channels, height, width), float32 or uint8; written in place. Empty where there
    // are views.
    Tensor storage;
    std::vector<ViewGroup> views;  // none: images() is the only view
    // Of models that take no images, by the names of the graph's inputs, each with `size` rows;
    // there are neither images nor views then.
    std::map<std::string, Tensor> inputs;
    std::size_t size = 0;  // images (sentences) in it; below the capacity at the end of an epoch,
                           // or where unreadable ones are left out
    std::vector<SampleKey> keys;  // (size) which samples these are
    Targets targets;              // by name, of LoaderOptions::targets
    Position position;            // of this batch in the run
    bool last_of_epoch = false;

    // A zero-copy view of the images that are there, (size, channels, height, width). Throws Error
    // where there are views or other inputs instead.
    Tensor images() const;

    // Drops all images but those in `rows`, which rise, with their keys and targets. Not for views.
    void keep(std::span<const std::size_t> rows);
    // Once all images are there: mixes float images (no draws: leaves them) and collates targets.
    void finish(std::span<const MixDraw> mixed, const TargetList& kinds);
};

// Augments one image, writes it as (channels, height, width) and returns what it did to its places,
// for the targets. It must be a function of the image and the key alone. Every worker calls its own
// copy of it, so a lambda may own scratch memory by value. Which of them it is decides the batch's
// dtype, or that it has views.
using FloatTransform =
    std::function<Geometry(const Image& image, const SampleKey& key, std::span<float> out)>;
using ByteTransform =
    std::function<Geometry(const Image& image, const SampleKey& key, std::span<std::uint8_t> out)>;

// The same with the label image: where it crops depends on the classes there.
using LabelledTransform = std::function<Geometry(const Image& image, const LabelImage& labels,
                                                 const SampleKey& key, std::span<float> out)>;

// Several views of each image, which is decoded once for all of them. `write` is called for each
// with the number of the view, counted through all groups, in the key.
struct ViewTransform {
    struct Group {
        std::int64_t count = 0;
        std::int64_t height = 0;
        std::int64_t width = 0;
        bool operator==(const Group&) const = default;
    };
    std::vector<Group> groups;
    FloatTransform write;
};

using Transform = std::variant<FloatTransform, ByteTransform, LabelledTransform, ViewTransform>;

}  // namespace cait
