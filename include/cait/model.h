// A model with its weights: create it fresh, load official checkpoints, change its settings, save
// it as one self-contained file. Start here; cait/classifier.h and cait/session.h run it,
// cait/train.h trains it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "cait/image_size.h"
#include "cait/settings.h"
#include "cait/tensor.h"

namespace cait {

// One line of the catalogue. Costs are per image; one multiply-add counts as 1. Of a model that
// finds objects they are those of its first stage at this size, of 1000 regions for boxes and of
// 100 for masks (in training 512 and 128), without pooling and suppression; parameters that nothing
// reads, such as those of a trunk's class-attention, do not count.
struct ModelInfo {
    std::string name;
    std::string family;
    std::int64_t image_height = 0;
    std::int64_t image_width = 0;
    std::int64_t params = 0;
    std::int64_t macs = 0;
    std::int64_t inference_bytes = 0;  // float32 activations alive at once
    std::int64_t training_bytes = 0;   // float32 activations kept for the backward pass
    // Of a preset as it is, not of one with changed settings.
    std::optional<double> top1;            // ImageNet accuracy in the paper, labels alone
    std::optional<double> top1_distilled;  // with a convnet teacher
    // Mean IoU on ADE20k in the paper, of a model that gives every pixel a class: at one scale, at
    // several, and for a trunk that was trained on ImageNet-21k.
    std::optional<double> miou = {};
    std::optional<double> miou_multi = {};
    std::optional<double> miou_21k = {};
    std::optional<double> miou_21k_multi = {};
    // Average precision on COCO in the paper, of a model that finds objects: of boxes and of masks,
    // over all overlaps and from 0.5 and 0.75 on.
    std::optional<double> box_ap = {}, box_ap50 = {}, box_ap75 = {};
    std::optional<double> mask_ap = {}, mask_ap50 = {}, mask_ap75 = {};
};

// The models whose name contains one of the filters (all, without filters), with `settings`
// applied to each. Throws UsageError, with the nearest names, when nothing fits a filter.
std::vector<ModelInfo> list_models(const std::vector<std::string>& filters = {},
                                   const SettingList& settings = {});

// What evaluation does to an image before the model sees it; cait/image.h does it.
struct Preprocessing {
    double crop_ratio = 0.875;         // crop size over resized size
    std::string crop_mode = "centre";  // centre, squash or border (docs/data.md)
    std::string interpolation = "bicubic";
    std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
    std::array<float, 3> std{0.229F, 0.224F, 0.225F};
    bool operator==(const Preprocessing&) const = default;
};

// What a model answers with: its file says so, and a file that does not is of a classifier.
struct Task {
    // "classify": one class per image, probabilities by softmax. "multi_label": any number of
    // classes, each with a probability of its own, by sigmoid. "segment": one class per pixel.
    // "detect": objects, each with a box, a class and a score, and with a mask where the model has
    // them. "translate": sentences in another language.
    std::string name = "classify";
    // A class counts as an answer from this probability on; of detect, the least score of an
    // object.
    double threshold = 0;
    // Of segment: the classes' colours, red, green and blue, for pictures of labels; may be empty.
    std::vector<std::array<std::uint8_t, 3>> colours = {};
    std::uint8_t ignore = 255;  // the value of label images that stands for no class
    bool operator==(const Task&) const = default;
};

// Of a model that translates: its languages and how text is cut into pieces.
struct TextFacts {
    std::string source, target;  // languages, such as "en" and "de"
    std::string kind;            // of the vocabulary: "sentencepiece", "bpe" or "words"
    std::string vocabulary;      // the bytes of it, as data/sentences/vocabulary.h reads them
    bool operator==(const TextFacts&) const = default;
};

struct ModelSpec;

class Model {
public:
    // Fresh weights by the papers' initialisers; the same seed gives the same weights anywhere.
    static Model create(const std::string& name, const SettingList& settings = {},
                        std::uint64_t seed = 0);

    struct LoadOptions {
        bool prefer_ema = false;        // take the averaged weights when a checkpoint has both
        bool allow_non_finite = false;  // otherwise NaN and infinity are refused
        std::uint64_t seed = 0;         // for a class head that has to be rebuilt
        // Take a file whose class head does not fit, or that has none, with a head of random
        // numbers: to train it, or for features alone. Otherwise such a file is an Error, because
        // the answers of such a head mean nothing.
        bool allow_fresh_head = false;
    };
    // An official .pth, a timm safetensors or a file of ours. Unless `settings` has "classes",
    // there are as many as the file's head has. The position embedding is resized when the image
    // size differs; notes() says so. `name` may be empty for a file that carries its configuration;
    // whatever it is, class names, preparation of images and training record are the file's.
    static Model load(const std::filesystem::path& file, const std::string& name,
                      const SettingList& settings, const LoadOptions& options);
    static Model load(const std::filesystem::path& file, const std::string& name = {},
                      const SettingList& settings = {}) {
        return load(file, name, settings, LoadOptions());
    }

