#include "serve/engine/batcher.h"

#include <algorithm>
#include <cstring>

#include "system/scheduling.h"

namespace cait::serve {

namespace {

double seconds_between(Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
}

std::size_t row_bytes(const Tensor& tensor) {
    return tensor.byte_size() / std::size_t(tensor.shape()[0]);
}

}  // namespace

Batcher::Batcher(double delay, std::function<void()> on_fault)
    : delay_(delay), on_fault_(std::move(on_fault)), thread_([this] { work(); }) {}

Batcher::~Batcher() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Batcher::submit(Job job) {
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back({std::move(job), Clock::now(), 0, {}});
    }
    changed_.notify_all();
}

std::size_t Batcher::waiting() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
}

void Batcher::work() {
    compute_patiently();
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        try {
            take_turn(lock);
        } catch (...) {  // no memory, most likely: the first one goes, so that others get on
            if (on_fault_) on_fault_();
            Queue first;
            if (!lock.owns_lock()) lock.lock();
            if (!queue_.empty()) first.splice(first.end(), queue_, queue_.begin());
            lock.unlock();
            for (Waiting& one : first) one.outcome.error = std::current_exception();
            for (Waiting& one : first) finish(one);
            first.clear();
            lock.lock();
        }
    }
}

// Whoever cannot be told is answered when his job goes.
void Batcher::finish(Waiting& one) noexcept {
    try {
        one.job.done(std::move(one.outcome));
    } catch (...) {
        if (on_fault_) on_fault_();
    }
}

void Batcher::take_turn(std::unique_lock<std::mutex>& lock) {
    if (delay_ > 0 && !stop_ && !queue_.front().has_run()) {
        const auto until = queue_.front().since + std::chrono::duration_cast<Clock::duration>(
                                                      std::chrono::duration<double>(delay_));
        changed_.wait_until(lock, until, [&] {
            const Waiting& first = queue_.front();
            return stop_ || compatible_weight(first) >= std::int64_t(first.job.model->batch());
        });
    }
    while (!queue_.empty() && drop_late(lock)) continue;
    if (queue_.empty()) return;
    if (queue_.front().has_run())
        take_rest(lock);
    else
        take_batch(lock);
}

void Batcher::take_batch(std::unique_lock<std::mutex>& lock) {
    const std::vector<Part> parts = collect();
    // The jobs of a batch are this thread's until it has run: others only append.
    lock.unlock();
    run(parts);
    lock.lock();
    Queue finished;
    for (const Part& part : parts) {
        const Waiting& one = *part.of;
        if (one.outcome.error || (one.has_run() && !one.job.then))
            finished.splice(finished.end(), queue_, part.of);
        else  // a large request lets others pass
            queue_.splice(queue_.end(), queue_, part.of);
    }
    hand_out(std::move(finished), lock);
}

// Of one image of the first job, whose outputs are there.
void Batcher::take_rest(std::unique_lock<std::mutex>& lock) {
    const Queue::iterator first = queue_.begin();
    lock.unlock();
    run_rest(*first);
    lock.lock();
    Queue finished;
    if (first->outcome.error || first->rest == first->job.rows())
        finished.splice(finished.end(), queue_, first);
    else
        queue_.splice(queue_.end(), queue_, first);
    hand_out(std::move(finished), lock);
}

void Batcher::hand_out(Queue finished, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    for (Waiting& one : finished) finish(one);
    finished.clear();
    lock.lock();
}

std::int64_t Batcher::Waiting::weight_left() const {
    if (!job.text) return job.rows() - next;
    std::int64_t weight = 0;
    for (std::int64_t row = next; row < job.rows(); ++row) weight += job.weight(row);
    return weight;
}

// Until the batch that it goes into has run, and what remains of it after that.
double Batcher::seconds_of(const Waiting& one, std::int64_t weight) const {
    const ServedModel& model = *one.job.model;
    const std::int64_t batch =
        std::max(std::min(weight, std::int64_t(model.batch())), one.job.weight(one.next));
    return model.time().expected(std::size_t(batch)) +
           (one.job.then ? double(one.job.rows()) * model.rest_time().expected(1) : 0);
}

std::exception_ptr Batcher::refusal(const Waiting& one, bool too_late) {
    if (*one.job.gone)
        return std::make_exception_ptr(HttpError(503, "request: the client has left"));
    if (too_late)
        return std::make_exception_ptr(HttpError(503, "server: too busy to answer in time"));
    return nullptr;
}

// A row of the next batch is answered when all of that batch are; without those that are late
// already it is a smaller one.
bool Batcher::drop_late(std::unique_lock<std::mutex>& lock) {
    const Clock::time_point now = Clock::now();
    const Waiting& first = queue_.front();
    std::int64_t together = compatible_weight(first);
    Queue dropped;
    for (auto it = queue_.begin(); it != queue_.end();) {
        const auto one = it++;
        bool too_late = now >= one->job.deadline;
        if (!one->has_run()) {
            if (one->next > 0 && !*one->job.gone) continue;  // begun is half done
            // With nothing else to do the engine tries: it may be faster than it was of late.
            const bool alone = queue_.size() == 1 && !too_late;
            const std::int64_t weight = one->goes_with(first) ? together : one->weight_left();
            too_late = !alone && seconds_between(now, one->job.deadline) < seconds_of(*one, weight);
        }
        one->outcome.error = refusal(*one, too_late);
        if (!one->outcome.error) continue;
        if (one->goes_with(first)) together -= one->weight_left();
        dropped.splice(dropped.end(), queue_, one);
    }
    if (dropped.empty()) return false;
    hand_out(std::move(dropped), lock);
    return true;
}

