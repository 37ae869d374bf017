#include "models/class_layers.h"

#include <algorithm>

namespace cait {

namespace {

// Whether layer N's maps of all tokens are as wide as that of the class token, and wider than the
// patches are many.
bool is_among_patches(const ModelSpec& spec, const std::set<std::string>& taps,
                      std::int64_t layer) {
    const std::string own = fmt::format("class_attention.{}", layer);
    const std::string all = fmt::format("self_attention.{}", layer);
    if (!taps.contains(all)) return false;
    const Graph graph = record(spec, {.taps = {own, all}});
    const auto keys = [&](const std::string& tap) {
        return graph.node(graph.outputs.at(tap)).shape[-1];
    };
    return keys(own) == keys(all) && keys(all) > graph.patch_grid.count();
}

}  // namespace

ClassLayers class_layers(const ModelSpec& spec) {
    constexpr std::string_view kPrefix = "class_attention.";
    const std::set<std::string> taps = offered_taps(spec);
    ClassLayers result;
    for (const std::string& tap : taps)
        if (tap.starts_with(kPrefix))
            result.layers.push_back(std::stoll(tap.substr(kPrefix.size())));
    if (result.layers.empty())
        throw UsageError(fmt::format(
            "{}: expected a model whose class token looks at patches, found none", spec.name));
    std::ranges::sort(result.layers);
    result.among_patches = is_among_patches(spec, taps, result.layers.back());
    return result;
}

}  // namespace cait
