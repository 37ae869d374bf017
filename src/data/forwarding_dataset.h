// A data set that passes everything on to another one: the base of views that change one thing.
#pragma once

#include <utility>

#include "data/dataset.h"

namespace cait {

class ForwardingDataset : public Dataset {
public:
    ForwardingDataset(DatasetPtr inner, ClassList classes)
        : Dataset(inner->source(), std::move(classes)), inner_(std::move(inner)) {
        for (const std::string& note : inner_->notes()) add_note(note);
    }

    std::size_t size() const noexcept override { return inner_->size(); }
    std::string name(std::size_t i) const override { return inner_->name(at(i)); }
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        inner_->read(at(i), options, out);
    }
    std::int64_t label(std::size_t i) const override { return inner_->label(at(i)); }
    std::vector<std::int64_t> labels(std::size_t i) const override { return inner_->labels(at(i)); }
    std::vector<std::string> levels() const override { return inner_->levels(); }
    LabelLevel level(const std::string& name) const override { return inner_->level(name); }
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

}  // namespace cait