    // One safetensors file that needs no other file; replaced atomically.
    void save(const std::filesystem::path& file) const;

    // The same model with other weights, which must have the names and shapes of these; int8 with
    // their scales or floats.
    Model with_weights(std::map<std::string, Tensor> weights) const;

    // The same model for other classes. What the head knows of a class goes with its name; classes
    // that are new to it get fresh numbers, and so do all where this model has no names. notes()
    // says what happened.
    Model with_classes(std::vector<std::string> names, std::uint64_t seed = 0) const;

    // The same model with another head, as `head.kind` and the other keys of a recipe's [head] say:
    // what there is under the same name in the same shape is kept, the rest is fresh. A head that
    // gives every pixel a class takes the place of the class head and makes the task "segment", one
    // that finds objects "detect".
    Model with_head(const SettingList& head, std::uint64_t seed = 0) const;

    // The same weights for images of another size; the position embedding is resized as when a file
    // is loaded.
    Model at_size(ImageSize size) const;

    // What its owner calls it, such as the run that it comes from; empty when the file does not
    // say.
    const std::string& name() const { return name_; }
    void set_name(std::string name) { name_ = std::move(name); }

    // Names of the classes in the order of the logits; empty when the file does not say.
    const std::vector<std::string>& classes() const { return classes_; }
    void set_classes(std::vector<std::string> names);  // one per class
    // Whether load(), with_classes() or with_head() had to initialise the class head, or some of
    // its classes: these have learned nothing yet.
    bool has_fresh_head() const { return fresh_head_; }

    const Preprocessing& preprocessing() const { return preprocessing_; }
    void set_preprocessing(Preprocessing preprocessing) {
        preprocessing_ = std::move(preprocessing);
        assumed_preprocessing_ = false;
    }
    // Whether the file did not say how images are prepared, so that this is what the published
    // weights of its model expect.
    bool has_assumed_preprocessing() const { return assumed_preprocessing_; }

    const Task& task() const { return task_; }
    void set_task(Task task);  // throws Error for a name or threshold that is none

    // Of a model that translates; none for others, and for one that knows no text yet.
    const std::optional<TextFacts>& text() const { return text_; }
    // Throws Error for a model that takes no text, and for facts that a file could not hold.
    void set_text(TextFacts facts);

    // How it was trained: recipe, epoch, accuracies; empty for files of others.
    const std::map<std::string, std::string>& training() const { return training_; }
    void set_training(std::map<std::string, std::string> facts) { training_ = std::move(facts); }

    // What save() writes in addition to the weights: configuration and all of the above.
    std::map<std::string, std::string> metadata() const;

    ModelInfo info() const;
    std::map<std::string, std::string> settings() const;
    // float32. Those that a file keeps as int8 are computed when this is first called, and stay.
    const std::map<std::string, Tensor>& weights() const;
    // As the file has them: int8 with a float32 tensor NAME_scale, the scale of each row, or
    // float32.
    const std::map<std::string, Tensor>& stored_weights() const { return weights_; }
    // The names of those that are int8 (cait/quantize.h makes them); empty: all are float32.
    std::vector<std::string> quantized() const;
    // Parameters whose products stay wider where the model runs as int8: patterns, as
    // SessionOptions::keep has them.
    const std::vector<std::string>& kept() const { return kept_; }
    void set_kept(std::vector<std::string> patterns) { kept_ = std::move(patterns); }
    // What had to be adapted or taken on trust, a line each.
    const std::vector<std::string>& notes() const { return notes_; }
    void add_note(std::string note) { notes_.push_back(std::move(note)); }
    const ModelSpec& spec() const { return *spec_; }

private:
    void answer_as(const Model& before);

    std::shared_ptr<const ModelSpec> spec_;
    struct Floats;
    void set_weights(std::map<std::string, Tensor> weights);

    std::map<std::string, Tensor> weights_;  // by official name; mapped where that is possible
    std::shared_ptr<Floats> floats_;         // of weights that are int8; none where there are none
    std::vector<std::string> kept_;
    std::vector<std::string> notes_;
    std::string name_;
    std::vector<std::string> classes_;
    bool fresh_head_ = false;
    bool assumed_preprocessing_ = false;
    Preprocessing preprocessing_;
    Task task_;
    std::optional<TextFacts> text_;
    std::map<std::string, std::string> training_;
};

}  // namespace cait
