// A model that answers requests: loaded, packed, measured. Never changes once it is there; a new
// file makes a new one beside it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/image_size.h"
#include "cait/classifier.h"
#include "evaluate/segment_classes.h"
#include "evaluate/segment_image.h"
#include "graph/graph.h"
#include "image/preparer.h"
#include "serve/engine/model_stats.h"
#include "serve/engine/prepared_sets.h"
#include "serve/engine/served_detector.h"
#include "serve/engine/served_translator.h"
#include "serve/engine/service_time.h"
#include "serve/engine/tap_info.h"

namespace cait::serve {

struct EngineOptions {
    Precision precision = Precision::fp32;
    int threads = 0;
    std::size_t batch = 8;  // images, or sentences of the usual length, that may go together
    double bound = 0.25;    // seconds that an accepted request may take, where the model can do it
    std::shared_ptr<MemoryAccount> memory = MemoryAccount::of_process();
    std::vector<std::string> keep = {};  // of int8, as SessionOptions has it
};

// Where a model comes from.
struct ModelSource {
    std::string name;
    std::string version;         // a number
    std::filesystem::path file;  // never told to clients
    std::function<Model()> load;
};

class ServedModel {
public:
    // Throws Error where the model cannot be loaded, or takes neither photographs nor text.
    ServedModel(const ModelSource& source, const EngineOptions& options,
                std::shared_ptr<ModelStats> stats);

    const std::string& name() const { return name_; }
    const std::string& version() const { return version_; }
    const Model& model() const { return model_; }
    const std::string& fingerprint() const { return fingerprint_; }  // evaluate/fingerprint.h
    int threads() const;
    std::string precision() const;
    // Of a model that translates, to which everything about images, taps and classes is foreign;
    // null for others.
    const ServedTranslator* translator() const { return translator_.get(); }

    // ---- of models that take images

    const Session& session() const { return classifier_->session(); }
    ImageSize image_size() const { return size_; }
    Grid grid() const { return grid_; }
    const TapInfo* tap(std::string_view name) const;  // of the network, made of images alone
    std::vector<std::string> attention_taps() const;  // class_attention.0, …
    // Which of them to show when nobody says.
    std::size_t usual_attention() const { return usual_attention_; }
    std::string label(std::size_t index) const;       // of a class
    std::size_t longest_label() const;                // bytes
    Preparer preparer() const { return *preparer_; }  // a copy for one thread
    // Of a model that gives each pixel a class: what cuts windows of its size out of photographs
    // and puts their logits together. Null for others.
    const ImageSegmenter* segmenter() const { return segmenter_.get(); }
    // Of a model that detects; null for others.
    const ServedDetector* detector() const { return detector_.get(); }
    // Of segmenters and detectors.
    const SegmentClasses& dense_classes() const { return dense_classes_; }

    // ---- of all

    // What clients may ask for: the taps, the default one first, what a detector finds, or what a
    // translator writes.
    const std::vector<TapInfo>& outputs() const;
    const TapInfo* output(std::string_view name) const;
    // Those that they get where they name none.
    std::vector<std::string> usual_outputs() const;
    ModelStats& stats() const { return *stats_; }
    ServiceTime& time() const { return time_; }
    // What an image takes after that: of a detector its second stage, of others nothing.
    ServiceTime& rest_time() const { return rest_time_; }
    // Of both, for images that go together, or for sentences of the usual length.
    double seconds(std::size_t images) const;
    std::size_t batch() const;
    // Seconds that an accepted request may take: what was asked for, or four times what one image
    // takes where that is more.
    double bound() const { return bound_; }
    // Seconds of work that so many bring, of which decoding takes one thread `decoding` seconds, or
    // longer where it usually does.
    double cost(std::size_t images, double decoding = 0) const;
    double room() const;  // seconds of work that may wait together
    // What reading and decoding them took, which keeps processors from the engine.
    void observe_input(std::size_t images, double seconds) const;

    // Outputs that were not asked for together of late are prepared, which takes time and memory.
    // They stay so while somebody holds what is returned. Throws HttpError (prepared_sets.h).
    std::shared_ptr<const void> prepare(const std::vector<std::string>& taps) const;
    // All class attentions and the logits, rising: what /classify?attention=1 asks for.
    std::vector<std::string> attention_and_logits() const;

private:
    void load_images(const EngineOptions& options);
    std::vector<PreparedSets::Taps> sets_of_routes() const;
    std::vector<std::string> measured_taps() const;
    ServiceTime measure(std::size_t batch) const;
    ServiceTime measure_rest() const;

    std::string name_, version_;
    Model model_;
    std::string fingerprint_;
    std::unique_ptr<const ServedTranslator> translator_;
    std::optional<const Classifier> classifier_;
    ImageSize size_;
    Grid grid_;
    std::vector<TapInfo> taps_;
    std::size_t usual_attention_ = 0;
    std::optional<const Preparer> preparer_;
    std::unique_ptr<const ImageSegmenter> segmenter_;
    std::unique_ptr<const ServedDetector> detector_;
    SegmentClasses dense_classes_;
    std::shared_ptr<ModelStats> stats_;
    mutable std::optional<PreparedSets> prepared_;
    KeptMemory weights_memory_;  // of a model that translates; others have it in the above
    mutable ServiceTime time_{0, 0, 1}, rest_time_{0, 0, 1};
    mutable std::atomic<double> input_ = 0;  // seconds for an image
    double bound_ = 0;
};

using ServedModelPtr = std::shared_ptr<const ServedModel>;

}  // namespace cait::serve
