#include "evaluate/detect_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "cait/error.h"
#include "data/augment/segmentation_transform.h"
#include "evaluate/box_answers.h"
#include "evaluate/pasted_mask.h"
#include "evaluate/pooled_regions.h"
#include "evaluate/proposals.h"
#include "image/ops/bilinear.h"
#include "image/ops/resize.h"
#include "kernels/thread_pool.h"
#include "models/detection_head.h"
#include "system/cpu_limit.h"

namespace cait {

namespace {

constexpr std::int64_t kMostDetectSide = 1 << 16;
constexpr std::size_t kMostObjectsFound = 1000, kMostProposals = 10'000;
constexpr std::int64_t kDetectMultiple = 32;  // of the sides, where the network takes any size
// Regions that go through the second stage together: enough to read its weights rarely, and what is
// pooled from them stays below some ten megabytes.
constexpr std::size_t kBoxBatch = 256, kMaskBatch = 32;

void check_detect_size(Extent size, std::string_view name) {
    if (size.width < 1 || size.height < 1)
        throw Error(fmt::format("{}: expected an image of at least 1x1, found {}x{}", name,
                                size.width, size.height));
}

// Networks are made for 1344 because padding makes it of the usual limit, 1333.
std::int64_t usual_long_side(ImageSize size) {
    constexpr std::int64_t kUsual = 1333, kPadded = 1344;
    const std::int64_t longer = std::max(size.height, size.width);
    return longer == kPadded ? kUsual : longer;
}

DetectOptions filled_in(DetectOptions options, const DetectNetwork& network) {
    options.check();
    const std::int64_t shorter = std::min(network.size.height, network.size.width);
    const std::int64_t longer = std::max(network.size.height, network.size.width);
    if (network.one_size) {
        const auto side = [](const char* name, std::int64_t value, std::int64_t most) {
            if (value > most)
                throw UsageError(fmt::format(
                    "{}: expected at most {}, the size that the weights belong to, found {}", name,
                    most, value));
        };
        side("short side", options.short_side, longer);
        side("long side", options.long_side, longer);
    }
    if (options.long_side == 0)
        options.long_side = std::max(usual_long_side(network.size), options.short_side);
    if (options.short_side == 0) options.short_side = std::min(shorter, options.long_side);
    options.masks = options.masks && network.masks;
    return options;
}

float logistic(float logit) { return 1 / (1 + std::exp(-logit)); }

// One tap of the first stage: (channels, h, w), of one image.
const Tensor& map_of(const std::map<std::string, Tensor>& outputs, const std::string& tap,
                     std::int64_t channels, std::string_view name) {
    const auto found = outputs.find(tap);
    if (found == outputs.end()) throw Error(fmt::format("{}: {}: expected this output", name, tap));
    const Shape& shape = found->second.shape();
    if (shape.rank() != 4 || shape[0] != 1 || (channels != 0 && shape[1] != channels))
        throw Error(fmt::format("{}: {}: expected a map of one image{}, found {}", name, tap,
                                channels == 0 ? "" : fmt::format(" with {} channels", channels),
                                shape.to_string()));
    check_finite_tap(found->second, tap, name);
    return found->second;
}

struct FirstStage {
    std::vector<Tensor> pyramid;
    std::vector<Proposal> proposals;
};

}  // namespace

void DetectOptions::check() const {
    const auto share = [](const char* name, double value) {
        if (!(value >= 0 && value <= 1))
            throw UsageError(fmt::format("{}: expected 0 to 1, found {:g}", name, value));
    };
    const auto count = [](const char* name, std::size_t value, std::size_t most_of_it) {
        if (value < 1 || value > most_of_it)
            throw UsageError(
                fmt::format("{}: expected 1 to {}, found {}", name, most_of_it, value));
    };
    const auto side = [](const char* name, std::int64_t value) {
        if (value < 0 || value > kMostDetectSide)
            throw UsageError(
                fmt::format("{}: expected 1 to {} pixels, found {}", name, kMostDetectSide, value));
    };
    share("threshold", threshold);
    share("overlap", overlap);
    count("most", most, kMostObjectsFound);
    count("proposals", proposals, kMostProposals);
    side("short side", short_side);
    side("long side", long_side);
    if (long_side != 0 && long_side < short_side)
        throw UsageError(fmt::format("long side: expected at least the short one, {}, found {}",
                                     short_side, long_side));
}

struct ImageDetector::State {
    std::shared_ptr<const Executor> executor;
    DetectNetwork network;
    DetectOptions options;
    Normaliser normaliser;
    mutable kernels::ThreadPool pool;
    mutable std::mutex mutex;  // of the memory that waits for its next image
    mutable std::vector<std::unique_ptr<PooledRegions>> idle;

    State(std::shared_ptr<const Executor> runs, DetectNetwork facts, const DetectOptions& wanted,
          int threads)
        : executor(std::move(runs)),
          network(std::move(facts)),
          options(filled_in(wanted, network)),
          normaliser(network.preprocessing.mean, network.preprocessing.std),
          pool(threads == 0 ? default_threads() : threads) {}

