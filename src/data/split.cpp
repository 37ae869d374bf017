#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cait/error.h"
#include "data/shuffle.h"

namespace cait {

namespace {

struct Share {
    std::int64_t label = 0;
    std::vector<std::size_t> samples;
    std::size_t held_out = 0;
    double remainder = 0;
};

// Hands out what rounding down has left over.
void distribute(std::vector<Share>& shares, std::size_t left) {
    std::vector<Share*> order;
    for (Share& share : shares) order.push_back(&share);
    std::ranges::stable_sort(order, std::greater{}, &Share::remainder);
    for (Share* share : order) {
        if (left == 0) return;
        if (share->held_out + 1 >= share->samples.size()) continue;
        ++share->held_out;
        --left;
    }
}

}  // namespace

SplitIndices stratified_split(std::span<const std::int64_t> labels, double fraction,
                              std::uint64_t seed) {
    if (!(fraction > 0 && fraction < 1))
        throw UsageError(
            fmt::format("split: expected a fraction between 0 and 1, found {}", fraction));
    std::map<std::int64_t, std::vector<std::size_t>> by_class;
    for (std::size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(i);

    std::vector<Share> shares;
    auto left = std::size_t(std::llround(fraction * double(labels.size())));
    for (auto& [label, samples] : by_class) {
        const double exact = fraction * double(samples.size());
        const std::size_t whole = std::min(std::size_t(exact), samples.size() - 1);
        shares.push_back({label, std::move(samples), whole, exact - double(whole)});
        left -= std::min(left, whole);
    }
    distribute(shares, left);

    SplitIndices result;
    for (Share& share : shares) {
        RandomStream random(seed, stable_hash("stratified split") + std::uint64_t(share.label));
        shuffle(std::span(share.samples), random);
        const auto middle = share.samples.begin() + std::ptrdiff_t(share.held_out);
        result.held_out.insert(result.held_out.end(), share.samples.begin(), middle);
        result.kept.insert(result.kept.end(), middle, share.samples.end());
    }
    std::ranges::sort(result.kept);
    std::ranges::sort(result.held_out);
    return result;
}

}  // namespace cait
