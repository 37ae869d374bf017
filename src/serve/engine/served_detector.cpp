#include "serve/engine/served_detector.h"

#include <algorithm>
#include <chrono>

#include "models/catalogue.h"
#include "models/detection_head.h"

namespace cait::serve {

namespace {

// As many regions go through together as ImageDetector cuts out at a time.
constexpr std::size_t kRegionsTogether = 256;
constexpr std::size_t kMostRegions = 1000;

// Every image at the size that memory was laid out for.
DetectNetwork of_one_size(DetectNetwork network) {
    network.one_size = true;
    return network;
}

std::vector<TapInfo> outputs_of(const DetectNetwork& network) {
    constexpr auto kMost = std::int64_t(ServedDetector::kMostFound);
    std::vector<TapInfo> outputs{{"boxes", {Shape::kBatch, kMost, 4}},
                                 {"scores", {Shape::kBatch, kMost}},
                                 {"labels", {Shape::kBatch, kMost}, "INT64"},
                                 {"counts", {Shape::kBatch}, "INT64"}};
    if (network.masks) outputs.push_back({"masks", {Shape::kBatch, kMost}, "BYTES"});
    return outputs;
}

std::int64_t pyramid_channels(const Model& model) {
    const Graph graph = record(model.spec(), {.taps = {"pyramid.0"}});
    return graph.node(graph.outputs.at("pyramid.0")).shape[1];
}

}  // namespace

// One of the two parts of the second stage, for as many regions as an image can have.
struct ServedDetector::Regions {
    const char* input;
    std::int64_t bins;
    std::vector<std::string> taps;
    std::size_t most;
};

class ServedDetector::SecondStage final : public Executor {
public:
    SecondStage(const Model& model, SessionOptions options)
        : session_(model, with_regions(std::move(options))) {}

    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        return session_.run(inputs, taps);
    }
    const Session& session() const { return session_; }

private:
    static SessionOptions with_regions(SessionOptions options) {
        options.batch = kRegionsTogether;
        return options;
    }

    Session session_;
};

ServedDetector::ServedDetector(const Model& model, const SessionOptions& session,
                               std::shared_ptr<MemoryAccount> account)
    : network_(of_one_size(DetectNetwork::of(model))),
      channels_(pyramid_channels(model)),
      threads_(session.threads),
      stage_(std::make_shared<const SecondStage>(model, session)),
      outputs_(outputs_of(network_)),
      memory_(std::move(account)) {
    for (const Regions& part : regions()) stage_->session().prepare(part.taps);
    memory_.hold(bytes());
}

std::vector<ServedDetector::Regions> ServedDetector::regions() const {
    std::vector<Regions> parts{{kBoxRegions, kBoxBins, {"box_logits", "box_deltas"}, kMostRegions}};
    if (network_.masks) parts.push_back({kMaskRegions, kMaskBins, {"mask_logits"}, kMostFound});
    return parts;
}

// Weights, plans, and of one image: anchors with what is said of them, what is cut out, and logits
// of all regions.
std::uint64_t ServedDetector::bytes() const {
    constexpr std::uint64_t kNumber = sizeof(float), kAnchor = 64;
    const auto channels = std::uint64_t(channels_), classes = std::uint64_t(network_.classes) + 1;
    std::uint64_t bytes = stage_->session().memory().weights;
    for (const Regions& part : regions())
        bytes += stage_->session().memory(part.taps).activations +
                 kNumber * std::min(part.most, kRegionsTogether) * channels *
                     std::uint64_t(part.bins * part.bins);
    std::uint64_t anchors = 0;
    for (std::size_t level = 0; level < kPyramidLevels; ++level) {
        const std::int64_t stride = level_stride(level);
        anchors += std::uint64_t(kAnchorRatios * (network_.size.height / stride + 1) *
                                 (network_.size.width / stride + 1));
    }
    bytes += kAnchor * anchors + 2 * kNumber * kMostRegions * 5 * classes;
    if (network_.masks)
        bytes += kNumber * std::min(kMostFound, kRegionsTogether) * classes *
                 std::uint64_t(kMaskSide * kMaskSide);
    return bytes;
}

std::vector<std::string> ServedDetector::usual_outputs() const {
    return {"boxes", "scores", "labels", "counts"};
}

std::vector<std::string> ServedDetector::first_stage() const {
    std::vector<std::string> taps = proposal_taps();
    std::ranges::sort(taps);
    return taps;
}

ImageDetector ServedDetector::with(const DetectOptions& options) const {
    return {stage_, network_, options, threads_};
}

// The better of two runs; what disturbs them is corrected later.
double ServedDetector::measure_second_stage() const {
    double seconds = 0;
    for (const Regions& part : regions()) {
        double least = 1e9;
        const auto count = std::min(part.most, kRegionsTogether);
        const Tensor input =
            Tensor::zeros(DType::f32, {std::int64_t(count), channels_, part.bins, part.bins});
        for (int i = 0; i < 2; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            stage_->run(NamedInputs<Tensor>{{part.input, input}}, part.taps);
            least = std::min(
                least,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        seconds += least * double(part.most) / double(count);
    }
    return seconds;
}

}  // namespace cait::serve
