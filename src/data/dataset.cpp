#include "data/dataset.h"

#include <fmt/format.h>

#include <utility>

#include "cait/error.h"
#include "core/file_bytes.h"
#include "image/codec/image_name.h"

namespace cait {

namespace {

// Passes everything on to another data set; the two views below change one thing each.
class Forwarding : public Dataset {
public:
    Forwarding(DatasetPtr inner, ClassList classes)
        : Dataset(inner->source(), std::move(classes)), inner_(std::move(inner)) {}

    std::size_t size() const noexcept override { return inner_->size(); }
    std::string name(std::size_t i) const override { return inner_->name(at(i)); }
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        inner_->read(at(i), options, out);
    }
    std::int64_t label(std::size_t i) const override { return inner_->label(at(i)); }
    std::vector<std::int64_t> labels(std::size_t i) const override { return inner_->labels(at(i)); }
    std::optional<std::filesystem::path> file(std::size_t i) const override {
        return inner_->file(at(i));
    }
    std::optional<EncodedImage> encoded(std::size_t i) const override {
        return inner_->encoded(at(i));
    }

protected:
    virtual std::size_t at(std::size_t index) const { return index; }
    const Dataset& inner() const { return *inner_; }

private:
    DatasetPtr inner_;
};

class Relabelled final : public Forwarding {
public:
    Relabelled(DatasetPtr inner, std::vector<std::string> known, std::vector<std::int64_t> map)
        : Forwarding(std::move(inner), {std::move(known), false}), map_(std::move(map)) {}

    std::int64_t label(std::size_t i) const override {
        return map_[std::size_t(Forwarding::label(i))];
    }
    std::vector<std::int64_t> labels(std::size_t i) const override {
        std::vector<std::int64_t> result = Forwarding::labels(i);
        for (std::int64_t& value : result) value = map_[std::size_t(value)];
        return result;
    }
    std::vector<std::size_t> stretches() const override { return inner().stretches(); }

private:
    std::vector<std::int64_t> map_;
};

class Subset final : public Forwarding {
public:
    Subset(DatasetPtr inner, ClassList classes, std::vector<std::size_t> indices)
        : Forwarding(std::move(inner), std::move(classes)), indices_(std::move(indices)) {}

    std::size_t size() const noexcept override { return indices_.size(); }

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

DatasetPtr with_classes(DatasetPtr dataset, std::vector<std::string> known) {
    auto map = map_classes(dataset->class_list(), known, dataset->source());
    return with_labels(std::move(dataset), std::move(known), std::move(map));
}

DatasetPtr with_labels(DatasetPtr dataset, std::vector<std::string> names,
                       std::vector<std::int64_t> map) {
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
