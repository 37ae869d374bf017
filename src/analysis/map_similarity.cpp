#include "analysis/map_similarity.h"

#include <cmath>

#include "models/catalogue.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr double kSimilar = 0.5;

std::vector<std::string> map_taps(const ModelSpec& spec) {
    const std::set<std::string> offered = offered_taps(spec);
    std::vector<std::string> taps;
    for (std::string tap = "self_attention.0"; offered.contains(tap);
         tap = fmt::format("self_attention.{}", taps.size()))
        taps.push_back(tap);
    if (taps.size() < 2)
        throw UsageError(
            fmt::format("{}: expected a model with at least two layers of self-attention, found {}",
                        spec.name, taps.size()));
    return taps;
}

// The columns of one head's maps, each as long as 1, so that cosines are products: (tokens, tokens)
// with a column in each row.
std::vector<float> unit_columns(std::span<const float> map, std::size_t tokens) {
    std::vector<double> norms(tokens);
    for (std::size_t i = 0; i < tokens; ++i)
        for (std::size_t t = 0; t < tokens; ++t)
            norms[t] += double(map[i * tokens + t]) * double(map[i * tokens + t]);
    std::vector<float> columns(tokens * tokens);
    for (std::size_t i = 0; i < tokens; ++i)
        for (std::size_t t = 0; t < tokens; ++t)
            columns[t * tokens + i] =
                norms[t] > 0 ? float(double(map[i * tokens + t]) / std::sqrt(norms[t])) : 0.0F;
    return columns;
}

}  // namespace

void add_similarity(const std::vector<std::span<const float>>& maps, std::size_t tokens,
                    double weight, MapSimilarity& sum) {
    const std::size_t area = tokens * tokens, heads = maps.front().size() / area;
    sum.layers = maps.size();
    sum.cosine.resize(maps.size() * maps.size());
    sum.similar.resize(maps.size() - 1);
    const double one = weight / double(heads * tokens);
    for (std::size_t h = 0; h < heads; ++h) {
        std::vector<std::vector<float>> columns;
        for (const std::span<const float> map : maps)
            columns.push_back(unit_columns(map.subspan(h * area, area), tokens));
        for (std::size_t p = 0; p < maps.size(); ++p)
            for (std::size_t q = p; q < maps.size(); ++q)
                for (std::size_t t = 0; t < tokens; ++t) {
                    const float* a = columns[p].data() + t * tokens;
                    const float* b = columns[q].data() + t * tokens;
                    double cosine = 0;
                    for (std::size_t i = 0; i < tokens; ++i) cosine += double(a[i] * b[i]);
                    sum.cosine[p * maps.size() + q] += one * cosine;
                    if (p != q) sum.cosine[q * maps.size() + p] += one * cosine;
                    if (q == p + 1 && cosine > kSimilar) sum.similar[p] += one;
                }
    }
}

MapSimilarity map_similarity(const Model& model, const Executor& executor, const Tensor& images) {
    const std::vector<std::string> taps = map_taps(model.spec());
    const Graph graph = record(model.spec(), {.taps = taps});
    const Shape shape = graph.node(graph.outputs.at(taps.front())).shape;
    for (const std::string& tap : taps)
        if (const Shape& other = graph.node(graph.outputs.at(tap)).shape; other != shape)
            throw UsageError(fmt::format(
                "{}: expected layers with maps of one shape, found {} {} "
                "and {} {}",
                model.spec().name, taps.front(), shape.to_string(), tap, other.to_string()));
    // The maps, and the columns of one head of all layers.
    const MemoryShare memory = MemoryBudget::of_process().reserve(
        2 * taps.size() * std::uint64_t(shape.count()) * sizeof(float),
        "analyze: attention maps of all layers");
    const std::int64_t count = images.shape()[0];
    MapSimilarity sum;
    for (std::int64_t i = 0; i < count; ++i) {
        Shape one = images.shape();
        one[0] = 1;
        const Tensor image =
            Tensor::view(images.dtype(), one,
                         images.bytes() + std::size_t(i) * images.byte_size() / std::size_t(count),
                         images.owner());
        const std::map<std::string, Tensor> outputs = executor.run(image, taps);
        std::vector<std::span<const float>> maps;
        for (const std::string& tap : taps) maps.push_back(outputs.at(tap).floats());
        add_similarity(maps, std::size_t(shape[-1]), 1 / double(count), sum);
    }
    return sum;
}

}  // namespace cait
