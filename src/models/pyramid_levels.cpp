#include "models/pyramid_levels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cait/error.h"

namespace cait {

namespace {

// Four blocks separated by commas, or "auto".
std::vector<std::int64_t> parse_taps(const std::string& text) {
    if (text == "auto") return {};
    std::vector<std::int64_t> taps;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        taps.push_back(parse_integer(text.substr(begin, comma - begin)));
        if (taps.back() < 0 || taps.back() > Settings::kLargest)
            throw UsageError(fmt::format("expected blocks from 0, found '{}'", text));
        begin = comma + 1;
    }
    if (taps.size() != kMapLevels)
        throw UsageError(fmt::format("expected auto or {} blocks separated by commas, found '{}'",
                                     kMapLevels, text));
    return taps;
}

std::string taps_text(const std::vector<std::int64_t>& taps) {
    return taps.empty() ? std::string("auto") : fmt::format("{}", fmt::join(taps, ","));
}

}  // namespace

void bind_levels(Settings& s, Pyramid& pyramid, std::vector<std::int64_t>& taps,
                 std::string pyramid_help, std::string taps_help) {
    s.choice("head.pyramid", pyramid,
             {{"auto", Pyramid::automatic},
              {"scales", Pyramid::scales},
              {"stages", Pyramid::stages},
              {"taps", Pyramid::taps},
              {"mln", Pyramid::mln}},
             std::move(pyramid_help));
    s.custom({"head.taps", std::move(taps_help), [&taps] { return taps_text(taps); },
              [&taps](const std::string& text) { taps = parse_taps(text); }, Settings::Kind::text,
              "auto, or four blocks"});
}

void settle_pyramid(Pyramid& pyramid, MapsOf maps) {
    const bool staged = maps == MapsOf::stages;
    if (pyramid == Pyramid::automatic) pyramid = staged ? Pyramid::stages : Pyramid::scales;
    if (staged != (pyramid == Pyramid::stages))
        throw UsageError(staged ? "head.pyramid: expected stages, as this network has some"
                                : "head.pyramid: expected scales, taps or mln, as this network has "
                                  "one scale; found stages");
}

// XCiT taps 3, 5, 7, 11 of 12 blocks and 7, 11, 15, 23 of 24; mmseg 2, 5, 8, 11 of 12. Other depths
// follow by the same shares.
std::vector<std::int64_t> tapped_blocks(const LevelChoice& c, MapsOf maps, std::int64_t depth) {
    std::vector<std::int64_t> blocks = c.taps;
    if (blocks.empty() && maps == MapsOf::last_block) blocks.assign(kMapLevels, depth - 1);
    if (blocks.empty() && c.pyramid == Pyramid::scales)
        blocks = {depth / 3 - 1, depth / 2 - 1, 2 * depth / 3 - 1, depth - 1};
    if (blocks.empty()) blocks = {depth / 4 - 1, depth / 2 - 1, 3 * depth / 4 - 1, depth - 1};
    for (std::int64_t& block : blocks) {
        block = std::max<std::int64_t>(block, 0);
        if (block >= depth)
            throw UsageError(fmt::format("head.taps: expected blocks 0 to {}, found {}", depth - 1,
                                         fmt::join(c.taps, ",")));
    }
    return blocks;
}

namespace {

// Four blocks at 1/4, 1/8, 1/16 and 1/32 of the image, or what comes nearest to that.
std::vector<Value> scaled_levels(Builder& b, std::vector<Value> x, std::int64_t patch) {
    constexpr std::int64_t kFine = 8;
    const auto enlarged = [&](const char* name, Value map) {
        return b.conv_transpose2d(name, map, map.extent(1), 2);
    };
    const auto reduced = [&](Value map, std::int64_t side) {
        return b.pool2d(map, {.kernel = side, .stride = side});
    };
    if (patch <= kFine) {
        b.leave_out("fpn2");
        return {enlarged("fpn1.0", x[0]), x[1], reduced(x[2], 2), reduced(x[3], 4)};
    }
    const Value twice = b.gelu(b.batch_norm("fpn1.1", enlarged("fpn1.0", x[0])));
    return {enlarged("fpn1.3", twice), enlarged("fpn2.0", x[1]), x[2], reduced(x[3], 2)};
}

// mmseg's MultiLevelNeck. Its convolutions have a bias and nothing behind them.
std::vector<Value> neck_levels(Builder& b, std::vector<Value> x) {
    constexpr double kScales[] = {4, 2, 1, 0.5};
    const Builder::Scope scope = b.scope("neck");
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::int64_t dim = x[i].extent(1);
        const auto conv = [&](const char* name, Value map, std::int64_t kernel) {
            const std::int64_t fan = dim * kernel * kernel;
            return b.conv2d(fmt::format("{}.{}.conv", name, i), map, dim,
                            {.kernel = kernel,
                             .padding = kernel / 2,
                             .weight_init = Init::xavier(fan, fan),
                             .bias_init = Init::zeros()});
        };
        x[i] = conv("lateral_convs", x[i], 1);
        const auto scaled = [&](std::int64_t extent) {
            return std::max<std::int64_t>(1, std::int64_t(double(extent) * kScales[i]));
        };
        if (kScales[i] != 1)
            x[i] =
                b.resize(x[i], {.height = scaled(x[i].extent(2)), .width = scaled(x[i].extent(3))});
        x[i] = conv("convs", x[i], 3);
    }
    return x;
}

}  // namespace

void leave_out_levels(Builder& b) {
    for (const char* part : {"neck", "fpn1", "fpn2"}) b.leave_out(part);
}

std::vector<Value> pyramid_levels(Builder& b, const LevelChoice& c, std::span<const Value> maps,
                                  MapsOf kind, std::int64_t patch) {
    if (c.pyramid == Pyramid::stages) return {maps.begin(), maps.end()};
    std::vector<Value> tapped;
    for (const std::int64_t block : tapped_blocks(c, kind, std::int64_t(maps.size())))
        tapped.push_back(maps[std::size_t(block)]);
    if (c.pyramid == Pyramid::scales) return scaled_levels(b, std::move(tapped), patch);
    return c.pyramid == Pyramid::mln ? neck_levels(b, std::move(tapped)) : tapped;
}

}  // namespace cait
