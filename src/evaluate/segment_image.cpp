#include "evaluate/segment_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "cait/error.h"
#include "evaluate/segment_pass.h"
#include "image/ops/resize.h"
#include "system/cpu_limit.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr std::int64_t kLongestSide = 1 << 16;
constexpr std::size_t kMostScales = 16;
constexpr double kLeastScale = 0.05, kMostScale = 20;
// Logits of some rows of the result that are in memory at the same time, for each scale.
constexpr std::int64_t kBandBytes = std::int64_t{32} << 20;
constexpr std::int64_t kMostBandRows = 64;

std::int64_t up_to_multiple(std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

// Of a row of logits (classes, width): a strongest class for each pixel, of equals the first.
void strongest(std::span<const float> values, std::int64_t width, std::vector<float>& best,
               std::uint8_t* labels) {
    best.assign(values.begin(), values.begin() + width);
    std::fill_n(labels, width, std::uint8_t{0});
    const auto classes = std::int64_t(values.size()) / width;
    for (std::int64_t k = 1; k < classes; ++k) {
        const float* row = values.data() + k * width;
        for (std::int64_t x = 0; x < width; ++x) {
            const bool more = row[x] > best[std::size_t(x)];
            best[std::size_t(x)] = more ? row[x] : best[std::size_t(x)];
            labels[x] = more ? std::uint8_t(k) : labels[x];
        }
    }
}

// Adds the softmax over the classes, times `weight`.
void add_softmax(std::span<float> logits, std::int64_t width, float weight, std::span<float> sums) {
    const auto classes = std::int64_t(logits.size()) / width;
    std::vector<float> most(logits.begin(), logits.begin() + width);
    std::vector<float> total(std::size_t(width), 0.0F);
    for (std::int64_t k = 1; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x)
            most[std::size_t(x)] =
                std::max(most[std::size_t(x)], logits[std::size_t(k * width + x)]);
    for (std::int64_t k = 0; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x) {
            float& value = logits[std::size_t(k * width + x)];
            value = std::exp(value - most[std::size_t(x)]);
            total[std::size_t(x)] += value;
        }
    for (std::int64_t k = 0; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x)
            sums[std::size_t(k * width + x)] +=
                weight * logits[std::size_t(k * width + x)] / total[std::size_t(x)];
}

// Limits are scaled before the image is fitted into them, and cut to whole pixels.
std::int64_t scaled_limit(std::int64_t limit, double scale) {
    return std::max(std::int64_t(double(limit) * scale), std::int64_t(1));
}

SegmentOptions filled_in(SegmentOptions options, const SegmentNetwork& network) {
    options.check();
    if (options.short_side == 0)
        options.short_side = std::min(network.size.height, network.size.width);
    if (options.long_side == 0) options.long_side = 4 * options.short_side;
    if (options.stride == 0) {
        const std::int64_t window = options.window != 0
                                        ? options.window
                                        : std::min(network.size.height, network.size.width);
        options.stride = std::max(2 * window / 3, std::int64_t(1));
    }
    return options;
}

// The same one for all sizes; not owned.
class OneNetwork final : public SegmentNetworks {
public:
    explicit OneNetwork(const Executor& executor) : executor_(&executor) {}
    std::shared_ptr<const Executor> of_size(ImageSize) const override {
        return {std::shared_ptr<const Executor>(), executor_};
    }

private:
    const Executor* executor_;
};

}  // namespace

void SegmentOptions::check() const {
    const auto side = [](const char* name, std::int64_t value) {
        if (value < 0 || value > kLongestSide)
            throw UsageError(
                fmt::format("{}: expected 1 to {} pixels, found {}", name, kLongestSide, value));
    };
    side("short side", short_side);
    side("long side", long_side);
    side("window", window);
    side("stride", stride);
    if (long_side != 0 && long_side < short_side)
        throw UsageError(fmt::format("long side: expected at least the short one, {}, found {}",
                                     short_side, long_side));
    if (scales.empty() || scales.size() > kMostScales)
        throw UsageError(
            fmt::format("scales: expected 1 to {} of them, found {}", kMostScales, scales.size()));
    for (const double scale : scales)
        if (!(scale >= kLeastScale && scale <= kMostScale))
            throw UsageError(fmt::format("scales: expected {:g} to {:g}, found {:g}", kLeastScale,
                                         kMostScale, scale));
}

struct ImageSegmenter::State {
    std::shared_ptr<const SegmentNetworks> networks;
    SegmentNetwork network;
    SegmentOptions options;
    std::size_t batch;
    Normaliser normaliser;
    Filter filter;
    mutable kernels::ThreadPool pool;

    State(std::shared_ptr<const SegmentNetworks> source, SegmentNetwork facts,
          const SegmentOptions& wanted, std::size_t together, int threads)
        : networks(std::move(source)),
          network(std::move(facts)),
          options(filled_in(wanted, network)),
          batch(std::max<std::size_t>(together, 1)),
          normaliser(network.preprocessing.mean, network.preprocessing.std),
          filter(parse_filter(network.preprocessing.interpolation)),
          pool(threads == 0 ? default_threads() : threads) {}

    SegmentLook look(SegmentSides input, bool mirror) const {
        SegmentLook look{.window = network.size,
                         .stride = options.stride,
                         .whole = options.mode == SegmentOptions::Mode::whole,
                         .mirror = mirror,
                         .batch = batch};
        if (look.whole)
            look.window = {up_to_multiple(input.height, network.multiple.height),
                           up_to_multiple(input.width, network.multiple.width)};
        else if (options.window != 0)
            look.window = {options.window, options.window};
        return look;
    }
};

