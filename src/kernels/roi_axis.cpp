#include "kernels/roi_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cait::kernels {

float RoiAxis::take_samples(const RoiSpan& span) {
    constexpr float kFarthest = 1 << 22;  // places; farther, floats do not tell samples apart
    samples_.clear();
    const float shift = span.aligned ? 0.5F : 0.0F;
    const float begin = span.begin * span.scale - shift, end = span.end * span.scale - shift;
    if (!(std::abs(begin) < kFarthest && std::abs(end) < kFarthest)) return 1;
    const float extent = span.aligned ? end - begin : std::max(end - begin, 1.0F);
    const float bin = extent / float(span.bins);
    const Index grid = span.sampling > 0 ? span.sampling : Index(std::ceil(bin));
    if (grid <= 0 || span.size <= 0) return 1;
    const double step = double(bin) / double(grid);
    const float last = float(span.size - 1);
    for (Index b = 0; b < span.bins; ++b) {
        const float start = begin + float(b) * bin;
        // A large region has many samples beyond the map, which are not visited.
        Index from = 0, to = grid;
        if (step > 0) {
            const auto sample_at = [&](double place) { return (place - start) / step - 0.5; };
            const double first = std::floor(sample_at(-1)) - 1;
            const double end_of = std::ceil(sample_at(double(span.size))) + 2;
            from = Index(std::clamp(first, 0.0, double(grid)));
            to = Index(std::clamp(end_of, double(from), double(grid)));
        }
        for (Index i = from; i < to; ++i) {
            float place = start + (float(i) + 0.5F) * bin / float(grid);
            if (!(place >= -1 && place <= float(span.size))) continue;
            place = std::clamp(place, 0.0F, last);
            const auto low = Index(place);
            samples_.push_back({b, low, std::min(low + 1, span.size - 1), place - float(low)});
        }
    }
    return float(grid);
}

void RoiAxis::set(const RoiSpan& span) {
    const float grid = take_samples(span);
    seen_.assign(std::size_t(span.bins), {});
    first_ = count_ = 0;
    if (samples_.empty()) return;
    Index low = std::numeric_limits<Index>::max(), high = 0;
    for (const Sample& sample : samples_) {
        low = std::min(low, sample.low);
        high = std::max(high, sample.high);
    }
    first_ = low;
    count_ = high + 1 - low;
    weights_.assign(std::size_t(span.bins * count_), 0.0F);
    for (const Sample& sample : samples_) {
        RoiRows& seen = seen_[std::size_t(sample.bin)];
        const Index begin = sample.low - first_, end = sample.high + 1 - first_;
        seen = seen.begin == seen.end
                   ? RoiRows{begin, end}
                   : RoiRows{std::min(seen.begin, begin), std::max(seen.end, end)};
        float* weights = weights_.data() + sample.bin * count_;
        weights[begin] += (1 - sample.share) / grid;
        weights[end - 1] += sample.share / grid;
    }
}

}  // namespace cait::kernels
