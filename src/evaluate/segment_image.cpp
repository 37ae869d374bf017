#include "evaluate/segment_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "cait/error.h"
#include "data/augment/segmentation_transform.h"
#include "evaluate/segment_rows.h"
#include "image/ops/bilinear.h"
#include "image/ops/resize.h"
#include "system/cpu_limit.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr std::int64_t kLongestSide = 1 << 16;
constexpr std::size_t kMostScales = 16;
constexpr double kLeastScale = 0.05, kMostScale = 20;

std::int64_t up_to_multiple(std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

// Limits are scaled before the image is fitted into them, and cut to whole pixels.
std::int64_t scaled_limit(std::int64_t limit, double scale) {
    return std::max(std::int64_t(double(limit) * scale), std::int64_t(1));
}

void check_size(Extent size, std::string_view name) {
    if (size.width < 1 || size.height < 1)
        throw Error(fmt::format("{}: expected an image of at least 1x1, found {}x{}", name,
                                size.width, size.height));
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
    mutable kernels::ThreadPool pool;

    State(std::shared_ptr<const SegmentNetworks> source, SegmentNetwork facts,
          const SegmentOptions& wanted, std::size_t together, int threads)
        : networks(std::move(source)),
          network(std::move(facts)),
          options(filled_in(wanted, network)),
          batch(std::max<std::size_t>(together, 1)),
          normaliser(network.preprocessing.mean, network.preprocessing.std),
          pool(threads == 0 ? default_threads() : threads) {}

    SegmentLook look(Extent input, bool mirror) const {
        SegmentLook look{.window = network.size,
                         .stride = options.stride,
                         .whole = options.mode == SegmentOptions::Mode::whole,
                         .stretched = options.stretch_padded,
                         .mirror = mirror};
        if (look.whole)
            look.window = {up_to_multiple(input.height, network.multiple.height),
                           up_to_multiple(input.width, network.multiple.width)};
        else if (options.window != 0)
            look.window = {options.window, options.window};
        return look;
    }

    Extent input_of(Extent image, double scale) const {
        return fitting(image, scaled_limit(options.long_side, scale),
                       scaled_limit(options.short_side, scale));
    }

    Image resized(const Image& image, Extent to) const {
        if (network.filter) return resize(image, to.width, to.height, *network.filter);
        Image result;
        BilinearWorkspace workspace;
        resize_bilinear(image, ResizeTarget::whole(to.width, to.height), false, result, workspace);
        return result;
    }

    // A row of windows through the network, some at a time.
    Tensor run(const Executor& executor, const WindowCutter& cutter, std::size_t row) const {
        const std::string tap(kSegmentationTap);
        const std::size_t columns = cutter.grid().columns();
        Tensor all;
        for (std::size_t first = 0; first < columns; first += batch) {
            const std::size_t count = std::min(batch, columns - first);
            Tensor maps = executor.run(cutter.cut(row, first, count), {tap}).at(tap);
            if (count == columns) return maps;
            Shape shape = maps.shape();
            shape[0] = std::int64_t(columns);
            if (!all.defined()) all = Tensor::empty(DType::f32, shape);
            std::memcpy(all.mutable_bytes().data() + first * (maps.byte_size() / count),
                        maps.bytes(), maps.byte_size());
        }
        return all;
    }

    void check_classes(const SegmentPass& pass, std::string_view name) const {
        if (pass.classes() != std::int64_t(network.classes))
            throw Error(fmt::format("{}: expected logits of {} classes, found {}", name,
                                    network.classes, pass.classes()));
    }

    void check_one_look() const {
        if (options.scales.size() != 1 || options.flip)
            throw UsageError("segment: expected one scale and no mirror image for windows apart");
    }
};

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
    const Extent size{image.width, image.height};
    check_size(size, name);
    MemoryShare memory;
    if (probabilities)
        memory = MemoryBudget::of_process().reserve(
            state.network.classes * sizeof(float) * std::uint64_t(size.width * size.height),
            fmt::format("{}: probabilities of {} classes", name, state.network.classes));
    std::deque<WindowCutter> cutters;  // that the passes refer to
    std::deque<SegmentPass> passes;
    for (const double scale : state.options.scales) {
        const Extent input = state.input_of(size, scale);
        const Image resized = state.resized(image, input);
        for (const bool mirror : {false, true}) {
            if (mirror && !state.options.flip) continue;
            const SegmentLook look = state.look(input, mirror);
            const WindowCutter& cutter = cutters.emplace_back(resized, look, state.normaliser);
            passes.emplace_back(
                input, look, size,
                [&, network = state.networks->of_size(look.window)](std::size_t row) {
                    return state.run(*network, cutter, row);
                },
                state.pool, name);
            state.check_classes(passes.back(), name);
        }
    }
    return segment_rows(passes, size, probabilities, state.pool);
}

Tensor ImageSegmenter::windows(const Image& image) const {
    const State& state = *state_;
    const Extent size{image.width, image.height};
    check_size(size, "image");
    state.check_one_look();
    const Extent input = state.input_of(size, state.options.scales.front());
    const WindowCutter cutter(state.resized(image, input), state.look(input, false),
                              state.normaliser);
    const std::size_t rows = cutter.grid().rows(), columns = cutter.grid().columns();
    Tensor all;
    for (std::size_t row = 0; row < rows; ++row) {
        const Tensor part = cutter.cut(row, 0, columns);
        if (rows == 1) return part;
        if (!all.defined())
            all = Tensor::empty(
                DType::f32, {std::int64_t(rows * columns), 3, part.shape()[2], part.shape()[3]});
        std::memcpy(all.mutable_bytes().data() + row * part.byte_size(), part.bytes(),
                    part.byte_size());
    }
    return all;
}

std::size_t ImageSegmenter::window_count(Extent image) const {
    const State& state = *state_;
    check_size(image, "image");
    const Extent input = state.input_of(image, state.options.scales.front());
    const WindowGrid grid(input, state.look(input, false));
    return grid.rows() * grid.columns();
}

SegmentedImage ImageSegmenter::assemble(Extent image, const Tensor& maps,
                                        std::string_view name) const {
    const State& state = *state_;
    check_size(image, name);
    state.check_one_look();
    const Extent input = state.input_of(image, state.options.scales.front());
    const SegmentLook look = state.look(input, false);
    const std::size_t columns = WindowGrid(input, look).columns();
    if (maps.shape().rank() != 4 || maps.shape()[0] != std::int64_t(window_count(image)))
        throw Error(fmt::format("{}: expected a map of logits for each of {} windows", name,
                                window_count(image)));
    std::deque<SegmentPass> passes;
    passes.emplace_back(
        input, look, image,
        [&](std::size_t row) {
            Shape shape = maps.shape();
            shape[0] = std::int64_t(columns);
            const std::size_t bytes = maps.byte_size() / std::size_t(maps.shape()[0]) * columns;
            return Tensor::view(DType::f32, shape, maps.bytes() + row * bytes, maps.owner());
        },
        state.pool, name);
    state.check_classes(passes.back(), name);
    return segment_rows(passes, image, false, state.pool);
}

const SegmentNetwork& ImageSegmenter::network() const { return state_->network; }
const SegmentOptions& ImageSegmenter::options() const { return state_->options; }

}  // namespace cait
