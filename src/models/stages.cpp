#include "models/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

#include "cait/error.h"

namespace cait {

namespace {

PerStage parse_stages(const std::string& text) {
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
        if (values[stage] < 1 || values[stage] > kLargest)
            throw UsageError(
                fmt::format("expected numbers from 1 to {}, found '{}'", kLargest, text));
        begin = comma + 1;
    }
    return values;
}

}  // namespace

void bind_stages(Settings& settings, std::string name, PerStage& field, std::string help) {
    settings.custom({std::move(name), std::move(help),
                     [&field] { return fmt::format("{}", fmt::join(field, ",")); },
                     [&field](const std::string& text) { field = parse_stages(text); }});
}

std::int64_t total(const PerStage& depths) {
    return std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
}

Value conv_norm(Builder& b, std::string_view conv, std::string_view norm, Value x, std::int64_t out,
                const ConvNormOptions& options, Location where) {
    const Value y = b.conv2d(conv, x, out,
                             {.kernel = options.kernel,
                              .stride = options.stride,
                              .padding = options.kernel / 2,
                              .groups = options.groups,
                              .bias = false,
                              .weight_init = he_fan_out(out, options.kernel, options.groups)},
                             where);
    return b.batch_norm(norm, y, options.starts_at_zero ? Init::zeros() : Init::ones(), {}, where);
}

Init he_fan_out(std::int64_t out, std::int64_t kernel, std::int64_t groups) {
    return Init::normal(std::sqrt(2.0 / double(out * kernel * kernel / groups)));
}

Value relu(Builder& b, Value x, Location where) {
    return b.activation(x, op::Activation::Kind::relu, where);
}

Value average_pool(Builder& b, Value map, Location where) {
    return b.reduce(map, op::Reduce::Kind::mean, {2, 3}, false, where);
}

}  // namespace cait
