#include "data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/philox.h"
#include "cait/error.h"
#include "data/random.h"

namespace cait {

namespace {

// What all processes have of an epoch.
std::size_t uses_per_epoch(const SamplerOptions& o) {
    constexpr std::size_t kRounding = 256;  // DeiT's, whatever the batch is
    return o.repeats == 1 || o.size < kRounding ? o.size : o.size / kRounding * kRounding;
}

std::size_t samples_per_epoch(const SamplerOptions& o) {
    const std::size_t even = uses_per_epoch(o) / o.world;
    if (o.tail == Tail::last) return o.pairs ? even / 2 * 2 : even;
    if (o.repeats > 1) return even;
    switch (o.tail) {
        case Tail::drop:
        case Tail::last: return even;
        case Tail::keep: return (o.size - std::min(o.size, o.rank) + o.world - 1) / o.world;
        case Tail::wrap: return (o.size + o.world - 1) / o.world;
    }
    return 0;
}

// Stretches in random order, one after the other.
std::vector<std::uint32_t> shuffled_stretches(const SamplerOptions& o, RandomStream& random) {
    std::vector<std::uint32_t> places(o.stretches.size());
    std::iota(places.begin(), places.end(), 0U);
    shuffle(std::span(places), random);
    std::vector<std::uint32_t> order;
    order.reserve(o.size);
    for (const std::uint32_t place : places) {
        const std::size_t end = place + 1 < o.stretches.size() ? o.stretches[place + 1] : o.size;
        for (std::size_t i = o.stretches[place]; i < end; ++i) order.push_back(std::uint32_t(i));
    }
    return order;
}

void check(const SamplerOptions& o) {
    const auto fail = [](const std::string& what) { throw UsageError("sampler: " + what); };
    if (o.size == 0) fail("expected at least one sample");
    if (o.size > std::numeric_limits<std::uint32_t>::max()) fail("more than 2^32 samples");
    if (o.batch == 0) fail("batch: expected at least 1, found 0");
    if (o.world == 0 || o.rank >= o.world)
        fail(fmt::format("expected rank below world, found rank {} of {}", o.rank, o.world));
    if (o.pairs && o.batch % 2 != 0)
        fail(
            fmt::format("batch: expected an even number of images per process, found {}", o.batch));
    if (o.repeats == 0) fail("repeats: expected at least 1, found 0");
    if (o.window == 0) fail("window: expected at least 1, found 0");
    if (!o.stretches.empty() && (o.stretches.front() != 0 || !std::ranges::is_sorted(o.stretches) ||
                                 o.stretches.back() > o.size))
        fail("stretches: expected ascending indices from 0");
}

}  // namespace

Pick EpochOrder::operator[](std::size_t position) const {
    // All processes deal from the one list order[0], order[0], … (repeats times), order[1], …
    const std::size_t first = position / batch_ * batch_;  // of its batch
    const std::size_t items = std::min(batch_, size_ - std::min(first, size_));
    const std::size_t dealt =
        (first * deal_.world + deal_.place(position - first, items)) % (order_.size() * repeats_);
    return {order_[dealt / repeats_], dealt % repeats_};
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)) {
    check(options_);
    epoch_size_ = samples_per_epoch(options_);
    batches_ = options_.tail == Tail::drop ? epoch_size_ / options_.batch
                                           : (epoch_size_ + options_.batch - 1) / options_.batch;
    if (batches_ == 0 && options_.tail != Tail::keep)
        throw UsageError(
            fmt::format("sampler: a batch of {} is larger than an epoch of {} samples "
                        "({} in {} processes)",
                        options_.batch, epoch_size_, options_.size, options_.world));
}

std::size_t Sampler::batch_size(std::uint64_t batch) const {
    const std::size_t first = std::size_t(batch) * options_.batch;
    return std::min(options_.batch, epoch_size_ - std::min(first, epoch_size_));
}

std::size_t Sampler::last_batch() const {
    return batches_ == 0 ? 0 : batch_size(batches_ - 1) * options_.world;
}

std::size_t Sampler::left_out() const {
    if (batches_ == 0) return uses_per_epoch(options_);
    const std::size_t used = (batches_ - 1) * options_.batch * options_.world + last_batch();
    return uses_per_epoch(options_) - std::min(used, uses_per_epoch(options_));
}

std::shared_ptr<const EpochOrder> Sampler::order(std::uint64_t epoch) const {
    const auto result = std::make_shared<EpochOrder>();
    result->size_ = epoch_size_;
    result->batch_ = options_.batch;
    result->deal_ = {options_.rank, options_.world, options_.pairs};
    result->repeats_ = options_.repeats;
    std::vector<std::uint32_t>& order = result->order_;
    RandomStream random(options_.seed, stable_hash("epoch order") + epoch);
    if (options_.shuffle && !options_.stretches.empty()) {
        order = shuffled_stretches(options_, random);
        for (std::size_t begin = 0; begin < order.size(); begin += options_.window)
            shuffle(
                std::span(order).subspan(begin, std::min(options_.window, order.size() - begin)),
                random);
        return result;
    }
    order.resize(options_.size);
    std::iota(order.begin(), order.end(), 0U);
    if (options_.shuffle) shuffle(std::span(order), random);
    return result;
}

}  // namespace cait
