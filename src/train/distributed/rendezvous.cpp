#include "train/distributed/rendezvous.h"

#include <fmt/format.h>

#include <charconv>
#include <thread>

#include "train/distributed/agent_store.h"

namespace cait {

namespace {

constexpr std::chrono::milliseconds kPause{100};

double in_seconds(std::chrono::milliseconds time) { return double(time.count()) / 1000; }

// Tries until there is an answer. `attempt` says why there is no answer yet; `whom` is waited for.
template <class Attempt>
auto wait_for(const WorldInfo& world, const WaitingOptions& options,
              std::chrono::milliseconds limit, const std::string& whom, Attempt attempt) {
    constexpr const char* kVariables = "MASTER_ADDR, MASTER_PORT";
    Waiting waiting(options, limit,
                    fmt::format("{} waits for {} ({})", rank_text(world), whom, kVariables));
    for (;;) {
        std::string problem;
        if (auto answer = attempt(problem)) return std::move(*answer);
        if (waiting.too_long())
            throw Error(fmt::format("rank {} of {}: {}: expected {} within {} s, found nobody: {}",
                                    world.rank, world.world, kVariables, whom, in_seconds(limit),
                                    problem));
        waiting.look();
        std::this_thread::sleep_for(kPause);
    }
}

AgentStore open_agent_store(const WorldInfo& world, const WaitingOptions& options,
                            std::chrono::milliseconds limit) {
    const std::string place = fmt::format("{}:{}", world.agent->address, world.agent->port);
    auto connection =
        wait_for(world, options, limit, "torchrun's store at " + place, [&](std::string& problem) {
            return connect_to(world.agent->address, world.agent->port, problem);
        });
    return {std::move(connection), place};
}

int published_port(AgentStore& store, const std::string& key) {
    const std::string text = store.get(key).value_or("0");
    int port = 0;
    std::from_chars(text.data(), text.data() + text.size(), port);
    return port;
}

}  // namespace

Waiting::Waiting(WaitingOptions options, std::chrono::milliseconds limit, std::string what)
    : options_(std::move(options)), limit_(limit), what_(std::move(what)) {}

bool Waiting::too_long() const { return Clock::now() - start_ > limit_; }

void Waiting::look() {
    if (const int signal = options_.stop(); signal != 0)
        throw StoppedWaiting(fmt::format("stopped by signal {}: {}", signal, what_), signal);
    if (mentioned_ || Clock::now() - start_ < options_.quiet) return;
    mentioned_ = true;
    options_.note(fmt::format("{}, for {} s at most", what_, in_seconds(limit_)));
}

std::string rank_text(const WorldInfo& world) {
    return fmt::format("rank {} of {} ({})", world.rank, world.world, world.counted_by);
}

void publish_port(const WorldInfo& world, const WaitingOptions& options,
                  std::chrono::milliseconds limit) {
    open_agent_store(world, options, limit).set(world.agent->key, std::to_string(world.port));
}

int find_rank_zero(const WorldInfo& world, const WaitingOptions& options,
                   std::chrono::milliseconds limit) {
    std::optional<AgentStore> store;
    if (world.agent) store.emplace(open_agent_store(world, options, limit));
    const std::string place =
        store ? fmt::format("{}, on the port that it publishes in torchrun's store at {}:{}",
                            world.address, world.agent->address, world.agent->port)
              : fmt::format("{}:{}", world.address, world.port);
    return wait_for(world, options, limit, "rank 0 at " + place,
                    [&](std::string& problem) -> std::optional<int> {
                        // Read again every time: it may be the port of a rank 0 that torchrun has
                        // ended.
                        const int port =
                            store ? published_port(*store, world.agent->key) : world.port;
                        problem = "no port is published";
                        if (port > 0 && connect_to(world.address, port, problem)) return port;
                        return std::nullopt;
                    });
}

}  // namespace cait
