#include "train/distributed/world.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "cait/error.h"

namespace cait {

namespace {

// How one kind of launcher calls the three numbers.
struct Names {
    const char* rank;
    const char* world;
    const char* local_rank;
    bool needs_both = false;  // Slurm sets one of the two also where it starts no tasks
};

constexpr std::array kLaunchers = {
    Names{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", true},
    Names{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},  // of the job: may be more
};

constexpr int kMostRanks = 65536;
constexpr int kHighestPort = 65535;

int number(const char* name, const std::string& text, int least, int most) {
    int value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value < least || value > most)
        throw UsageError(
            fmt::format("environment variable {}: expected a whole number from {} to {}, found "
                        "'{}'",
                        name, least, most, text));
    return value;
}

std::string required(const Environment& environment, const char* name, const char* because) {
    const std::optional<std::string> text = environment(name);
    if (!text)
        throw UsageError(fmt::format(
            "environment variable {}: expected a number because {} is set, found nothing", name,
            because));
    return *text;
}

const Names* launcher(const Environment& environment) {
    for (const Names& names : kLaunchers) {
        const bool rank = environment(names.rank).has_value();
        const bool world = environment(names.world).has_value();
        if (names.needs_both ? rank && world : rank || world) return &names;
    }
    return nullptr;
}

// Jobs share machines, and steps of a job do: each of them gets another port. Below the ports that
// Linux hands out by itself.
void use_slurm_defaults(WorldInfo& info, const Environment& environment) {
    const auto id = [&](const char* name) {
        std::uint64_t value = 0;
        const std::string text = environment(name).value_or("0");
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    };
    if (environment("SLURM_JOB_ID"))
        info.port = int(10'000 + (10 * id("SLURM_JOB_ID") + id("SLURM_STEP_ID")) % 20'000);
    if (environment("MASTER_ADDR")) return;
    for (const char* nodes : {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}) {
        const auto count = environment(nodes);
        if (!count) continue;
        if (*count == "1") return;
        throw UsageError(
            fmt::format("environment variable MASTER_ADDR: expected the name or address of rank "
                        "0's machine because {} is {}, found nothing",
                        nodes, *count));
    }
}

// The agent has the port: rank 0 takes a free one. Processes of one machine need no name for it.
void use_agent_store(WorldInfo& info, const Environment& environment) {
    // The promise is about the address that the agent sets as well.
    if (environment("TORCHELASTIC_USE_AGENT_STORE") != "True" || !environment("MASTER_ADDR") ||
        !environment("MASTER_PORT"))
        return;
    info.agent = AgentStorePlace{
        info.address, info.port,
        fmt::format("cait/{}/{}/port", environment("TORCHELASTIC_RUN_ID").value_or("none"),
                    environment("TORCHELASTIC_RESTART_COUNT").value_or("0"))};
    info.port = 0;
    if (environment("LOCAL_WORLD_SIZE") == environment("WORLD_SIZE")) info.address = "127.0.0.1";
}

}  // namespace

WorldInfo world_from_environment(const Environment& environment) {
    WorldInfo info;
    const Names* names = launcher(environment);
    if (names != nullptr) {
        info.counted_by = names->world;
        info.world =
            number(names->world, required(environment, names->world, names->rank), 1, kMostRanks);
        info.rank = number(names->rank, required(environment, names->rank, names->world), 0,
                           info.world - 1);
        if (const auto text = environment(names->local_rank))
            info.local_rank = number(names->local_rank, *text, 0, info.world - 1);
        if (names->needs_both && info.world > 1) use_slurm_defaults(info, environment);
    }
    if (const auto text = environment("MASTER_ADDR")) {
        if (text->empty())
            throw UsageError(
                "environment variable MASTER_ADDR: expected the name or address of rank 0's "
                "machine, found ''");
        info.address = *text;
    }
    if (const auto text = environment("MASTER_PORT"))
        info.port = number("MASTER_PORT", *text, 1, kHighestPort);
    if (names == kLaunchers.data() && info.world > 1) use_agent_store(info, environment);
    return info;
}

WorldInfo world_from_environment() {
    return world_from_environment([](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        if (value == nullptr) return std::nullopt;
        return value;
    });
}

}  // namespace cait
