// From a photograph to a class for each of its pixels: decoding, resizing, running and naming in
// one call, for images of any size. Link cait::evaluate (find_package(cait COMPONENTS evaluate)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cait/classifier.h"
#include "cait/model.h"
#include "cait/session.h"

namespace cait {

struct SegmenterOptions {
    // Windows of the model's own size instead of the whole image; models whose weights belong to
    // one size (ResMLP) are run so in any case.
    bool slide = false;
    std::int64_t short_side = 0;       // that images are resized to; 0: the model's own
    std::int64_t long_side = 0;        // that they may not exceed; 0: four short sides
    std::vector<double> scales = {1};  // of the resized image; probabilities are averaged
    bool flip = false;                 // also look at the mirror image
};

// What a model takes the pixels of an image for.
struct Segmentation {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<std::uint8_t> labels;  // (height, width): indices of classes
    std::vector<std::uint64_t> areas;  // pixels of each class
};

// May be used from several threads at the same time, as a Session may.
class Segmenter {
public:
    // Throws UsageError where the model does not segment.
    explicit Segmenter(const Model& model, const SessionOptions& session = {},
                       const SegmenterOptions& options = {});

    // Throws Error when an image cannot be read.
    Segmentation segment(const std::filesystem::path& file) const;
    Segmentation segment(std::span<const std::byte> encoded) const;
    Segmentation segment(const Pixels& pixels) const;

    // A PNG whose values are the labels and whose palette has the colours of the classes.
    std::vector<std::byte> encode(const Segmentation& segmentation) const;
    // The same as a file, which is replaced whole or not at all.
    void save(const Segmentation& segmentation, const std::filesystem::path& output) const;
    // The photograph with the colours of the classes over it, as .png or .jpg.
    void draw(const std::filesystem::path& photo, const Segmentation& segmentation,
              const std::filesystem::path& output) const;

    const std::vector<std::string>& classes() const;                  // one name for each
    const std::vector<std::array<std::uint8_t, 3>>& colours() const;  // red, green, blue

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
