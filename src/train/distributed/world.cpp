#include "train/distributed/world.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "cait/error.h"

namespace cait {

namespace {

// How one kind of launcher calls the three numbers.
struct Names {
    const char* rank;
    const char* world;
    const char* local_rank;
};

constexpr std::array kLaunchers = {
    Names{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
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

}  // namespace

WorldInfo world_from_environment(const Environment& environment) {
    WorldInfo info;
    for (const Names& names : kLaunchers) {
        if (!environment(names.rank) && !environment(names.world)) continue;
        info.world =
            number(names.world, required(environment, names.world, names.rank), 1, kMostRanks);
        info.rank =
            number(names.rank, required(environment, names.rank, names.world), 0, info.world - 1);
        if (const auto text = environment(names.local_rank))
            info.local_rank = number(names.local_rank, *text, 0, info.world - 1);
        break;
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