    // What an image is resized to.
    Extent shown_size(Extent image) const {
        const Extent fits = fitting(image, options.long_side, options.short_side);
        if (!network.one_size ||
            (fits.width <= network.size.width && fits.height <= network.size.height))
            return fits;
        const double scale = std::min(double(network.size.width) / double(image.width),
                                      double(network.size.height) / double(image.height));
        const auto side = [scale](std::int64_t of, std::int64_t most) {
            return std::clamp<std::int64_t>(std::int64_t(double(of) * scale + 0.5), 1, most);
        };
        return {side(image.width, network.size.width), side(image.height, network.size.height)};
    }

    ImageSize padded_size(ImageSize shown) const {
        if (network.one_size) return network.size;
        const auto up = [](std::int64_t side) {
            return (side + kDetectMultiple - 1) / kDetectMultiple * kDetectMultiple;
        };
        return {up(shown.height), up(shown.width)};
    }

    Image resized(const Image& image, Extent to) const {
        if (network.filter) return resize(image, to.width, to.height, *network.filter);
        Image result;
        BilinearWorkspace workspace;
        resize_bilinear(image, ResizeTarget::whole(to.width, to.height), false, result, workspace);
        return result;
    }

    std::unique_ptr<PooledRegions> acquire() const {
        const std::lock_guard lock(mutex);
        if (idle.empty()) return std::make_unique<PooledRegions>();
        auto memory = std::move(idle.back());
        idle.pop_back();
        return memory;
    }
    void release(std::unique_ptr<PooledRegions> memory) const {
        const std::lock_guard lock(mutex);
        idle.push_back(std::move(memory));
    }

    FirstStage read(const std::map<std::string, Tensor>& outputs, ImageSize shown,
                    std::string_view name) const {
        FirstStage stage;
        std::vector<ProposalLevel> levels;
        for (std::size_t level = 0; level < kPyramidLevels; ++level) {
            const Tensor& objectness =
                map_of(outputs, fmt::format("objectness.{}", level), kAnchorRatios, name);
            const Tensor& deltas =
                map_of(outputs, fmt::format("anchor_deltas.{}", level), 4 * kAnchorRatios, name);
            const ImageSize map{objectness.shape()[2], objectness.shape()[3]};
            if (ImageSize{deltas.shape()[2], deltas.shape()[3]} != map)
                throw Error(fmt::format("{}: anchor_deltas.{}: expected {}x{} places, found {}x{}",
                                        name, level, map.height, map.width, deltas.shape()[2],
                                        deltas.shape()[3]));
            levels.push_back({map, objectness.floats(), deltas.floats()});
        }
        std::int64_t channels = 0;
        for (std::size_t level = 0; level < kPooledLevels; ++level) {
            stage.pyramid.push_back(
                map_of(outputs, fmt::format("pyramid.{}", level), channels, name));
            channels = stage.pyramid.front().shape()[1];
        }
        stage.proposals = propose(levels, shown, network.rules,
                                  {.per_level = options.proposals, .most = options.proposals});
        return stage;
    }

    // The boxes of the second stage, in pixels of what the network sees.
    std::vector<BoxAnswer> boxes(const FirstStage& stage, ImageSize shown, std::string_view name,
                                 PooledRegions& memory) const {
        std::vector<Region> regions;
        for (const Proposal& proposal : stage.proposals) regions.push_back(proposal.region);
        const std::size_t logits_each = network.classes + 1;
        const std::size_t deltas_each =
            4 * (network.classes + (network.rules.background_first ? 1 : 0));
        std::vector<float> logits(regions.size() * logits_each);
        std::vector<float> deltas(regions.size() * deltas_each);
        const auto take = [&](const Tensor& from, const char* tap, std::size_t first,
                              std::size_t count, std::size_t each, std::vector<float>& into) {
            if (from.floats().size() != count * each)
                throw Error(fmt::format("{}: {}: expected [{}, {}], found {}", name, tap, count,
                                        each, from.shape().to_string()));
            std::ranges::copy(from.floats(), into.begin() + std::ptrdiff_t(first * each));
        };
        const RegionNetwork second{
            .input = kBoxRegions, .bins = kBoxBins, .taps = box_taps(), .batch = kBoxBatch};
        run_regions(*executor, second, stage.pyramid, regions, network.rules, name, pool, memory,
                    [&](std::size_t first, std::size_t count, std::span<const Tensor> outputs) {
                        take(outputs[0], kBoxLogits, first, count, logits_each, logits);
                        take(outputs[1], kBoxDeltas, first, count, deltas_each, deltas);
                    });
        return box_answers(stage.proposals, logits, deltas, shown, network.rules,
                           {.threshold = float(options.threshold),
                            .overlap = float(options.overlap),
                            .most = options.most});
    }

    // From what the network saw back to the image, each axis by its own factor, as mmdetection
    // does.
    Region in_image(const Region& region, ImageSize shown, Extent image) const {
        const float across = float(image.width) / float(shown.width);
        const float down = float(image.height) / float(shown.height);
        return clipped(
            {region.left * across, region.top * down, region.right * across, region.bottom * down},
            {image.height, image.width});
    }

