// Metrics as bytes, for processes that each evaluate a share of the images and send it to one.
#include <limits>

#include "evaluate/byte_stream.h"
#include "evaluate/metrics.h"

namespace cait {

namespace {

constexpr std::uint64_t kFormat = 0x3173'6369'7274'656d;  // "metrics1"

struct ConfusionEntry {
    std::uint64_t pair, count;
};

}  // namespace

std::vector<std::byte> Metrics::pack() const {
    ByteWriter out;
    out.put(kFormat);
    out.put(std::uint64_t(worst_limit_));
    for (const std::uint64_t value :
         {images_, unlabelled_, correct_, within_five_, std::uint64_t(several_labels_)})
        out.put(value);
    out.put(loss_sum_);
    out.put_all(per_class_);
    out.put(bins_);
    std::vector<ConfusionEntry> entries;
    for (const auto& [pair, count] : confusions_) entries.push_back({pair, count});
    out.put_all(entries);
    // Field by field: the padding of a Mistake is nobody's business.
    out.put(std::uint64_t(worst_.size()));
    for (const Mistake& m : worst_) {
        out.put(std::uint64_t(m.index));
        out.put(m.label);
        out.put(m.predicted);
        out.put(m.confidence);
    }
    return out.take();
}

Metrics Metrics::unpack(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kFormat) PackedReader::fail();
    const auto limit = in.get<std::uint64_t>();
    Metrics metrics(1, std::size_t(limit));
    metrics.images_ = in.get<std::uint64_t>();
    metrics.unlabelled_ = in.get<std::uint64_t>();
    metrics.correct_ = in.get<std::uint64_t>();
    metrics.within_five_ = in.get<std::uint64_t>();
    metrics.several_labels_ = in.get<std::uint64_t>() != 0;
    metrics.loss_sum_ = in.get<double>();
    metrics.per_class_.resize(in.get_count(sizeof(ClassCount)));
    if (metrics.per_class_.empty()) PackedReader::fail();
    for (ClassCount& count : metrics.per_class_) count = in.get<ClassCount>();
    metrics.bins_ = in.get<decltype(metrics.bins_)>();

    const std::uint64_t classes = metrics.classes();
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t left = in.get_count(sizeof(ConfusionEntry)); left > 0; --left) {
        const auto entry = in.get<ConfusionEntry>();
        if (classes > kMost || entry.pair >= classes * classes) PackedReader::fail();
        metrics.confusions_[entry.pair] = entry.count;
    }
    for (std::size_t left = in.get_count(4 * sizeof(std::uint64_t)); left > 0; --left) {
        Mistake m;
        m.index = std::size_t(in.get<std::uint64_t>());
        m.label = in.get<std::int64_t>();
        m.predicted = in.get<std::int64_t>();
        m.confidence = in.get<double>();
        const auto is_class = [&](std::int64_t c) { return c >= 0 && std::uint64_t(c) < classes; };
        if (!is_class(m.label) || !is_class(m.predicted)) PackedReader::fail();
        metrics.keep(m);
    }
    if (!in.empty()) PackedReader::fail();
    return metrics;
}

}  // namespace cait
