#include "analysis/branches.h"

#include <algorithm>
#include <map>

namespace cait {

namespace {

std::int64_t number_setting(const ModelSpec& spec, const char* key, std::int64_t otherwise) {
    const std::map<std::string, std::string> settings = spec.settings();
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : std::stoll(found->second);
}

// Blocks that all patches go through; layers of the class token alone come behind them.
std::int64_t block_count(const ModelSpec& spec, std::int64_t layers) {
    if (const std::int64_t depth = number_setting(spec, "depth", 0); depth > 0) return depth;
    const std::set<std::string> taps = offered_taps(spec);
    return layers - std::ranges::count_if(taps, [](const std::string& tap) {
               return tap.starts_with("class_attention.");
           });
}

template <class Entry>
void mark_class_layers(const ModelSpec& spec, std::vector<Entry>& entries) {
    if (entries.empty()) return;
    const std::int64_t blocks = block_count(spec, entries.back().branch.layer + 1);
    for (Entry& entry : entries) entry.branch.of_class = entry.branch.layer >= blocks;
}

// Blocks with one branch each come first, in PatchConvNet alone; then all have two halves, which
// DeiT III may have several of side by side.
Branch branch_of(std::int64_t number, std::int64_t single, std::int64_t side_by_side) {
    if (number < single) return {number, BranchKind::exchange};
    const std::int64_t half = (number - single) / side_by_side;
    return {single + half / 2, half % 2 == 0 ? BranchKind::exchange : BranchKind::mlp};
}

}  // namespace

std::vector<RatioTap> ratio_taps(const ModelSpec& spec) {
    constexpr std::string_view kPrefix = "residual_ratio.";
    std::vector<std::int64_t> numbers;
    for (const std::string& tap : offered_taps(spec))
        if (tap.starts_with(kPrefix)) numbers.push_back(std::stoll(tap.substr(kPrefix.size())));
    std::ranges::sort(numbers);
    const std::int64_t single =
        spec.family->name == "patchconvnet" ? number_setting(spec, "depth", 0) : 0;
    const std::int64_t side_by_side = number_setting(spec, "parallel", 1);
    std::vector<RatioTap> taps;
    for (const std::int64_t number : numbers)
        taps.push_back(
            {fmt::format("{}{}", kPrefix, number), branch_of(number, single, side_by_side)});
    mark_class_layers(spec, taps);
    return taps;
}

std::vector<ScaleParam> scale_params(const ModelSpec& spec) {
    // Those of one block are recorded in the order of its branches: the first half of them is of
    // the exchange.
    std::map<std::int64_t, std::vector<std::string>> by_layer;
    for (const ParamSpec& param : record(spec).params)
        if (param.role.kind == ParamRole::Kind::residual_scale)
            by_layer[param.layer].push_back(param.name);
    std::vector<ScaleParam> params;
    for (const auto& [layer, names] : by_layer)
        for (std::size_t i = 0; i < names.size(); ++i)
            params.push_back({names[i],
                              {layer - 1,  // blocks count from 1 there
                               names.size() == 1 || i < names.size() / 2 ? BranchKind::exchange
                                                                         : BranchKind::mlp}});
    mark_class_layers(spec, params);
    return params;
}

std::string kind_name(BranchKind kind) {
    return kind == BranchKind::exchange ? "attention" : "MLP";
}

}  // namespace cait