namespace {

// What the result is made of, row by row.
class ResultRows {
public:
    ResultRows(std::deque<SegmentPass>& passes, std::size_t classes, SegmentSides size,
               bool probabilities)
        : passes_(passes), classes_(classes), size_(size) {
        result_.labels.width = size.width;
        result_.labels.height = size.height;
        result_.labels.values.resize(std::size_t(size.width * size.height));
        if (probabilities) result_.probabilities.resize(classes * result_.labels.values.size());
    }

    // Rows from `begin` on, which the passes have prepared.
    void make(std::int64_t begin, std::int64_t end) {
        const std::size_t values = classes_ * std::size_t(size_.width);
        std::vector<float> logits(values), sums, best;
        for (std::int64_t y = begin; y < end; ++y) {
            std::uint8_t* labels = result_.labels.values.data() + y * size_.width;
            // One network's softmax keeps the order of its logits.
            if (passes_.size() == 1 && result_.probabilities.empty()) {
                passes_.front().row(y, logits);
                strongest(logits, size_.width, best, labels);
                continue;
            }
            sums.assign(values, 0.0F);
            for (const SegmentPass& pass : passes_) {
                pass.row(y, logits);
                add_softmax(logits, size_.width, 1 / float(passes_.size()), sums);
            }
            strongest(sums, size_.width, best, labels);
            if (!result_.probabilities.empty()) keep(y, sums);
        }
    }

    SegmentedImage take() {
        result_.areas.assign(classes_, 0);
        for (const std::uint8_t label : result_.labels.values) ++result_.areas[label];
        return std::move(result_);
    }

private:
    void keep(std::int64_t y, std::span<const float> row) {
        for (std::size_t k = 0; k < classes_; ++k)
            std::ranges::copy(
                row.subspan(k * std::size_t(size_.width), std::size_t(size_.width)),
                result_.probabilities.begin() + (std::int64_t(k) * size_.height + y) * size_.width);
    }

    std::deque<SegmentPass>& passes_;
    std::size_t classes_;
    SegmentSides size_;
    SegmentedImage result_;
};

}  // namespace

ImageSegmenter::ImageSegmenter(std::shared_ptr<const SegmentNetworks> networks,
                               SegmentNetwork network, SegmentOptions options, std::size_t batch,
                               int threads)
    : state_(std::make_shared<const State>(std::move(networks), std::move(network), options, batch,
                                           threads)) {}

ImageSegmenter::ImageSegmenter(const Executor& executor, SegmentNetwork network,
                               SegmentOptions options, std::size_t batch)
    : ImageSegmenter(std::make_shared<OneNetwork>(executor), std::move(network), options, batch) {
    if (options.mode != SegmentOptions::Mode::slide || options.window != 0)
        throw UsageError("segment: a network of one size sees windows of that size only");
}

SegmentedImage ImageSegmenter::segment(const Image& image, std::string_view name,
                                       bool probabilities) const {
    const State& state = *state_;
    const SegmentSides size{image.width, image.height};
    if (size.width < 1 || size.height < 1)
        throw Error(fmt::format("{}: expected an image of at least 1x1, found {}x{}", name,
                                size.width, size.height));
    const std::size_t classes = state.network.classes;
    MemoryShare memory;
    if (probabilities)
        memory = MemoryBudget::of_process().reserve(
            classes * sizeof(float) * std::uint64_t(size.width) * std::uint64_t(size.height),
            fmt::format("{}: probabilities of {} classes", name, classes));
    std::deque<RunWindows> runs;
    std::deque<SegmentPass> passes;
    for (const double scale : state.options.scales) {
        const SegmentSides input = fit_sides(size, scaled_limit(state.options.short_side, scale),
                                             scaled_limit(state.options.long_side, scale));
        const Image resized = resize(image, input.width, input.height, state.filter);
        for (const bool mirror : {false, true}) {
            if (mirror && !state.options.flip) continue;
            const SegmentLook look = state.look(input, mirror);
            runs.push_back([network = state.networks->of_size(look.window)](const Tensor& images) {
                const std::string tap(kSegmentationTap);
                return network->run(images, {tap}).at(tap);
            });
            passes.emplace_back(resized, look, size, state.normaliser, runs.back(), state.pool,
                                name);
            if (passes.back().classes() != std::int64_t(classes))
                throw Error(fmt::format("{}: expected logits of {} classes, found {}", name,
                                        classes, passes.back().classes()));
        }
    }
    ResultRows rows(passes, classes, size, probabilities);
    const std::int64_t band =
        std::clamp(kBandBytes / (std::int64_t(classes) * size.width * std::int64_t(sizeof(float))),
                   std::int64_t(state.pool.threads()), kMostBandRows);
    for (std::int64_t begin = 0; begin < size.height; begin += band) {
        const std::int64_t count = std::min(band, size.height - begin);
        for (SegmentPass& pass : passes) pass.prepare(begin, begin + count);
        const int workers = int(std::min<std::int64_t>(state.pool.threads(), count));
        state.pool.run(workers, [&](int worker) {
            const auto share = kernels::share_of(count, worker, workers);
            rows.make(begin + share.begin, begin + share.end);
        });
    }
    return rows.take();
}

const SegmentNetwork& ImageSegmenter::network() const { return state_->network; }
const SegmentOptions& ImageSegmenter::options() const { return state_->options; }

}  // namespace cait
