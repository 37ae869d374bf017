#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "cait/error.h"
#include "data/sample_reader.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

void check(const Dataset& dataset, const Sampler& sampler, const Transform& transform,
           const LoaderOptions& o) {
    const auto fail = [](const std::string& what) { throw UsageError("loader: " + what); };
    if (const auto* views = std::get_if<ViewTransform>(&transform)) {
        if (views->groups.empty()) fail("expected a group of views, found none");
        for (const ViewTransform::Group& group : views->groups)
            if (group.count < 1 || group.height < 1 || group.width < 1)
                fail(fmt::format("expected views of a positive size, found {} of {} x {}",
                                 group.count, group.height, group.width));
    }
    if (sampler.options().size != dataset.size())
        fail(fmt::format("the sampler has {} samples, {} has {}", sampler.options().size,
                         dataset.source(), dataset.size()));
    if (o.threads < 1) fail(fmt::format("threads: expected at least 1, found {}", o.threads));
    if (o.prefetch < 1) fail(fmt::format("prefetch: expected at least 1, found {}", o.prefetch));
    if (o.channels != 1 && o.channels != 3)
        fail(fmt::format("channels: expected 1 or 3, found {}", o.channels));
    if (o.height < 1 || o.width < 1)
        fail(fmt::format("expected a positive size, found {} x {}", o.height, o.width));
    if (!(o.max_bad >= 0 && o.max_bad <= 1))
        fail(fmt::format("max_bad: expected 0 to 1, found {}", o.max_bad));
    if (o.on_bad == OnBad::leave_out && std::holds_alternative<ViewTransform>(transform))
        fail("leave_out: expected single images, found views");
    if (o.mix && !std::holds_alternative<FloatTransform>(transform))
        fail("mix: expected single images as floats");
    if (o.start.batch > sampler.batches())
        fail(fmt::format("start: expected a batch up to {}, found {}", sampler.batches(),
                         o.start.batch));
}

// One batch in the making. `batch` is written by the workers, each its own items; the rest is
// guarded by the loader's mutex.
struct Slot {
    Batch batch;
    std::shared_ptr<const EpochOrder> order;
    std::size_t items = 0;  // of the batch, unreadable ones included
    std::size_t claimed = 0;
    std::size_t done = 0;
    bool ready = false;
    std::vector<std::pair<std::size_t, BadImage>> bad;  // with the item that met it
    std::exception_ptr error;
    std::size_t error_item = 0;  // the first item's error counts, whichever came first in time
};

}  // namespace

class Loader::Implementation {
public:
    Implementation(DatasetPtr dataset, Sampler sampler, Transform transform, LoaderOptions options)
        : dataset_(std::move(dataset)),
          sampler_(std::move(sampler)),
          transform_(std::move(transform)),
          options_(std::move(options)),
          bad_(options_.max_bad, distinct_samples()) {
        check(*dataset_, sampler_, transform_, options_);
        opening_ = handing_out_ = normalised(options_.start);
        // A worker takes several small items at once, yet a large batch is still shared by all.
        chunk_ = std::clamp<std::size_t>(
            sampler_.options().batch / (4 * std::size_t(options_.threads)), 1, 16);
        allocate();
        start();
    }

    ~Implementation() { stop(); }

    Batch* next() {
        Slot* slot = take();
        while (slot != nullptr && slot->batch.size == 0) slot = take();  // all were left out
        return slot != nullptr ? &slot->batch : nullptr;
    }

    Position position() const { return handing_out_; }
    const std::vector<BadImage>& bad_images() const { return bad_.all(); }

private:
    std::size_t distinct_samples() const {
        const std::size_t repeats = sampler_.options().repeats;
        return (sampler_.epoch_size() + repeats - 1) / repeats;
    }

    Position normalised(Position position) const {
        if (sampler_.batches() == 0) return {options_.epochs, 0};  // a process without a share
        if (position.batch >= sampler_.batches()) return {position.epoch + 1, 0};
        return position;
    }

    Position after(Position position) const {
        return normalised({position.epoch, position.batch + 1});
    }

