#include "base/suggest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cait {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates, std::size_t most) {
    // A hostile name must not buy quadratic work.
    constexpr std::size_t kLongest = 256;
    std::vector<std::pair<std::size_t, std::string>> ranked;
    ranked.reserve(candidates.size());
    for (const std::string& candidate : candidates)
        ranked.emplace_back(edit_distance(name.substr(0, kLongest), candidate), candidate);
    std::ranges::sort(ranked);
    std::vector<std::string> nearest;
    for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i)
        nearest.push_back(ranked[i].second);
    return nearest;
}

}  // namespace cait
