#include "analysis/rollout.h"

#include <algorithm>
#include <cmath>

#include "models/class_layers.h"

namespace cait {

Rollout::Rollout(std::int64_t tokens) : row_(std::size_t(tokens)) { row_.at(0) = 1; }

void Rollout::add_before(const std::vector<std::span<const float>>& attentions) {
    // What a block adds counts as much as what it leaves, and so does each of several attentions.
    const double share = 1.0 / double(1 + attentions.size());
    std::vector<double> before;
    for (const double value : row_) before.push_back(share * value);
    for (const std::span<const float> maps : attentions) add_attention(maps, share, before);
    row_ = std::move(before);
}

void Rollout::add_attention(std::span<const float> maps, double share,
                            std::vector<double>& before) const {
    constexpr double kSlack = 1e-3;
    const std::size_t tokens = row_.size(), area = tokens * tokens;
    const std::size_t heads = maps.size() / area;
    if (heads * area != maps.size() || heads == 0)
        throw Error(fmt::format("[rollout] expected maps of {}x{}, found {} values", tokens, tokens,
                                maps.size()));
    for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < tokens; ++i) {
            const std::span<const float> values = maps.subspan(h * area + i * tokens, tokens);
            const double weight = share * row_[i] / double(heads);
            double sum = 0;
            for (std::size_t k = 0; k < tokens; ++k) {
                before[k] += weight * double(values[k]);
                sum += double(values[k]);
            }
            if (!(std::fabs(sum - 1) < kSlack) || double(std::ranges::min(values)) < -kSlack)
                throw Error(fmt::format(
                    "[rollout] expected maps whose rows are distributions, found a row with the "
                    "sum {:.4g}: heads that are mixed after the softmax have no rollout",
                    sum));
        }
}

namespace {

// How many attentions stand side by side in a block (DeiT III, parallel).
std::int64_t attentions_of(const Model& model) {
    const std::map<std::string, std::string> settings = model.settings();
    const auto found = settings.find("parallel");
    return found == settings.end() ? 1 : std::stoll(found->second);
}

}  // namespace

AttentionMap attention_rollout(const Model& model, const Executor& executor, const Tensor& image) {
    constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
    const ClassLayers found = class_layers(model.spec());
    if (!found.among_patches || found.layers.front() != 0)
        throw UsageError(fmt::format(
            "{}: expected a model whose class token goes through all blocks for a rollout, found "
            "one with layers of its own for it",
            model.spec().name));
    const auto tap = [](std::int64_t layer) { return fmt::format("self_attention.{}", layer); };
    const Graph graph = record(model.spec(), {.taps = {tap(0)}});
    const Shape shape = graph.node(graph.outputs.at(tap(0))).shape;  // [B, heads, T, T]
    const std::int64_t one = shape.count() * std::int64_t(sizeof(float));
    const std::int64_t side_by_side = attentions_of(model);
    const auto blocks = std::int64_t(found.layers.size()) / side_by_side;
    const std::int64_t together = std::max<std::int64_t>(1, kMostBytes / (one * side_by_side));

    Rollout rollout(shape[-1]);
    for (std::int64_t end = blocks; end > 0; end -= together) {
        const std::int64_t begin = std::max<std::int64_t>(0, end - together);
        std::vector<std::string> taps;
        for (std::int64_t i = begin * side_by_side; i < end * side_by_side; ++i)
            taps.push_back(tap(i));
        const std::map<std::string, Tensor> maps = executor.run(image, taps);
        for (std::int64_t block = end - 1; block >= begin; --block) {
            std::vector<std::span<const float>> attentions;
            for (std::int64_t j = 0; j < side_by_side; ++j)
                attentions.push_back(maps.at(tap(block * side_by_side + j)).floats());
            rollout.add_before(attentions);
        }
    }
    const std::vector<float> row(rollout.row().begin(), rollout.row().end());
    const Shape as_map{1, 1, 1, shape[-1]};
    return patch_attention(row, as_map, graph.patch_grid);
}

}  // namespace cait
