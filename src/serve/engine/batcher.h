// Puts images, or lines of text, of many requests through a model together. One thread computes;
// requests that come while it is busy form the next batch, so no request waits for others unless
// the server is told to wait. What a job needs after that (Job::then) is done by the same thread in
// turns of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/engine/served_model.h"
#include "serve/engine/translation_work.h"
#include "serve/http/message.h"

namespace cait::serve {

// What became of a job.
struct Outcome {
    std::map<std::string, Tensor> outputs;  // by tap
    std::exception_ptr error;               // in their place
    double queue = 0, infer = 0;            // seconds
};

struct Job {
    ServedModelPtr model;
    std::vector<std::string> taps;  // rising
    Tensor images;                  // [N, C, H, W], finite
    Clock::time_point deadline;     // to be answered; nobody begins what would miss it
    std::shared_ptr<std::atomic<bool>> gone;
    std::function<void(Outcome)> done;       // called once, by the batcher's thread; must not block
    std::shared_ptr<const void> prepared{};  // keeps the model prepared for the taps
    // What remains to be computed of an image once the outputs of all are there: a detector's
    // second stage. Called for one image after another, also by the batcher's thread, which serves
    // others in between; `done` gets no outputs then. What it throws is the job's error.
    std::function<void(const std::map<std::string, Tensor>& outputs, std::int64_t image)> then{};
    // The lines of a model that translates, in place of taps and images; it keeps what they become.
    std::shared_ptr<TranslationWork> text{};

    std::int64_t rows() const { return text ? std::int64_t(text->lines()) : images.shape()[0]; }
    // How much of a batch one takes.
    std::int64_t weight(std::int64_t row) const {
        return text ? std::int64_t(text->units(std::size_t(row))) : 1;
    }
};

class Batcher {
public:
    // Waits up to `delay` seconds for a batch to fill when there is nothing else to do. `on_fault`
    // is called where something threw that should not, while that is being handled.
    explicit Batcher(double delay = 0, std::function<void()> on_fault = {});
    ~Batcher();  // ends what is there

    void submit(Job job);
    std::size_t waiting() const;  // jobs

private:
    struct Waiting {
        Job job;
        Clock::time_point since;
        std::int64_t next = 0;  // the first row that has not been taken
        Outcome outcome;
        std::int64_t rest = 0;  // the first image that `then` has not seen

        bool has_run() const { return next == job.rows(); }  // only `then` is left
        bool goes_with(const Waiting& other) const {
            return job.model == other.job.model && job.taps == other.job.taps &&
                   (!job.text || job.text->goes_with(*other.job.text));
        }
        std::int64_t weight_left() const;  // of the rows that have not been taken
    };
    using Queue = std::list<Waiting>;
    // Some rows of a job in a batch.
    struct Part {
        Queue::iterator of;
        std::int64_t first, count;
    };

    void work();
    void take_turn(std::unique_lock<std::mutex>& lock);
    void take_batch(std::unique_lock<std::mutex>& lock);
    void take_rest(std::unique_lock<std::mutex>& lock);
    void hand_out(Queue finished, std::unique_lock<std::mutex>& lock);
    void finish(Waiting& one) noexcept;
    bool drop_late(std::unique_lock<std::mutex>& lock);  // whether there were any
    double seconds_of(const Waiting& one, std::int64_t weight) const;
    static std::exception_ptr refusal(const Waiting& one, bool too_late);
    std::int64_t compatible_weight(const Waiting& of) const;  // of all rows that could go with it
    std::vector<Part> collect();
    static void run(const std::vector<Part>& parts);
    static void run_images(const std::vector<Part>& parts);
    static void run_text(const std::vector<Part>& parts);
    static void run_rest(Waiting& one);

    const double delay_;
    const std::function<void()> on_fault_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Queue queue_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace cait::serve
