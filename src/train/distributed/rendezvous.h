// How ranks find rank 0, and what the wait for one another is like for who looks on: it is said
// what is waited for, and a signal ends it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cait/error.h"
#include "train/distributed/world.h"

namespace cait {

struct WaitingOptions {
    std::chrono::milliseconds quiet{5000};  // a wait is mentioned when it takes longer
    std::function<void(const std::string&)> note = [](const std::string&) {};
    // A signal number when the wait is to end, else 0.
    std::function<int()> stop = [] { return 0; };
};

class StoppedWaiting : public Error {
public:
    StoppedWaiting(const std::string& what, int signal) : Error(what), signal_(signal) {}
    int signal() const { return signal_; }

private:
    int signal_;
};

class Waiting {
public:
    // `what`: "rank 1 of 2 waits for rank 0 at …".
    Waiting(WaitingOptions options, std::chrono::milliseconds limit, std::string what);

    // For every round of a loop that waits: mentions the wait once. Throws StoppedWaiting.
    void look();
    bool too_long() const;

private:
    using Clock = std::chrono::steady_clock;
    WaitingOptions options_;
    std::chrono::milliseconds limit_;
    std::string what_;
    Clock::time_point start_ = Clock::now();
    bool mentioned_ = false;
};

// "rank 1 of 2 (WORLD_SIZE)": a number of processes that surprises somebody has a source.
std::string rank_text(const WorldInfo& world);

// For rank 0 with an agent, when its store listens on the world's port.
void publish_port(const WorldInfo& world, const WaitingOptions& options,
                  std::chrono::milliseconds limit);

// For the others: returns the port when rank 0 accepts connections there. Throws Error with the
// reason when it does not within the limit.
int find_rank_zero(const WorldInfo& world, const WaitingOptions& options,
                   std::chrono::milliseconds limit);

}  // namespace cait
