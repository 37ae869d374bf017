#include "serve/engine/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <tuple>

#include "evaluate/fingerprint.h"
#include "models/catalogue.h"
#include "models/class_layers.h"
#include "models/describe.h"
#include "serve/http/message.h"
#include "system/file_guard.h"

namespace cait::serve {

namespace {

// Logits of pixels or images, features and tokens first, then the series, each by its numbers; the
// default tap leads.
auto place_of(const std::string& tap) {
    constexpr std::array kFirst{"segmentation", "logits",   "logits_class",
                                "logits_dist",  "features", "tokens"};
    const std::size_t dot = tap.rfind('.');
    const int number = dot == std::string::npos ? -1 : std::stoi(tap.substr(dot + 1));
    return std::tuple(std::ranges::find(kFirst, tap) - kFirst.begin(), tap.substr(0, dot), number);
}

// Those that are made of images alone.
std::vector<TapInfo> taps_of(const ModelSpec& spec) {
    std::set<std::string> offered = offered_taps(spec);
    for (const char* tap : {"box_logits", "box_deltas", "mask_logits"}) offered.erase(tap);
    std::vector<std::string> names(offered.begin(), offered.end());
    std::ranges::sort(names, {}, place_of);
    const Graph graph = record(spec, {.taps = names});
    std::vector<TapInfo> taps;
    for (const std::string& name : names)
        taps.push_back({name, graph.node(graph.outputs.at(name)).shape});
    return taps;
}

// Memory of its own, so that whatever is done to the file later changes nothing: people copy new
// weights over old ones.
Model owned(const Model& model) {
    std::map<std::string, Tensor> copies;
    for (const auto& [name, tensor] : model.stored_weights()) {
        Tensor copy = Tensor::empty(tensor.dtype(), tensor.shape());
        std::memcpy(copy.mutable_bytes().data(), tensor.bytes(), tensor.byte_size());
        copies.emplace(name, std::move(copy));
    }
    recheck_mapped_files();
    return model.with_weights(std::move(copies));
}

// Windows go through the server's own queue; this only cuts them and puts their logits together.
class NoNetworks final : public SegmentNetworks {
public:
    std::shared_ptr<const Executor> of_size(ImageSize) const override {
        throw Error("segment: the server runs the windows of an image itself");
    }
};

std::unique_ptr<const ImageSegmenter> segmenter_of(const Model& model, int threads) {
    if (!segments(model)) return nullptr;
    SegmentOptions options;
    options.mode = SegmentOptions::Mode::slide;
    return std::make_unique<const ImageSegmenter>(std::make_shared<NoNetworks>(),
                                                  SegmentNetwork::of(model), options, 1, threads);
}

std::unique_ptr<const ServedDetector> detector_of(const Model& model,
                                                  const EngineOptions& options) {
    if (!detects(model)) return nullptr;
    return std::make_unique<const ServedDetector>(
        model, SessionOptions{.precision = options.precision, .threads = options.threads},
        options.memory);
}

std::uint64_t weight_bytes(const Model& model) {
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : model.stored_weights()) bytes += tensor.byte_size();
    return bytes;
}

}  // namespace

ServedModel::ServedModel(const ModelSource& source, const EngineOptions& options,
                         std::shared_ptr<ModelStats> stats)
    : name_(source.name),
      version_(source.version),
      model_(owned(source.load())),
      fingerprint_(model_fingerprint(model_)),
      stats_(std::move(stats)),
      weights_memory_(options.memory) {
    if (takes_text(model_.spec())) {
        translator_ = std::make_unique<const ServedTranslator>(
            model_,
            SessionOptions{
                .precision = options.precision, .threads = options.threads, .keep = options.keep},
            options.memory);
        weights_memory_.hold(weight_bytes(model_));
    } else {
        load_images(options);
    }
    time_ = measure(options.batch);
    rest_time_ = measure_rest();
    bound_ = std::max(options.bound, 4 * seconds(1));
}

void ServedModel::load_images(const EngineOptions& options) {
    classifier_.emplace(model_, SessionOptions{.precision = options.precision,
                                               .threads = options.threads,
                                               .batch = options.batch,
                                               .keep = options.keep});
    size_ = model_.spec().architecture->common().image_size;
    grid_ = record(model_.spec()).patch_grid;
    taps_ = taps_of(model_.spec());
    preparer_.emplace(preparer_of(model_));
    segmenter_ = segmenter_of(model_, options.threads);
    detector_ = detector_of(model_, options);
    prepared_.emplace(session(), options.memory, sets_of_routes(), weight_bytes(model_));
    if (segmenter_) dense_classes_ = segment_classes(model_, segmenter_->network().classes);
    if (detector_) dense_classes_ = segment_classes(model_, detector_->network().classes);
    const std::vector<std::string> looks = attention_taps();
    if (looks.empty()) return;
    const std::int64_t layer = class_layers(model_.spec()).usual();
    usual_attention_ = std::size_t(
        std::ranges::find(looks, fmt::format("class_attention.{}", layer)) - looks.begin());
}

