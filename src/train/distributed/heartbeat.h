// Tells a rank that is slow from one that is gone. Each rank counts up in the store once a second
// and watches the next one; who falls silent is named to all, so that nobody waits for the dead.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "train/distributed/world.h"

namespace cait {

struct HeartbeatOptions {
    std::chrono::milliseconds interval{1000};
    std::chrono::milliseconds silence{20'000};  // so long without a beat: gone
    std::chrono::milliseconds join{300'000};    // so long until the first beat
};

class Heartbeat {
public:
    // Needs the store of rank 0 at the world's address and port. Throws Error without it.
    Heartbeat(const WorldInfo& world, const HeartbeatOptions& options);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    // "rank 1 of 2 stopped answering" once somebody has; the same words on every rank.
    std::optional<std::string> verdict() const;

    // After an operation has failed: looks closely for some beats and says who is missing.
    std::optional<std::string> diagnose();

    // Says at the end why this rank leaves, in words that every rank then has as its verdict.
    void condemn(const std::string& text);

    // The end of a run that went well: waits, for some seconds at most, until every rank is there,
    // so that nobody closes a connection that still carries the last bytes of another's sum.
    void leave_together();

private:
    struct State;
    void stop(bool together);

    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace cait
