// A data set: numbered images with labels, read by any number of threads. Where the images come
// from (files, one big file, tar shards) is the business of the derived classes. The same images
// may be labelled at several levels of detail; data/levels.h chooses among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/class_list.h"
#include "data/label_image.h"
#include "data/object.h"
#include "data/sentence_pair.h"
#include "image/codec/decode.h"
#include "image/image.h"
#include "image/ops/crop.h"

namespace cait {

// An image as it is stored: the bytes of a JPEG, PNG or WebP file.
struct EncodedImage {
    std::string extension;  // "jpg"
    std::vector<std::byte> bytes;
};

// The labels of all images at one level of detail.
struct LabelLevel {
    std::string name;  // "genus"
    ClassList classes;
    std::vector<std::int64_t> labels;  // (images), into classes
};

inline constexpr std::int64_t kUnlabelled = -1;
inline constexpr char kLabelSeparator = '|';  // of names of classes, in tables

class Dataset {
public:
    virtual ~Dataset() = default;
    Dataset(const Dataset&) = delete;
    Dataset& operator=(const Dataset&) = delete;

    virtual std::size_t size() const noexcept = 0;
    // For messages: the file, or the file and the record in it.
    virtual std::string name(std::size_t index) const = 0;

    // Decodes into `out`, whose memory is used again. Throws Error, naming the image, when it
    // cannot be read. Thread-safe.
    virtual void read(std::size_t index, const DecodeOptions& options, Image& out) const = 0;
    Image image(std::size_t index, int channels = 3) const;

    // Into classes(); kUnlabelled where nothing is known. labels() is for sets where an image may
    // have several right answers, or none; label() is the first of them.
    virtual std::int64_t label(std::size_t index) const = 0;
    virtual std::vector<std::int64_t> labels(std::size_t index) const { return {label(index)}; }

    // The names of all its classes: "cat|dog"; empty where there is none.
    std::string label_text(std::size_t index) const;

    // Of sets that say the class of every pixel, into classes(). label_image() throws Error, naming
    // the file, when it cannot be read or holds something else. Thread-safe.
    virtual bool has_label_images() const { return false; }
    virtual LabelImage label_image(std::size_t index) const;
    // What the classes are drawn in, one each; empty where the set does not say.
    virtual std::vector<Colour> colours() const { return {}; }

    // Of sets that say what is where in an image, into classes(). objects() throws Error, naming
    // the file, where what is annotated cannot be read. Thread-safe.
    virtual bool has_objects() const { return false; }
    virtual bool has_object_masks() const { return false; }
    virtual std::vector<Object> objects(std::size_t index) const;
    // What others call the image in files of results: COCO's id.
    virtual std::int64_t image_number(std::size_t index) const { return std::int64_t(index) + 1; }
    // And the classes, one number each, no two the same.
    virtual std::vector<std::int64_t> class_numbers() const;

    // Of sets that hold sentences and their translations, and no images at all. sentences() throws
    // Error, naming file and line, where one cannot be read. Thread-safe.
    virtual bool has_sentences() const { return false; }
    virtual SentencePair sentences(std::size_t index) const;
    // What source and target are written in: "en", "de".
    virtual std::pair<std::string, std::string> languages() const { return {}; }

    // The levels at which the images are labelled, coarsest first ("coarse", "fine"); none where
    // label() is all there is.
    virtual std::vector<std::string> levels() const { return {}; }
    // Throws UsageError, naming the levels that there are, for another name.
    virtual LabelLevel level(const std::string& name) const;

    // Where the image is a file of its own.
    virtual std::optional<std::filesystem::path> file(std::size_t) const { return std::nullopt; }
    // Nothing when the set holds bare pixels.
    virtual std::optional<EncodedImage> encoded(std::size_t index) const;

    // First index of each stretch that is best read from front to back (a tar shard); empty when
    // any order is as good as another.
    virtual std::vector<std::size_t> stretches() const { return {}; }

    const ClassList& class_list() const noexcept { return classes_; }
    const std::vector<std::string>& classes() const noexcept { return classes_.names; }
    const std::string& source() const noexcept { return source_; }  // opens error messages
    // Lines worth showing to a user: how labels were understood where there were two ways.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

protected:
    Dataset(std::string source, ClassList classes)
        : source_(std::move(source)), classes_(std::move(classes)) {}

    void add_note(std::string note) { notes_.push_back(std::move(note)); }
    [[noreturn]] void no_level(const std::string& name) const;

private:
    std::string source_;
    ClassList classes_;
    std::vector<std::string> notes_;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// For those who can do with one label per image only: throws Error that names the first image with
// another number of them, and says what wants one.
void require_one_label(const Dataset& dataset, const std::string& what);

// The same for one image whose first label is enough: throws only where it has none.
std::int64_t first_label(const Dataset& dataset, std::size_t index);

// The label image of an image as it was read. Throws Error, naming both, where their sizes differ.
LabelImage label_image_of(const Dataset& dataset, std::size_t index, const Image& image);

// The same images with labels into `known`, mapped by name as map_classes does it.
DatasetPtr with_classes(DatasetPtr dataset, std::vector<std::string> known);

// The same with an explicit map from the data set's own labels to positions in `names`.
DatasetPtr with_labels(DatasetPtr dataset, std::vector<std::string> names, ClassMap map);

// The samples `indices` of another data set, in that order.
DatasetPtr subset(DatasetPtr dataset, std::vector<std::size_t> indices);

// Passes everything on to another data set: the base of views that change one thing.
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
    bool has_label_images() const override { return inner_->has_label_images(); }
    LabelImage label_image(std::size_t i) const override { return inner_->label_image(at(i)); }
    std::vector<Colour> colours() const override { return inner_->colours(); }
    bool has_objects() const override { return inner_->has_objects(); }
    bool has_object_masks() const override { return inner_->has_object_masks(); }
    std::vector<Object> objects(std::size_t i) const override { return inner_->objects(at(i)); }
    std::int64_t image_number(std::size_t i) const override { return inner_->image_number(at(i)); }
    std::vector<std::int64_t> class_numbers() const override { return inner_->class_numbers(); }
    bool has_sentences() const override { return inner_->has_sentences(); }
    SentencePair sentences(std::size_t i) const override { return inner_->sentences(at(i)); }
    std::pair<std::string, std::string> languages() const override { return inner_->languages(); }
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