int ServedModel::threads() const {
    return translator_ ? translator_->translator().threads() : session().threads();
}

std::string ServedModel::precision() const {
    return translator_ ? translator_->translator().precision() : session().precision();
}

double ServedModel::seconds(std::size_t images) const {
    const double rest = detector_ ? double(images) * rest_time_.expected(1) : 0;
    return time_.expected(images) + rest;
}

std::size_t ServedModel::batch() const {
    std::size_t batch = time_.batch_within(bound_);
    while (batch > 1 && 4 * seconds(batch) > bound_) --batch;
    return batch;
}

double ServedModel::cost(std::size_t images, double decoding) const {
    const std::size_t together = batch();
    const double engine = seconds(together) / double(together);
    return double(images) * engine +
           std::max(double(images) * input_, decoding) / double(threads());
}

void ServedModel::observe_input(std::size_t images, double seconds) const {
    constexpr double kWeight = 0.05;
    const double before = input_;
    input_ = before + kWeight * (seconds / double(images) - before);
}

// The last one may be the first of a batch, and is answered with the last of it.
double ServedModel::room() const {
    constexpr double kShare = 0.85;  // estimates are never exact
    return kShare * bound_ - seconds(batch());
}

const TapInfo* ServedModel::tap(std::string_view name) const {
    const auto found = std::ranges::find(taps_, name, &TapInfo::name);
    return found == taps_.end() ? nullptr : &*found;
}

const std::vector<TapInfo>& ServedModel::outputs() const {
    return translator_ ? translator_->outputs() : detector_ ? detector_->outputs() : taps_;
}

const TapInfo* ServedModel::output(std::string_view name) const {
    const auto found = std::ranges::find(outputs(), name, &TapInfo::name);
    return found == outputs().end() ? nullptr : &*found;
}

std::vector<std::string> ServedModel::usual_outputs() const {
    if (translator_) return translator_->usual_outputs();
    if (detector_) return detector_->usual_outputs();
    return {taps_.front().name};
}

std::vector<std::string> ServedModel::attention_taps() const {
    std::vector<std::string> names;
    for (const TapInfo& tap : taps_)
        if (tap.name.starts_with("class_attention.")) names.push_back(tap.name);
    return names;
}

std::string ServedModel::label(std::size_t index) const {
    const std::vector<std::string>& names = classifier_->classes();
    return index < names.size() ? names[index] : fmt::format("class {}", index);
}

std::size_t ServedModel::longest_label() const {
    const std::vector<std::string>& names = classifier_->classes();
    const TapInfo* logits = tap("logits");
    const std::size_t classes = logits == nullptr ? 0 : std::size_t(logits->shape[1]);
    std::size_t longest = names.size() < classes ? label(classes).size() : 0;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    return longest;
}

std::vector<std::string> ServedModel::attention_and_logits() const {
    std::vector<std::string> names = attention_taps();
    names.emplace_back("logits");
    return names;
}

std::vector<PreparedSets::Taps> ServedModel::sets_of_routes() const {
    return {measured_taps(), {"logits"}, {"features"}, attention_and_logits()};
}

std::vector<std::string> ServedModel::measured_taps() const {
    return detector_ ? detector_->first_stage() : std::vector<std::string>{taps_.front().name};
}

std::shared_ptr<const void> ServedModel::prepare(const std::vector<std::string>& taps) const {
    return prepared_->get(taps);
}

// The best of some runs: what disturbs them is corrected later.
ServiceTime ServedModel::measure(std::size_t batch) const {
    if (translator_) {
        const double one = translator_->measure(1);
        return {one, batch > 1 ? translator_->measure(batch) : one, batch};
    }
    const std::vector<std::string> taps = measured_taps();
    const std::shared_ptr<const void> prepared = prepare(taps);
    const auto best = [&](std::size_t images) {
        const Tensor input =
            Tensor::zeros(DType::f32, {std::int64_t(images), 3, size_.height, size_.width});
        double least = 1e9;
        for (int i = 0; i < 3; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            session().run(input, taps);
            least = std::min(
                least,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        return least;
    };
    const double one = best(1);
    return {one, batch > 1 ? best(batch) : one, batch};
}

ServiceTime ServedModel::measure_rest() const {
    const double seconds = detector_ ? detector_->measure_second_stage() : 0;
    return {seconds, seconds, 1};
}

}  // namespace cait::serve
