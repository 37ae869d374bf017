#include "kernels/seen_keys.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

bool counts(float mask) { return mask > 0.5F; }

}  // namespace

SeenKeys::SeenKeys(Index keys, const float* mask, bool causal)
    : keys_(keys), mask_(mask), causal_(causal), end_(keys) {
    if (mask == nullptr) return;
    first_ = std::find_if(mask, mask + keys, counts) - mask;
    while (end_ > first_ && !counts(mask[end_ - 1])) --end_;
    gaps_ = std::count_if(mask, mask + end_, counts) != end_;
    if (first_ == keys) end_ = keys;
}

void SeenKeys::weigh(float* scores, Index place, Format rounded_to) const {
    const Index kept = causal_ ? std::min(place + 1, end_) : end_;
    if (kept <= first_) {
        std::fill_n(scores, keys_, 1.0F / float(keys_));
        return;
    }
    constexpr float kHidden = -1e9F;  // far below any score: an infinite one might become NaN
    const auto hide = [&](float value) {
        for (Index k = 0; gaps_ && k < kept; ++k)
            if (!counts(mask_[k])) scores[k] = value;
    };
    hide(kHidden);
    best_kernels().softmax(scores, 1, kept, kept, rounded_to);
    hide(0);
    std::fill_n(scores + kept, keys_ - kept, 0.0F);
}

}  // namespace cait::kernels
