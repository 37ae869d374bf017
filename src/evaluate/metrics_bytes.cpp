// Metrics as bytes, for processes that each evaluate a share of the images and send it to one.
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "cait/error.h"
#include "evaluate/metrics.h"

namespace cait {

namespace {

constexpr std::uint64_t kFormat = 0x3173'6369'7274'656d;  // "metrics1"

class Writer {
public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* begin = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), begin, begin + sizeof value);
    }
    template <class Range>
    void put_all(const Range& values) {
        put(std::uint64_t(values.size()));
        for (const auto& value : values) put(value);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

class MetricsReader {
public:
    explicit MetricsReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        if (bytes_.size() < sizeof(T)) fail();
        T value;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_ = bytes_.subspan(sizeof value);
        return value;
    }
    // How many values of `size` bytes follow: checked before anything is allocated for them.
    std::size_t get_count(std::size_t size) {
        const auto count = get<std::uint64_t>();
        if (count > bytes_.size() / size) fail();
        return std::size_t(count);
    }
    bool empty() const { return bytes_.empty(); }
    [[noreturn]] static void fail() {
        throw Error("metrics: expected what another process packed, found other bytes");
    }

private:
    std::span<const std::byte> bytes_;
};

struct ConfusionEntry {
    std::uint64_t pair, count;
};

}  // namespace

std::vector<std::byte> Metrics::pack() const {
    Writer out;
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
    MetricsReader in(bytes);
    if (in.get<std::uint64_t>() != kFormat) MetricsReader::fail();
    const auto limit = in.get<std::uint64_t>();
    Metrics metrics(1, std::size_t(limit));
    metrics.images_ = in.get<std::uint64_t>();
    metrics.unlabelled_ = in.get<std::uint64_t>();
    metrics.correct_ = in.get<std::uint64_t>();
    metrics.within_five_ = in.get<std::uint64_t>();
    metrics.several_labels_ = in.get<std::uint64_t>() != 0;
    metrics.loss_sum_ = in.get<double>();
    metrics.per_class_.resize(in.get_count(sizeof(ClassCount)));
    if (metrics.per_class_.empty()) MetricsReader::fail();
    for (ClassCount& count : metrics.per_class_) count = in.get<ClassCount>();
    metrics.bins_ = in.get<decltype(metrics.bins_)>();

    const std::uint64_t classes = metrics.classes();
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t left = in.get_count(sizeof(ConfusionEntry)); left > 0; --left) {
        const auto entry = in.get<ConfusionEntry>();
        if (classes > kMost || entry.pair >= classes * classes) MetricsReader::fail();
        metrics.confusions_[entry.pair] = entry.count;
    }
    for (std::size_t left = in.get_count(4 * sizeof(std::uint64_t)); left > 0; --left) {
        Mistake m;
        m.index = std::size_t(in.get<std::uint64_t>());
        m.label = in.get<std::int64_t>();
        m.predicted = in.get<std::int64_t>();
        m.confidence = in.get<double>();
        const auto is_class = [&](std::int64_t c) { return c >= 0 && std::uint64_t(c) < classes; };
        if (!is_class(m.label) || !is_class(m.predicted)) MetricsReader::fail();
        metrics.keep(m);
    }
    if (!in.empty()) MetricsReader::fail();
    return metrics;
}

}  // namespace cait