    void allocate() {
        const std::size_t capacity = sampler_.options().batch;
        const auto* views = std::get_if<ViewTransform>(&transform_);
        const DType dtype =
            std::holds_alternative<ByteTransform>(transform_) ? DType::u8 : DType::f32;
        const std::size_t slots = std::size_t(options_.prefetch) + 1;  // one is the caller's
        std::vector<ViewTransform::Group> sizes{{1, options_.height, options_.width}};
        if (views != nullptr) sizes = views->groups;
        std::uint64_t image = 0;  // bytes, all views together
        for (const ViewTransform::Group& group : sizes)
            image += std::uint64_t(options_.channels) * std::uint64_t(group.count) *
                     std::uint64_t(group.height) * std::uint64_t(group.width) * size_of(dtype);
        memory_ = MemoryBudget::of_process().keep(
            slots * capacity * image,
            fmt::format("{}: {} batches of {} images of {}x{} pixels{}", dataset_->source(), slots,
                        capacity, sizes[0].width, sizes[0].height,
                        views == nullptr ? "" : " in several views"));
        slots_.resize(slots);
        for (Slot& slot : slots_) {
            if (views == nullptr)
                slot.batch.storage = Tensor::empty(
                    dtype,
                    {std::int64_t(capacity), options_.channels, options_.height, options_.width});
            else
                for (const auto& [count, height, width] : sizes)
                    slot.batch.views.push_back({count, height, width, {}});
            slot.batch.keys.reserve(capacity);
        }
    }

    void start() {
        try {
            for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            stop();
            throw Error(fmt::format("loader: cannot start {} threads", options_.threads));
        } catch (...) {  // no memory; threads that run must not be left behind
            stop();
            throw;
        }
    }

    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        work_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    // Waits for the next batch, which is the caller's until the next call; nullptr at the end.
    Slot* take() {
        std::unique_lock lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        if (holding_) {  // the caller is done with the batch before
            holding_ = false;
            ++released_;
            work_.notify_all();
        }
        if (handing_out_.epoch >= options_.epochs) return nullptr;
        Slot& slot = slots_[std::size_t(released_ % slots_.size())];
        ready_.wait(lock, [&] { return slot.ready || broken_; });
        if (broken_) failure_ = broken_;
        if (failure_) std::rethrow_exception(failure_);
        slot.ready = false;  // for the batch that will use the slot after this one
        lock.unlock();       // the slot is the caller's now; report() may take its time

        try {
            account(slot);
        } catch (...) {
            failure_ = std::current_exception();
            throw;
        }
        holding_ = true;
        handing_out_ = after(slot.batch.position);
        return &slot;
    }

    // Counts and reports a finished batch's bad images; throws what went wrong in it.
    void account(Slot& slot) {
        std::ranges::stable_sort(slot.bad, {}, [](const auto& met) { return met.first; });
        for (const auto& [item, image] : slot.bad)
            if (bad_.add(slot.batch.position.epoch, image) && options_.report)
                options_.report(image);
        if (slot.error) std::rethrow_exception(slot.error);
    }

    // The slot whose items are being claimed, opening the next batch when the last is all taken
    // and a slot is free. Called under the lock.
    Slot* claimable() {
        if (opened_ > 0) {
            Slot& current = slots_[std::size_t((opened_ - 1) % slots_.size())];
            if (current.claimed < current.items) return &current;
        }
        if (opening_.epoch >= options_.epochs || opened_ >= released_ + slots_.size())
            return nullptr;
        Slot& slot = slots_[std::size_t(opened_++ % slots_.size())];
        open(slot);
        return &slot;
    }

    void open(Slot& slot) {
        if (!order_ || order_epoch_ != opening_.epoch) {
            order_.reset();  // the memory of the old order first
            order_ = sampler_.order(opening_.epoch);
            order_epoch_ = opening_.epoch;
        }
        slot.order = order_;
        slot.batch.position = opening_;
        slot.items = slot.batch.size = sampler_.batch_size(opening_.batch);
        slot.batch.last_of_epoch = opening_.batch + 1 == sampler_.batches();
        slot.batch.keys.resize(slot.batch.size);
        for (const TargetPtr& target : options_.targets)
            target->prepare(slot.batch.size, slot.batch.targets);
        for (ViewGroup& group : slot.batch.views)
            group.pixels.resize(slot.batch.size * std::size_t(options_.channels * group.count *
                                                              group.height * group.width));
        slot.claimed = slot.done = 0;
        slot.bad.clear();
        slot.error = nullptr;
        opening_ = after(opening_);
    }

