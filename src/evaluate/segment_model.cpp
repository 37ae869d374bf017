// Segmenters of a model on the engine: what they have to know of it, and sessions for images of any
// size.
#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>

#include "cait/error.h"
#include "engine/engine_executor.h"
#include "evaluate/segment_image.h"
#include "models/catalogue.h"

namespace cait {

namespace {

constexpr std::size_t kSessions = 3;  // of different sizes, that are kept

class ModelNetworks final : public SegmentNetworks {
public:
    ModelNetworks(Model model, SessionOptions options)
        : model_(std::move(model)), options_(std::move(options)) {}

    std::shared_ptr<const Executor> of_size(ImageSize size) const override {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(kept_, size, &Kept::first);
        if (found != kept_.end()) {
            kept_.splice(kept_.begin(), kept_, found);
            return kept_.front().second;
        }
        while (kept_.size() >= kSessions) kept_.pop_back();
        const bool own = size == model_.spec().architecture->common().image_size;
        kept_.emplace_front(
            size, std::make_shared<EngineExecutor>(own ? model_ : model_.at_size(size), options_));
        return kept_.front().second;
    }

private:
    using Kept = std::pair<ImageSize, std::shared_ptr<const Executor>>;

    Model model_;
    SessionOptions options_;
    mutable std::mutex mutex_;
    mutable std::list<Kept> kept_;  // the last used one first
};

// One whole image goes through at a time; windows, as many as the caller wants.
SessionOptions session_for(SessionOptions session, const SegmentOptions& options) {
    if (options.mode == SegmentOptions::Mode::whole) session.batch = 1;
    return session;
}

}  // namespace

SegmentNetwork SegmentNetwork::of(const Model& model) {
    const ModelSpec& spec = model.spec();
    if (!spec.head.is_dense())
        throw UsageError(
            fmt::format("{}: expected a model that segments, found one without a "
                        "dense head",
                        spec.name));
    const CommonConfig& common = spec.architecture->common();
    if (common.channels != 3)
        throw UsageError(fmt::format("{}: expected a model for images of 3 channels, found {}",
                                     spec.name, common.channels));
    const Graph graph = record(spec);
    SegmentNetwork network{.size = common.image_size,
                           .multiple = {1, 1},
                           .classes = std::size_t(spec.head.dense.classes),
                           .preprocessing = model.preprocessing()};
    // Convolutions alone take sides of any length.
    if (const Grid grid = graph.patch_grid; spec.settings().contains("patch") && grid.count() > 0)
        network.multiple = {common.image_size.height / grid.height,
                            common.image_size.width / grid.width};
    network.one_size = std::ranges::any_of(graph.params, [](const ParamSpec& param) {
        return param.role.kind == ParamRole::Kind::patch_mixing;
    });
    return network;
}

ImageSegmenter::ImageSegmenter(const Model& model, const SessionOptions& session,
                               SegmentOptions options)
    : ImageSegmenter(std::make_shared<ModelNetworks>(model, session_for(session, options)),
                     SegmentNetwork::of(model), options, session.batch, session.threads) {}

}  // namespace cait
