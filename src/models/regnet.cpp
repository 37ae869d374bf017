// RegNetY: "Designing Network Design Spaces", Radosavovic et al. 2020 (arXiv 2003.13678). Grouped
// bottlenecks with squeeze-excite: the teachers of DeiT and CaiT, and a trunk of Grafit.
#include <fmt/format.h>

#include <cmath>

#include "models/catalogue.h"
#include "models/convnet.h"
#include "models/stages.h"

namespace cait {

namespace {

struct RegnetConfig : CommonConfig {
    std::int64_t stem = 32;
    PerStage widths = {224, 448, 1232, 3024};
    PerStage depths = {2, 4, 11, 1};
    std::int64_t group = 112;
    double se_ratio = 0.25;
};

// Of a block whose input has this many channels. Half rounds to even, as in the reference code.
std::int64_t squeeze_width(const RegnetConfig& c, std::int64_t in) {
    return std::int64_t(std::nearbyint(c.se_ratio * double(in)));
}

void bind(Settings& s, RegnetConfig& c) {
    bind_common(s, c);
    s.integer("stem", c.stem, 1, "channels of the stem");
    bind_stages(s, "widths", c.widths, "channels of each of the four stages");
    bind_stages(s, "depths", c.depths, "number of blocks in each of the four stages");
    s.integer("group", c.group, 1, "channels per group of the 3x3 convolutions");
    s.number("se_ratio", c.se_ratio, 0, 1,
             "squeeze-excite width as a part of the block's input channels; 0: none (RegNetX)");
}

void check(const RegnetConfig& c) {
    for (const std::int64_t width : c.widths)
        if (width % c.group != 0)
            throw_rule("the group must divide the width of every stage: width {} with group {}",
                       width, c.group);
    if (c.se_ratio == 0) return;
    for (const std::int64_t in : {c.stem, c.widths[0], c.widths[1], c.widths[2], c.widths[3]})
        if (squeeze_width(c, in) < 1)
            throw_rule("squeeze-excite needs at least one channel: {} of {} input channels",
                       c.se_ratio, in);
}

Value squeeze_excite(Builder& b, Value x, std::int64_t squeezed) {
    const Builder::Scope scope = b.scope("se");
    const std::int64_t dim = x.extent(1);
    const auto conv = [&](std::string_view name, std::int64_t in, std::int64_t out) {
        return b.conv_params(name, in, out,
                             {.weight_init = he_fan_out(out, 1), .bias_init = Init::zeros()});
    };
    const Affine reduce = conv("fc1", dim, squeezed);
    const Affine expand = conv("fc2", squeezed, dim);
    return b.squeeze_excite(x, reduce, expand);
}

// [B, C, H, W] → [B, width, H/stride, W/stride]; no block narrows its 3x3 convolution
Value bottleneck(Builder& b, Value x, const RegnetConfig& c, std::int64_t width,
                 std::int64_t stride, double drop_path) {
    Value y = relu(b, conv_norm(b, "conv1.conv", "conv1.bn", x, width, {}));
    y = relu(b, conv_norm(b, "conv2.conv", "conv2.bn", y, width,
                          {.kernel = 3, .stride = stride, .groups = width / c.group}));
    if (c.se_ratio > 0) y = squeeze_excite(b, y, squeeze_width(c, x.extent(1)));
    y = conv_norm(b, "conv3.conv", "conv3.bn", y, width, {.starts_at_zero = true});
    if (stride != 1 || x.extent(1) != width)
        x = conv_norm(b, "downsample.conv", "downsample.bn", x, width, {.stride = stride});
    return relu(b, b.residual(x, y, {}, drop_path));
}

void record(Builder& b, const RegnetConfig& c) {
    const Value image = b.image(c.channels, c.image_size);
    Value x =
        relu(b, conv_norm(b, "stem.conv", "stem.bn", image, c.stem, {.kernel = 3, .stride = 2}));
    std::int64_t index = 0;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        for (std::int64_t i = 0; i < c.depths[stage]; ++i, ++index) {
            const Builder::Scope block = b.block_scope(fmt::format("s{}.b{}", stage + 1, i + 1));
            x = bottleneck(b, x, c, c.widths[stage], i == 0 ? 2 : 1,
                           block_drop_path(c, index, total(c.depths)));
        }
        b.output(fmt::format("map.{}", stage), x);
    }

    output_map_logits(b, "head.fc", x, average_pool(b, x), true, c,
                      {.weight_init = Init::normal(0.01)});
}

// torchvision's names. It counts blocks from 0 and ours from 1, so every block has its own rules.
std::vector<Rename> renames(const RegnetConfig& c) {
    constexpr std::pair<const char*, const char*> kParts[] = {
        {"conv1.conv", "f.a.0"},    {"conv1.bn", "f.a.1"},  {"conv2.conv", "f.b.0"},
        {"conv2.bn", "f.b.1"},      {"se.fc1", "f.se.fc1"}, {"se.fc2", "f.se.fc2"},
        {"conv3.conv", "f.c.0"},    {"conv3.bn", "f.c.1"},  {"downsample.conv", "proj.0"},
        {"downsample.bn", "proj.1"}};
    std::vector<Rename> rules{
        {"stem.conv.**", "stem.0.**"}, {"stem.bn.**", "stem.1.**"}, {"head.fc.**", "fc.**"}};
    for (std::size_t stage = 1; stage <= kStages; ++stage)
        for (std::int64_t i = 0; i < c.depths[stage - 1]; ++i)
            for (const auto& [ours, theirs] : kParts)
                rules.push_back(
                    {fmt::format("s{}.b{}.{}.**", stage, i + 1, ours),
                     fmt::format("trunk_output.block{0}.block{0}-{1}.{2}.**", stage, i, theirs)});
    return rules;
}

}  // namespace

Family regnet_family() {
    struct Model {
        const char* name;
        PerStage widths, depths;
        std::int64_t group;
        std::optional<double> top1;
    };
    // The accuracies are those of the teachers that were trained with DeiT's recipe. torchvision
    // rounds one width of the 8 GF model to another multiple of the group.
    const Model models[] = {
        {"regnety_040", {128, 192, 512, 1088}, {2, 6, 12, 2}, 64, 80.0},
        {"regnety_080", {168, 448, 896, 2016}, {2, 4, 10, 1}, 56, 81.7},
        {"regnety_080_tv", {224, 448, 896, 2016}, {2, 4, 10, 1}, 56, {}},
        {"regnety_120", {224, 448, 896, 2240}, {2, 5, 11, 1}, 112, 82.4},
        {"regnety_160", {224, 448, 1232, 3024}, {2, 4, 11, 1}, 112, 82.9},
    };
    Family family{"regnet",
                  "grouped convnet with squeeze-excite: the teachers of DeiT and CaiT",
                  "Radosavovic et al. 2020, arXiv 2003.13678",
                  {},
                  "torchvision",
                  MapsOf::stages};
    for (const Model& m : models) {
        RegnetConfig c;
        c.widths = m.widths;
        c.depths = m.depths;
        c.group = m.group;
        family.presets.push_back(preset(m.name, c, {m.top1, {}}, 0.875));
    }
    return family;
}

}  // namespace cait
