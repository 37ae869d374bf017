#include "data/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "image/codec/image_name.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

class Relabelled final : public ForwardingDataset {
public:
    Relabelled(DatasetPtr inner, std::vector<std::string> known, ClassMap map)
        : ForwardingDataset(std::move(inner), {std::move(known), false}),
          map_(std::move(map.positions)) {
        if (!map.note.empty()) add_note(std::move(map.note));
        if (!has_label_images()) return;
        if (classes().size() > kMostPixelClasses)
            throw Error(fmt::format("{}: expected at most {} classes of pixels, found {}", source(),
                                    kMostPixelClasses, classes().size()));
        pixels_.fill(kIgnored);
        for (std::size_t i = 0; i < map_.size(); ++i) pixels_[i] = std::uint8_t(map_[i]);
    }

    std::int64_t label(std::size_t i) const override {
        const std::int64_t own = ForwardingDataset::label(i);
        return own == kUnlabelled ? kUnlabelled : map_[std::size_t(own)];
    }
    std::vector<std::int64_t> labels(std::size_t i) const override {
        std::vector<std::int64_t> result = ForwardingDataset::labels(i);
        for (std::int64_t& value : result) value = map_[std::size_t(value)];
        return result;
    }
    LabelImage label_image(std::size_t i) const override {
        LabelImage result = ForwardingDataset::label_image(i);
        for (std::uint8_t& value : result.values) value = pixels_[value];
        return result;
    }
    // None where one of the classes has none: a picture would mix two palettes.
    std::vector<Colour> colours() const override {
        const std::vector<Colour> own = ForwardingDataset::colours();
        std::vector<std::optional<Colour>> found(classes().size());
        for (std::size_t i = 0; i < own.size(); ++i) found[std::size_t(map_[i])] = own[i];
        std::vector<Colour> result;
        for (const std::optional<Colour>& colour : found)
            if (colour) result.push_back(*colour);
        return result.size() == found.size() ? result : std::vector<Colour>();
    }
    std::vector<Object> objects(std::size_t i) const override {
        std::vector<Object> result = ForwardingDataset::objects(i);
        for (Object& object : result) object.label = map_[std::size_t(object.label)];
        return result;
    }
    // Classes that the inner set has not get the numbers after its own.
    std::vector<std::int64_t> class_numbers() const override {
        const std::vector<std::int64_t> own = ForwardingDataset::class_numbers();
        std::vector<std::optional<std::int64_t>> found(classes().size());
        for (std::size_t i = 0; i < own.size(); ++i) found[std::size_t(map_[i])] = own[i];
        std::int64_t last = own.empty() ? 0 : std::ranges::max(own);
        std::vector<std::int64_t> result;
        for (const std::optional<std::int64_t>& number : found)
            result.push_back(number ? *number : ++last);
        return result;
    }
    std::vector<std::size_t> stretches() const override { return inner().stretches(); }

private:
    std::vector<std::int64_t> map_;
    std::array<std::uint8_t, 256> pixels_{};
};

class Subset final : public ForwardingDataset {
public:
    Subset(DatasetPtr inner, ClassList classes, std::vector<std::size_t> indices)
        : ForwardingDataset(std::move(inner), std::move(classes)), indices_(std::move(indices)) {}

    std::size_t size() const noexcept override { return indices_.size(); }
    LabelLevel level(const std::string& name) const override {
        LabelLevel whole = inner().level(name);
        std::vector<std::int64_t> labels;
        labels.reserve(indices_.size());
        for (const std::size_t index : indices_) labels.push_back(whole.labels[index]);
        whole.labels = std::move(labels);
        return whole;
    }

protected:
    std::size_t at(std::size_t index) const override { return indices_[index]; }

private:
    std::vector<std::size_t> indices_;
};

}  // namespace

Image Dataset::image(std::size_t index, int channels) const {
    DecodeOptions options;
    options.channels = channels;
    Image result;
    read(index, options, result);
    return result;
}

std::optional<EncodedImage> Dataset::encoded(std::size_t index) const {
    const auto path = file(index);
    if (!path) return std::nullopt;
    return EncodedImage{std::string(extension_of(path->native())), read_bytes(*path)};
}

LabelImage Dataset::label_image(std::size_t) const {
    throw Error(fmt::format(
        "{}: expected a label image for each image, as segmentation:FOLDER has them; found labels "
        "of whole images",
        source_));
}

LabelImage label_image_of(const Dataset& dataset, std::size_t index, const Image& image) {
    LabelImage labels = dataset.label_image(index);
    if (labels.width != image.width || labels.height != image.height)
        throw Error(fmt::format(
            "{}: expected a label image of {}x{} pixels, as the image, found "
            "{}x{}",
            dataset.name(index), image.width, image.height, labels.width, labels.height));
    return labels;
}

std::vector<Object> Dataset::objects(std::size_t) const {
    throw Error(fmt::format(
        "{}: expected the objects in each image, as coco:FILE.json has them; found none", source_));
}

std::vector<std::int64_t> Dataset::class_numbers() const {
    std::vector<std::int64_t> numbers(classes().size());
    std::iota(numbers.begin(), numbers.end(), std::int64_t{1});
    return numbers;
}

SentencePair Dataset::sentences(std::size_t) const {
    throw Error(fmt::format(
        "{}: expected sentences and their translations, as text:FOLDER has them; found images",
        source_));
}

std::string Dataset::label_text(std::size_t index) const {
    std::string text;
    for (const std::int64_t label : labels(index)) {
        if (!text.empty()) text += kLabelSeparator;
        text += classes().at(std::size_t(label));
    }
    return text;
}

LabelLevel Dataset::level(const std::string& name) const { no_level(name); }

void Dataset::no_level(const std::string& name) const {
    const std::vector<std::string> known = levels();
    if (known.empty())
        throw UsageError(fmt::format("{}: level {}: its images are labelled at one level only",
                                     source_, display_name(name)));
    throw UsageError(fmt::format("{}: level {}: expected one of {}", source_, display_name(name),
                                 fmt::join(known, ", ")));
}

void require_one_label(const Dataset& dataset, const std::string& what) {
    for (std::size_t i = 0; i < dataset.size(); ++i)
        if (const std::size_t labels = dataset.labels(i).size(); labels != 1)
            throw Error(fmt::format("{}: {}: expected one label per image for {}, found {}",
                                    dataset.source(), dataset.name(i), what, labels));
}

std::int64_t first_label(const Dataset& dataset, std::size_t index) {
    const std::int64_t label = dataset.label(index);
    if (label == kUnlabelled)
        throw Error(fmt::format("{}: expected a label, found none", dataset.name(index)));
    return label;
}

DatasetPtr with_classes(DatasetPtr dataset, std::vector<std::string> known) {
    auto map = map_classes(dataset->class_list(), known, dataset->source());
    return with_labels(std::move(dataset), std::move(known), std::move(map));
}

DatasetPtr with_labels(DatasetPtr dataset, std::vector<std::string> names, ClassMap map) {
    return std::make_shared<Relabelled>(std::move(dataset), std::move(names), std::move(map));
}

DatasetPtr subset(DatasetPtr dataset, std::vector<std::size_t> indices) {
    for (const std::size_t index : indices)
        if (index >= dataset->size())
            throw Error(fmt::format("{}: subset: expected indices below {}, found {}",
                                    dataset->source(), dataset->size(), index));
    ClassList classes = dataset->class_list();
    return std::make_shared<Subset>(std::move(dataset), std::move(classes), std::move(indices));
}

}  // namespace cait
