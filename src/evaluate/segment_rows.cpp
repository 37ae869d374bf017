#include "evaluate/segment_rows.h"

#include <algorithm>
#include <cmath>

#include "evaluate/segment_image.h"

namespace cait {

namespace {

// Logits of some rows of the result that are in memory at the same time, for each look.
constexpr std::int64_t kBandBytes = std::int64_t{32} << 20;
constexpr std::int64_t kMostBandRows = 64;

// Of a row of logits (classes, width): a strongest class for each pixel, of equals the first.
void strongest(std::span<const float> values, std::int64_t width, std::vector<float>& best,
               std::uint8_t* labels) {
    best.assign(values.begin(), values.begin() + width);
    std::fill_n(labels, width, std::uint8_t{0});
    const auto classes = std::int64_t(values.size()) / width;
    for (std::int64_t k = 1; k < classes; ++k) {
        const float* row = values.data() + k * width;
        for (std::int64_t x = 0; x < width; ++x) {
            const bool more = row[x] > best[std::size_t(x)];
            best[std::size_t(x)] = more ? row[x] : best[std::size_t(x)];
            labels[x] = more ? std::uint8_t(k) : labels[x];
        }
    }
}

// Adds the softmax over the classes, times `weight`.
void add_softmax(std::span<float> logits, std::int64_t width, float weight, std::span<float> sums) {
    const auto classes = std::int64_t(logits.size()) / width;
    std::vector<float> most(logits.begin(), logits.begin() + width);
    std::vector<float> total(std::size_t(width), 0.0F);
    for (std::int64_t k = 1; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x)
            most[std::size_t(x)] =
                std::max(most[std::size_t(x)], logits[std::size_t(k * width + x)]);
    for (std::int64_t k = 0; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x) {
            float& value = logits[std::size_t(k * width + x)];
            value = std::exp(value - most[std::size_t(x)]);
            total[std::size_t(x)] += value;
        }
    for (std::int64_t k = 0; k < classes; ++k)
        for (std::int64_t x = 0; x < width; ++x)
            sums[std::size_t(k * width + x)] +=
                weight * logits[std::size_t(k * width + x)] / total[std::size_t(x)];
}

// What the result is made of, row by row.
class ResultRows {
public:
    ResultRows(std::deque<SegmentPass>& passes, std::size_t classes, Extent size,
               bool probabilities)
        : passes_(passes), classes_(classes), size_(size) {
        result_.labels.width = size.width;
        result_.labels.height = size.height;
        result_.labels.values.resize(std::size_t(size.width * size.height));
        if (probabilities) result_.probabilities.resize(classes * result_.labels.values.size());
    }

    // Rows from `begin` on, which the passes have prepared.
    void make(std::int64_t begin, std::int64_t end) {
        const std::size_t values = classes_ * std::size_t(size_.width);
        std::vector<float> logits(values), sums, best;
        for (std::int64_t y = begin; y < end; ++y) {
            std::uint8_t* labels = result_.labels.values.data() + y * size_.width;
            // One network's softmax keeps the order of its logits.
            if (passes_.size() == 1 && result_.probabilities.empty()) {
                passes_.front().row(y, logits);
                strongest(logits, size_.width, best, labels);
                continue;
            }
            sums.assign(values, 0.0F);
            for (const SegmentPass& pass : passes_) {
                pass.row(y, logits);
                add_softmax(logits, size_.width, 1 / float(passes_.size()), sums);
            }
            strongest(sums, size_.width, best, labels);
            if (!result_.probabilities.empty()) keep(y, sums);
        }
    }

    SegmentedImage take() {
        result_.areas.assign(classes_, 0);
        for (const std::uint8_t label : result_.labels.values) ++result_.areas[label];
        return std::move(result_);
    }

private:
    void keep(std::int64_t y, std::span<const float> row) {
        for (std::size_t k = 0; k < classes_; ++k)
            std::ranges::copy(
                row.subspan(k * std::size_t(size_.width), std::size_t(size_.width)),
                result_.probabilities.begin() + (std::int64_t(k) * size_.height + y) * size_.width);
    }

    std::deque<SegmentPass>& passes_;
    std::size_t classes_;
    Extent size_;
    SegmentedImage result_;
};

}  // namespace

SegmentedImage segment_rows(std::deque<SegmentPass>& passes, Extent size, bool probabilities,
                            kernels::ThreadPool& pool) {
    const std::int64_t classes = passes.front().classes();
    ResultRows rows(passes, std::size_t(classes), size, probabilities);
    const std::int64_t row_bytes = classes * size.width * std::int64_t(sizeof(float));
    const std::int64_t band =
        std::max(std::min(kBandBytes / row_bytes, kMostBandRows), std::int64_t(pool.threads()));
    for (std::int64_t begin = 0; begin < size.height; begin += band) {
        const std::int64_t count = std::min(band, size.height - begin);
        for (SegmentPass& pass : passes) pass.prepare(begin, begin + count);
        const int workers = int(std::min<std::int64_t>(pool.threads(), count));
        pool.run(workers, [&](int worker) {
            const auto share = kernels::share_of(count, worker, workers);
            rows.make(begin + share.begin, begin + share.end);
        });
    }
    return rows.take();
}

}  // namespace cait
