// Detectors of a model on the engine: what they have to know of it, and sessions for its stages.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "cait/error.h"
#include "engine/engine_executor.h"
#include "evaluate/detect_image.h"
#include "models/catalogue.h"
#include "models/detection_head.h"

namespace cait {

namespace {

constexpr std::size_t kDetectSizes = 3;  // of images, whose plans are kept

SessionOptions one_image(SessionOptions options) {
    options.batch = 1;
    return options;
}

// Images come in many sizes, and each has a plan with memory of its own: of some, those are given
// back when there are more.
class SizesSession final : public Executor {
public:
    SizesSession(const Model& model, const SessionOptions& options)
        : executor_(model, one_image(options)) {}

    std::map<std::string, Tensor> run(const NamedInputs<Tensor>& inputs,
                                      const std::vector<std::string>& taps) const override {
        for (const auto& [name, tensor] : inputs)
            if (name != kBoxRegions && name != kMaskRegions && tensor.shape().rank() == 4)
                make_room({tensor.shape()[2], tensor.shape()[3]}, taps);
        return executor_.run(inputs, taps);
    }

private:
    void make_room(ImageSize size, const std::vector<std::string>& taps) const {
        const std::lock_guard lock(mutex_);
        if (std::ranges::find(sizes_, size) != sizes_.end()) return;
        if (sizes_.size() >= kDetectSizes) {
            executor_.session().forget(taps);
            sizes_.clear();
        }
        sizes_.push_back(size);
    }

    EngineExecutor executor_;
    mutable std::mutex mutex_;
    mutable std::vector<ImageSize> sizes_;
};

}  // namespace

DetectNetwork DetectNetwork::of(const Model& model) {
    const ModelSpec& spec = model.spec();
    if (!spec.head.is_detector())
        throw UsageError(fmt::format(
            "{}: expected a model that detects, found one without a detection head", spec.name));
    const CommonConfig& common = spec.architecture->common();
    if (common.channels != 3)
        throw UsageError(fmt::format("{}: expected a model for images of 3 channels, found {}",
                                     spec.name, common.channels));
    DetectNetwork network{.size = common.image_size,
                          .classes = std::size_t(spec.head.detection.classes),
                          .masks = spec.head.detection.masks,
                          .rules = region_rules(spec.head.detection),
                          .preprocessing = model.preprocessing()};
    using Kind = ParamRole::Kind;
    const Graph graph = record(spec);
    network.one_size = std::ranges::any_of(graph.params, [](const ParamSpec& param) {
        return param.role.kind == Kind::position || param.role.kind == Kind::patch_mixing;
    });
    return network;
}

ImageDetector::ImageDetector(const Model& model, const SessionOptions& session,
                             DetectOptions options)
    : ImageDetector(std::make_shared<SizesSession>(model, session), DetectNetwork::of(model),
                    options, session.threads) {}

}  // namespace cait
