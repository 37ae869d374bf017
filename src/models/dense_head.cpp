#include "models/dense_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kLevels = 4;

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
    if (taps.size() != kLevels)
        throw UsageError(fmt::format("expected auto or {} blocks separated by commas, found '{}'",
                                     kLevels, text));
    return taps;
}

}  // namespace

void bind(Settings& s, DenseConfig& c) {
    s.integer("head.classes", c.classes, 1, "upernet, linear_map: number of classes");
    s.integer("head.width", c.width, 1, "upernet: channels of its convolutions");
    s.choice("head.pyramid", c.pyramid,
             {{"auto", Pyramid::automatic},
              {"scales", Pyramid::scales},
              {"stages", Pyramid::stages},
              {"taps", Pyramid::taps},
              {"mln", Pyramid::mln}},
             "upernet: where its four levels come from: four blocks enlarged and reduced, the "
             "stages of the network, four blocks as they are, or four blocks through mmseg's neck; "
             "auto: scales, or stages where there are some");
    s.custom({"head.taps", "upernet: the four blocks, counted from 0; auto: by depth",
              [&c] {
                  return c.taps.empty() ? std::string("auto")
                                        : fmt::format("{}", fmt::join(c.taps, ","));
              },
              [&c](const std::string& text) { c.taps = parse_taps(text); }, Settings::Kind::text,
              "auto, or four blocks"});
    s.integer(
        "head.auxiliary", c.auxiliary, -1,
        "upernet: level, counted from 0, that a second head learns from in training; -1: none",
        std::int64_t(kLevels) - 1);
    s.integer("head.auxiliary_width", c.auxiliary_width, 1,
              "upernet: channels of that head's convolution");
    s.number("head.dropout", c.dropout, 0, 0.99,
             "upernet, linear_map: rate at which training drops channels before the last map");
    s.read_if(
        {"head.taps"}, [&c] { return c.pyramid != Pyramid::stages; },
        "a head.pyramid other than stages");
    s.read_if(
        {"head.auxiliary_width"}, [&c] { return c.auxiliary >= 0; }, "head.auxiliary from 0");
}

void settle_pyramid(DenseConfig& c, MapsOf maps) {
    const bool staged = maps == MapsOf::stages;
    if (c.pyramid == Pyramid::automatic) c.pyramid = staged ? Pyramid::stages : Pyramid::scales;
    if (staged != (c.pyramid == Pyramid::stages))
        throw UsageError(staged ? "head.pyramid: expected stages, as this network has some"
                                : "head.pyramid: expected scales, taps or mln, as this network has "
                                  "one scale; found stages");
}

// XCiT taps 3, 5, 7, 11 of 12 blocks and 7, 11, 15, 23 of 24; mmseg 2, 5, 8, 11 of 12. Other depths
// follow by the same shares.
std::vector<std::int64_t> tapped_blocks(const DenseConfig& c, MapsOf maps, std::int64_t depth) {
    std::vector<std::int64_t> blocks = c.taps;
    if (blocks.empty() && maps == MapsOf::last_block) blocks.assign(kLevels, depth - 1);
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

void leave_out_dense_head(Builder& b) {
    for (const char* part : {"decode_head", "auxiliary_head", "neck", "fpn1", "fpn2"})
        b.leave_out(part);
}

}  // namespace cait
