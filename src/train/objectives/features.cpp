#include "train/objectives/features.h"

#include <fmt/format.h>

#include <cmath>

namespace cait {

namespace {

constexpr double kLeastSpread = 0.01;  // of that of vectors which point everywhere
// Of that of an even answer. Seen: 0.9994 in a run that learned nothing, at most 0.97 in those that
// learned.
constexpr double kMostEntropy = 0.999;

}  // namespace

std::string projection_tap(const Recipe& recipe) {
    return recipe.head.any() ? "projection" : "features";
}

std::int64_t width_of(const Graph& graph, const std::string& output) {
    return graph.node(graph.outputs.at(output)).shape[-1];
}

at::Tensor rows_of_all(const at::Tensor& own, ProcessGroup& group) {
    if (group.world() == 1) return own;
    std::vector<std::int64_t> sizes = own.sizes().vec();
    sizes.insert(sizes.begin() + 1, group.world());
    // A sum with zeros is exact.
    at::Tensor all = at::zeros(sizes, own.options());
    all.select(1, group.rank()).copy_(own);
    group.all_reduce_sum(all);
    return all.flatten(0, 1);
}

at::Tensor rows_of_own(const at::Tensor& all, const ProcessGroup& group) {
    return all.slice(0, group.rank(), c10::nullopt, group.world());
}

at::Tensor spread_of(const at::Tensor& vectors) {
    const at::NoGradGuard no_gradients;
    return unit_rows(vectors.detach().to(at::kFloat)).std(0, /*unbiased=*/false).mean();
}

std::map<std::string, double> watched_of(const std::map<std::string, double>& parts) {
    std::map<std::string, double> result;
    for (const char* name : {kSpread, kTeacherEntropy})
        if (const auto found = parts.find(name); found != parts.end()) result.insert(*found);
    return result;
}

std::string collapse_in(const std::map<std::string, double>& watched, std::int64_t width,
                        std::int64_t outputs) {
    if (const auto spread = watched.find(kSpread); spread != watched.end()) {
        const double everywhere = 1 / std::sqrt(double(width));
        if (spread->second < kLeastSpread * everywhere)
            return fmt::format(
                "all images get the same features (spread {:.2g}, of vectors that point "
                "everywhere {:.2g})",
                spread->second, everywhere);
    }
    if (const auto entropy = watched.find(kTeacherEntropy); entropy != watched.end()) {
        const double even = std::log(double(outputs));
        if (entropy->second > kMostEntropy * even)
            return fmt::format(
                "the teacher gives every output the same weight (entropy {:.4g}, at most {:.4g})",
                entropy->second, even);
    }
    return {};
}

}  // namespace cait