std::int64_t Batcher::compatible_weight(const Waiting& of) const {
    std::int64_t weight = 0;
    for (const Waiting& one : queue_)
        if (one.goes_with(of)) weight += one.weight_left();
    return weight;
}

// As much as a batch may have, but at least the first row, however long that is.
std::vector<Batcher::Part> Batcher::collect() {
    std::vector<Part> parts;
    parts.reserve(queue_.size());  // nothing below throws: no row is taken and then forgotten
    const Waiting& first = queue_.front();
    auto room = std::int64_t(first.job.model->batch());
    for (auto it = queue_.begin(); it != queue_.end() && room > 0; ++it) {
        if (it->has_run() || !it->goes_with(first)) continue;
        std::int64_t count = 0;
        for (; it->next + count < it->job.rows(); ++count) {
            const std::int64_t weight = it->job.weight(it->next + count);
            if (weight > room && !(parts.empty() && count == 0)) break;
            room -= weight;
        }
        if (count == 0) break;
        if (it->next == 0) it->outcome.queue = seconds_between(it->since, Clock::now());
        parts.push_back({it, it->next, count});
        it->next += count;
    }
    return parts;
}

void Batcher::run(const std::vector<Part>& parts) {
    const Job& first = parts.front().of->job;
    const Clock::time_point begin = Clock::now();
    std::int64_t rows = 0, weight = 0;
    for (const Part& part : parts) {
        rows += part.count;
        for (std::int64_t row = part.first; row < part.first + part.count; ++row)
            weight += part.of->job.weight(row);
    }
    try {
        if (first.text)
            run_text(parts);
        else
            run_images(parts);
        const double seconds = seconds_between(begin, Clock::now());
        first.model->time().observe(std::size_t(weight), seconds);
        first.model->stats().ran(std::size_t(rows), seconds);
        for (const Part& part : parts) part.of->outcome.infer += seconds;
    } catch (...) {
        for (const Part& part : parts) {
            part.of->outcome.error = refusal(*part.of, false);
            if (!part.of->outcome.error) part.of->outcome.error = std::current_exception();
        }
    }
}

// Ends where nobody waits for it any more: it takes many steps.
void Batcher::run_text(const std::vector<Part>& parts) {
    std::vector<TranslationWork::Part> lines;
    for (const Part& part : parts)
        lines.push_back(
            {part.of->job.text.get(), std::size_t(part.first), std::size_t(part.count)});
    TranslationWork::translate(lines, [&] {
        return std::ranges::all_of(parts,
                                   [](const Part& part) { return part.of->job.gone->load(); });
    });
}

void Batcher::run_images(const std::vector<Part>& parts) {
    const Job& first = parts.front().of->job;
    std::int64_t total = 0;
    for (const Part& part : parts) total += part.count;
    Tensor images = first.images;
    if (parts.size() > 1 || total < first.images.shape()[0]) {
        Shape shape = first.images.shape();
        shape[0] = total;
        images = Tensor::empty(DType::f32, shape);
        std::byte* to = images.mutable_bytes().data();
        for (const Part& part : parts) {
            const std::size_t row = row_bytes(part.of->job.images);
            std::memcpy(to, part.of->job.images.bytes() + std::size_t(part.first) * row,
                        std::size_t(part.count) * row);
            to += std::size_t(part.count) * row;
        }
    }
    const std::map<std::string, Tensor> outputs = first.model->session().run(images, first.taps);
    for (const auto& [tap, tensor] : outputs) {
        const std::size_t row = row_bytes(tensor);
        const std::byte* from = tensor.bytes();
        for (const Part& part : parts) {
            Tensor& to = part.of->outcome.outputs[tap];
            if (!to.defined()) {
                Shape shape = tensor.shape();
                shape[0] = part.of->job.rows();
                to = Tensor::empty(DType::f32, shape);
            }
            std::memcpy(to.mutable_bytes().data() + std::size_t(part.first) * row, from,
                        std::size_t(part.count) * row);
            from += std::size_t(part.count) * row;
        }
    }
}

void Batcher::run_rest(Waiting& one) {
    const Clock::time_point begin = Clock::now();
    try {
        one.job.then(one.outcome.outputs, one.rest);
        const double seconds = seconds_between(begin, Clock::now());
        one.job.model->rest_time().observe(1, seconds);
        one.outcome.infer += seconds;
        if (++one.rest == one.job.rows()) one.outcome.outputs.clear();
    } catch (...) {
        one.outcome.error = std::current_exception();
    }
}

}  // namespace cait::serve