    void work() {
        try {
            prepare_batches();
        } catch (...) {  // out of memory, most likely; it must not end the process from a thread
            const std::lock_guard lock(mutex_);
            broken_ = std::current_exception();
            ready_.notify_one();
        }
    }

    void prepare_batches() {
        SampleReader reader(*dataset_, sampler_.options(), transform_, options_, known_bad_);
        std::unique_lock lock(mutex_);
        while (true) {
            Slot* slot = nullptr;
            work_.wait(lock, [&] { return stopping_ || (slot = claimable()) != nullptr; });
            if (stopping_) return;
            const std::size_t begin = slot->claimed;
            const std::size_t end = std::min(begin + chunk_, slot->items);
            slot->claimed = end;
            lock.unlock();
            for (std::size_t item = begin; item < end && !stopping_; ++item)
                prepare(reader, *slot, item);
            lock.lock();
            if (stopping_) return;
            slot->done += end - begin;
            if (slot->done == slot->items) complete(*slot, lock);
        }
    }

    void prepare(SampleReader& reader, Slot& slot, std::size_t item) {
        std::vector<BadImage> bad;
        std::exception_ptr error;
        try {
            const std::size_t first =
                std::size_t(slot.batch.position.batch) * sampler_.options().batch;
            reader.run(*slot.order, first + item, slot.batch, item, bad);
        } catch (...) {
            error = std::current_exception();
        }
        if (bad.empty() && !error) return;
        const std::lock_guard lock(mutex_);
        for (BadImage& image : bad) slot.bad.emplace_back(item, std::move(image));
        if (error && (!slot.error || item < slot.error_item)) {
            slot.error = error;
            slot.error_item = item;
        }
    }

    void complete(Slot& slot, std::unique_lock<std::mutex>& lock) {
        if (!slot.error) {
            lock.unlock();
            std::exception_ptr error;
            try {
                finish(slot);
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            slot.error = error;
        }
        slot.order.reset();
        slot.ready = true;
        ready_.notify_one();
    }

    // What can be done only once all items are there; no other worker has the slot any more.
    void finish(Slot& slot) {
        Batch& batch = slot.batch;
        if (options_.on_bad == OnBad::leave_out && !slot.bad.empty()) {
            std::vector<bool> readable(slot.items, true);
            for (const auto& [item, image] : slot.bad) readable[item] = false;
            std::vector<std::size_t> rows;
            for (std::size_t item = 0; item < slot.items; ++item)
                if (readable[item]) rows.push_back(item);
            batch.keep(rows);
        }
        batch.finish(options_.mix ? options_.mix(batch) : std::vector<MixDraw>(), options_.targets);
    }

    DatasetPtr dataset_;
    Sampler sampler_;
    Transform transform_;
    LoaderOptions options_;
    std::size_t chunk_ = 1;

    // Only the thread that calls next() touches these.
    BadImages bad_;
    Position handing_out_;
    bool holding_ = false;
    std::exception_ptr failure_;

    KnownBad known_bad_;
    std::mutex mutex_;
    std::condition_variable work_;   // a slot became free, or the end
    std::condition_variable ready_;  // a batch is complete
    MemoryShare memory_;             // of the slots
    std::vector<Slot> slots_;
    std::uint64_t opened_ = 0;    // batches that workers have started
    std::uint64_t released_ = 0;  // batches that the caller is done with
    Position opening_;            // of the next batch to start
    std::shared_ptr<const EpochOrder> order_;
    std::uint64_t order_epoch_ = 0;
    std::exception_ptr broken_;  // a worker's own failure, of no batch in particular
    std::atomic<bool> stopping_ = false;
    std::vector<std::thread> threads_;
};

Loader::Loader(DatasetPtr dataset, Sampler sampler, Transform transform, LoaderOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(dataset), std::move(sampler),
                                                       std::move(transform), std::move(options))) {}

Loader::~Loader() = default;

Batch* Loader::next() { return implementation_->next(); }

Position Loader::position() const { return implementation_->position(); }

const std::vector<BadImage>& Loader::bad_images() const { return implementation_->bad_images(); }

}  // namespace cait
