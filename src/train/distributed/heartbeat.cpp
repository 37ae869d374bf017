#include "train/distributed/heartbeat.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <condition_variable>
#include <mutex>

#include "cait/error.h"

namespace cait {

namespace {

using Clock = std::chrono::steady_clock;

// Added to the counter of a rank that leaves of its own accord.
constexpr std::int64_t kLeft = std::int64_t(1) << 40;
constexpr int kSuspiciousBeats = 3;  // missing beats that name the culprit once something failed
constexpr std::chrono::seconds kFarewell{5};
const std::string kVerdictKey = "cait/verdict";
const std::string kGoneKey = "cait/gone";

std::string beat_key(int rank) { return fmt::format("cait/beat/{}", rank); }

}  // namespace

// Shared with the thread, which may outlive the object: a store whose machine has vanished does not
// answer, and then nothing can be done about a thread that waits for it.
struct Heartbeat::State {
    WorldInfo world;
    HeartbeatOptions options;
    c10::intrusive_ptr<c10d::TCPStore> store;

    mutable std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> verdict;
    Clock::time_point last_answer = Clock::now();  // of the store
    std::string own_verdict;                       // to be sent to all
    bool suspicious = false;
    bool stop = false;
    bool together = false;
    bool done = false;

    // The rank that is watched; used by the thread alone.
    std::int64_t count = 0;
    Clock::time_point last_beat = Clock::now();

    std::string sentence(int rank, const std::string& what) const {
        return fmt::format("rank {} of {} {}", rank, world.world, what);
    }
    void run();
    void beat();
    void watch(int rank);
    void say_goodbye();
    void set_verdict(const std::string& text);
};

void Heartbeat::State::set_verdict(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (!verdict) verdict = text;
    changed.notify_all();
}

// Everybody watches one other, so the work does not grow with the square of the ranks.
void Heartbeat::State::watch(int rank) {
    const std::int64_t found = store->add(beat_key(rank), 0);
    const auto now = Clock::now();
    if (found != count) {
        count = found;
        last_beat = now;
    }
    bool looks_closely = false;
    {
        const std::lock_guard lock(mutex);
        looks_closely = suspicious;
    }
    const bool left = count >= kLeft;
    auto patience = count == 0 ? options.join : options.silence;
    if (looks_closely && count > 0)
        patience = std::min(patience, kSuspiciousBeats * options.interval);
    const bool missing = left ? looks_closely : now - last_beat > patience;
    if (!missing) return;
    std::string what = left ? "left the run" : "stopped answering";
    if (count == 0)
        what = fmt::format("did not join within {} s", double(options.join.count()) / 1000);
    const std::string text = sentence(rank, what);
    // Only the first one counts: who leaves because of it must not be named in turn.
    store->compareSet(kVerdictKey, {}, {text.begin(), text.end()});
}

void Heartbeat::State::beat() {
    store->add(beat_key(world.rank), 1);
    if (!store->check({kVerdictKey})) watch((world.rank + 1) % world.world);
    if (store->check({kVerdictKey})) {
        const std::vector<std::uint8_t> text = store->get(kVerdictKey);
        set_verdict({text.begin(), text.end()});
    }
    const std::lock_guard lock(mutex);
    last_answer = Clock::now();
}

void Heartbeat::State::say_goodbye() {
    if (!own_verdict.empty())
        store->compareSet(kVerdictKey, {}, {own_verdict.begin(), own_verdict.end()});
    store->add(beat_key(world.rank), kLeft);
    if (!together) return;
    std::int64_t gone = store->add(kGoneKey, 1);
    const auto deadline = Clock::now() + kFarewell;
    while (gone < world.world && Clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        gone = store->add(kGoneKey, 0);
    }
}

void Heartbeat::State::run() {
    try {
        std::unique_lock lock(mutex);
        while (!stop) {
            lock.unlock();
            beat();
            lock.lock();
            changed.wait_for(lock, options.interval, [this] { return stop; });
        }
        lock.unlock();
        say_goodbye();
    } catch (const std::exception&) {
        // The store lives in rank 0 and has closed the connection. At the end of a run that is
        // nothing bad: rank 0 closes it when all have said goodbye.
        set_verdict(sentence(0, "stopped answering"));
    }
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
}

Heartbeat::Heartbeat(const WorldInfo& world, const HeartbeatOptions& options)
    : state_(std::make_shared<State>()) {
    state_->world = world;
    state_->options = options;
    // A connection of its own: while one thread waits on a store, others cannot use it.
    c10d::TCPStoreOptions store_options;
    store_options.port = std::uint16_t(world.port);
    store_options.timeout = options.join;
    state_->store = c10::make_intrusive<c10d::TCPStore>(world.address, store_options);
    state_->last_beat = state_->last_answer = Clock::now();
    thread_ = std::thread([state = state_] { state->run(); });
}

Heartbeat::~Heartbeat() { stop(false); }

void Heartbeat::leave_together() { stop(true); }

void Heartbeat::stop(bool together) {
    if (!thread_.joinable()) return;
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->together = together;
    state_->changed.notify_all();
    const auto patience = std::chrono::seconds(1) + (together ? kFarewell : kFarewell / 5);
    const bool done = state_->changed.wait_for(lock, patience, [this] { return state_->done; });
    lock.unlock();
    if (done)
        thread_.join();
    else
        thread_.detach();
}

void Heartbeat::condemn(const std::string& text) {
    const std::lock_guard lock(state_->mutex);
    state_->own_verdict = text;
    state_->changed.notify_all();
}

std::optional<std::string> Heartbeat::verdict() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->verdict) return state_->verdict;
    if (!state_->done && Clock::now() - state_->last_answer > state_->options.silence)
        return state_->sentence(0, "stopped answering");
    return std::nullopt;
}

std::optional<std::string> Heartbeat::diagnose() {
    {
        std::unique_lock lock(state_->mutex);
        state_->suspicious = true;
        state_->changed.wait_for(lock, 2 * kSuspiciousBeats * state_->options.interval,
                                 [this] { return state_->verdict || state_->done; });
    }
    return verdict();
}

}  // namespace cait