    // The masks of the boxes that stayed: of each, the channel of its class.
    void add_masks(std::span<const BoxAnswer> answers, const FirstStage& stage, Extent image,
                   std::string_view name, PooledRegions& memory,
                   std::vector<DetectedObject>& found) const {
        std::vector<Region> regions;
        for (const BoxAnswer& answer : answers) regions.push_back(answer.region);
        const std::size_t each = std::size_t(kMaskSide * kMaskSide);
        const auto paste = [&](std::size_t first, std::size_t count,
                               std::span<const Tensor> outputs) {
            const std::span<const float> logits = outputs[0].floats();
            const std::size_t channels = logits.size() / each / count;
            std::atomic<std::size_t> next = 0;
            const auto work = [&](int) {
                std::vector<float> probabilities(each);
                for (std::size_t i = next++; i < count; i = next++) {
                    DetectedObject& object = found[first + i];
                    const std::size_t channel = channel_of(object.label);
                    std::ranges::transform(logits.subspan((i * channels + channel) * each, each),
                                           probabilities.begin(), logistic);
                    object.mask = pasted_mask(probabilities, kMaskSide, object.box, image.width,
                                              image.height, network.rules);
                }
            };
            if (channels * each * count != logits.size() || channels != mask_channels())
                throw Error(fmt::format("{}: mask_logits: expected [{}, {}, {}, {}], found {}",
                                        name, count, mask_channels(), kMaskSide, kMaskSide,
                                        outputs[0].shape().to_string()));
            pool.run(int(std::min<std::size_t>(count, std::size_t(pool.threads()))), work);
        };
        const RegionNetwork third{
            .input = kMaskRegions, .bins = kMaskBins, .taps = {kMaskLogits}, .batch = kMaskBatch};
        run_regions(*executor, third, stage.pyramid, regions, network.rules, name, pool, memory,
                    paste);
    }

    std::size_t mask_channels() const {
        if (!network.rules.mask_of_class) return 1;
        return network.classes + (network.rules.background_first ? 1 : 0);
    }
    std::size_t channel_of(std::int64_t label) const {
        if (!network.rules.mask_of_class) return 0;
        return std::size_t(label) + (network.rules.background_first ? 1 : 0);
    }
};

ImageDetector::ImageDetector(std::shared_ptr<const Executor> executor, DetectNetwork network,
                             DetectOptions options, int threads)
    : state_(std::make_shared<const State>(std::move(executor), std::move(network), options,
                                           threads)) {}

ImageDetector::ImageDetector(const Executor& executor, DetectNetwork network, DetectOptions options,
                             int threads)
    : ImageDetector(std::shared_ptr<const Executor>(std::shared_ptr<const Executor>(), &executor),
                    std::move(network), options, threads) {}

ImageDetector::Prepared ImageDetector::prepare(const Image& image) const {
    const State& state = *state_;
    const Extent original{image.width, image.height};
    check_detect_size(original, "image");
    const Extent to = state.shown_size(original);
    const ImageSize shown{to.height, to.width};
    const auto [height, width] = state.padded_size(shown);
    const Image resized = state.resized(image, to);
    std::vector<float> planes(std::size_t(3 * shown.height * shown.width));
    state.normaliser.apply(resized, planes);
    // The rest is zeros, the mean colour.
    Tensor images = Tensor::zeros(DType::f32, {1, 3, height, width});
    float* out = images.mutable_floats().data();
    for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t y = 0; y < shown.height; ++y)
            std::memcpy(out + (c * height + y) * width,
                        planes.data() + (c * shown.height + y) * shown.width,
                        std::size_t(shown.width) * sizeof(float));
    return {std::move(images), shown, original};
}

std::vector<DetectedObject> ImageDetector::detect(const Image& image, std::string_view name) const {
    check_detect_size({image.width, image.height}, name);
    const Prepared prepared = prepare(image);
    return find(prepared, state_->executor->run(prepared.images, proposal_taps()), name);
}

std::vector<DetectedObject> ImageDetector::find(const Prepared& prepared,
                                                const std::map<std::string, Tensor>& first_stage,
                                                std::string_view name) const {
    const State& state = *state_;
    check_detect_size(prepared.original, name);
    const FirstStage stage = state.read(first_stage, prepared.shown, name);
    if (stage.proposals.empty()) return {};
    std::unique_ptr<PooledRegions> memory = state.acquire();
    const std::vector<BoxAnswer> answers = state.boxes(stage, prepared.shown, name, *memory);
    std::vector<DetectedObject> found;
    for (const BoxAnswer& answer : answers)
        found.push_back({answer.label, answer.score,
                         state.in_image(answer.region, prepared.shown, prepared.original)});
    if (state.options.masks && !found.empty())
        state.add_masks(answers, stage, prepared.original, name, *memory, found);
    state.release(std::move(memory));
    return found;
}

const DetectNetwork& ImageDetector::network() const { return state_->network; }
const DetectOptions& ImageDetector::options() const { return state_->options; }

}  // namespace cait
