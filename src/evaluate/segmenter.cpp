// cait/segmenter.h on top of the engine.
#include "cait/segmenter.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "engine/pixels.h"
#include "evaluate/segment_classes.h"
#include "evaluate/segment_image.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/palette.h"
#include "system/atomic_file.h"

namespace cait {

namespace {

SegmentOptions options_for(const Model& model, const SegmenterOptions& wanted) {
    SegmentOptions options;
    options.mode =
        wanted.slide ? SegmentOptions::Mode::slide : SegmentNetwork::of(model).usual_mode();
    options.short_side = wanted.short_side;
    options.long_side = wanted.long_side;
    options.scales = wanted.scales;
    options.flip = wanted.flip;
    return options;
}

void check_labels(const Segmentation& of) {
    if (of.width < 1 || of.height < 1 || of.labels.size() != std::size_t(of.width * of.height))
        throw Error(fmt::format("segmentation: expected {}x{} labels, found {}", of.width,
                                of.height, of.labels.size()));
}

}  // namespace

SegmentClasses segment_classes(const Model& model, std::size_t count) {
    SegmentClasses classes{model.classes(), class_colours(model.task().colours, count)};
    while (classes.names.size() < count)
        classes.names.push_back(fmt::format("class {}", classes.names.size()));
    return classes;
}

struct Segmenter::State {
    ImageSegmenter segmenter;
    SegmentClasses classes;

    State(const Model& model, const SessionOptions& session, const SegmenterOptions& options)
        : segmenter(model, session, options_for(model, options)),
          classes(segment_classes(model, segmenter.network().classes)) {}

    Segmentation segment(const Image& image, const std::string& name) const {
        SegmentedImage found = segmenter.segment(image, name);
        return {found.labels.width, found.labels.height, std::move(found.labels.values),
                std::move(found.areas)};
    }
};

Segmenter::Segmenter(const Model& model, const SessionOptions& session,
                     const SegmenterOptions& options)
    : state_(std::make_shared<const State>(model, session, options)) {}

Segmentation Segmenter::segment(const std::filesystem::path& file) const {
    return state_->segment(read_image(file), file.string());
}
Segmentation Segmenter::segment(std::span<const std::byte> encoded) const {
    return state_->segment(decode_image(encoded, "image"), "image");
}
Segmentation Segmenter::segment(const Pixels& pixels) const {
    return state_->segment(image_of(pixels), "image");
}

std::vector<std::byte> Segmenter::encode(const Segmentation& segmentation) const {
    check_labels(segmentation);
    return encode_palette_png({segmentation.width, segmentation.height, 1, segmentation.labels},
                              state_->classes.colours);
}

void Segmenter::save(const Segmentation& segmentation, const std::filesystem::path& output) const {
    if (output.extension() != ".png")
        throw UsageError(fmt::format("{}: expected a name that ends in .png", output.string()));
    AtomicFile file(output);
    file.write(encode(segmentation));
    file.commit();
}

void Segmenter::draw(const std::filesystem::path& photo, const Segmentation& segmentation,
                     const std::filesystem::path& output) const {
    check_image_name(output);
    check_labels(segmentation);
    write_image(output,
                label_overlay(read_image(photo), segmentation.labels, state_->classes.colours));
}

const std::vector<std::string>& Segmenter::classes() const { return state_->classes.names; }
const std::vector<std::array<std::uint8_t, 3>>& Segmenter::colours() const {
    return state_->classes.colours;
}

}  // namespace cait
