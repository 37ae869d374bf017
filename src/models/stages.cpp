#include "models/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "cait/error.h"

namespace cait {

namespace {

PerStage parse_stages(const std::string& text, std::int64_t least) {
    // As for single numbers: far above any network, far below what could overflow.
    constexpr std::int64_t kLargest = 1'000'000;
    PerStage values{};
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        const std::size_t comma = text.find(',', begin);
        const bool last = stage + 1 == kStages;
        if ((comma == std::string::npos) != last)
            throw UsageError(fmt::format(
                "expected {} whole numbers separated by commas, found '{}'", kStages, text));
        values[stage] = parse_integer(text.substr(begin, last ? comma : comma - begin));
        if (values[stage] < least || values[stage] > kLargest)
            throw UsageError(
                fmt::format("expected numbers from {} to {}, found '{}'", least, kLargest, text));
        begin = comma + 1;
    }
    return values;
}

}  // namespace

void bind_stages(Settings& settings, std::string name, PerStage& field, std::string help,
                 std::int64_t least) {
    settings.custom(
        {std::move(name), std::move(help),
         [&field] { return fmt::format("{}", fmt::join(field, ",")); },
         [&field, least](const std::string& text) { field = parse_stages(text, least); }});
}

std::int64_t total(const PerStage& depths) {
    return std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
}

}  // namespace cait
