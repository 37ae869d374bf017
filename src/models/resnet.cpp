// ResNet: "Deep Residual Learning for Image Recognition", He et al. 2015 (arXiv 1512.03385), with
// the stride on the 3x3 convolution as in torchvision and timm; ResNeXt: Xie et al. 2016 (arXiv
// 1611.05431); the -D stem and shortcut: "Bag of Tricks", He et al. 2018 (arXiv 1812.01187). Its
// average pooling can give way to the attention pooling of PatchConvNet (Touvron et al. 2021, arXiv
// 2112.13692), and its stem to one for small images.
#include <fmt/format.h>

#include "models/catalogue.h"
#include "models/class_block.h"
#include "models/convnet.h"
#include "models/parts.h"
#include "models/stages.h"

namespace cait {

namespace {

enum class ResNetPool { average, attention };

struct ResnetConfig : CommonConfig {
    std::int64_t width = 64;
    PerStage blocks = {2, 2, 2, 2};
    bool bottleneck = false;
    std::int64_t groups = 1;
    std::int64_t group_width = 64;
    std::int64_t stem_kernel = 7;
    std::int64_t stem_stride = 2;
    bool stem_pool = true;
    bool deep_stem = false;
    bool average_shortcut = false;
    ResNetPool pool = ResNetPool::average;
    double norm_epsilon = 1e-5;

    // Channels of a stage's 3x3 convolutions; a group has group_width / 64 of the stage's width.
    std::int64_t inner(std::size_t stage) const {
        return (width << stage) * group_width / 64 * groups;
    }
};

// One of two numbers.
void bind_either(Settings& s, std::string name, std::int64_t& field, std::int64_t small,
                 std::int64_t large, std::string help) {
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    s.custom({std::move(name), std::move(help), [&field, text] { return text(field); },
              [&field, small, large](const std::string& given) {
                  const std::int64_t value = parse_integer(given);
                  if (value != small && value != large)
                      throw UsageError(
                          fmt::format("expected {} or {}, found {}", small, large, value));
                  field = value;
              },
              Settings::Kind::integer, fmt::format("{} or {}", small, large)});
}

void bind(Settings& s, ResnetConfig& c) {
    bind_common(s, c);
    s.integer("width", c.width, 1,
              "channels of the stem and, but for groups, of the first stage's 3x3 convolutions");
    bind_stages(s, "blocks", c.blocks, "number of blocks in each of the four stages");
    s.flag("bottleneck", c.bottleneck,
           "blocks of 1x1, 3x3 and 1x1 convolutions instead of two 3x3");
    s.integer("groups", c.groups, 1, "groups of a bottleneck's 3x3 convolution (ResNeXt)", 4096);
    s.integer("group_width", c.group_width, 1,
              "channels of such a group in the first stage, for a width of 64", 4096);
    bind_either(s, "stem_kernel", c.stem_kernel, 3, 7, "side of the first convolution");
    bind_either(s, "stem_stride", c.stem_stride, 1, 2, "its stride; 1 for small images");
    s.flag("stem_pool", c.stem_pool, "whether a max-pool of stride 2 follows the stem");
    s.flag("deep_stem", c.deep_stem,
           "three 3x3 convolutions in place of the first one, the first two of half the width");
    s.flag("average_shortcut", c.average_shortcut,
           "shortcuts of another size average 2x2 pixels before their 1x1 convolution");
    s.choice("pool", c.pool,
             {{"average", ResNetPool::average}, {"attention", ResNetPool::attention}},
             "how the last feature map becomes one vector");
    s.number("norm_epsilon", c.norm_epsilon, 0, 1,
             "what batch norms add to variances; 0 in torchvision's published detector");
}

// Convolutions with padding take any image.
void check(const ResnetConfig& c) {
    if (!c.bottleneck && (c.groups != 1 || c.group_width != 64))
        throw_rule(
            "groups are those of bottlenecks: set model.bottleneck=true, or model.groups=1 "
            "and model.group_width=64");
    if (c.width * c.group_width < 64)
        throw_rule("a group needs at least one channel: width {} with group_width {}", c.width,
                   c.group_width);
    if (c.deep_stem && c.stem_kernel != 3)
        throw_rule("a deep stem is made of 3x3 convolutions: stem_kernel {}", c.stem_kernel);
    if (c.deep_stem && c.width < 2)
        throw_rule("a deep stem has convolutions of half the width: width {}", c.width);
}

struct BlockShape {
    std::int64_t width = 64;  // of a basic block's 3x3 convolutions
    std::int64_t inner = 64;  // of a bottleneck's
    std::int64_t groups = 1;
    std::int64_t stride = 1;
    bool bottleneck = false;
    bool average_shortcut = false;
    double drop_path = 0;
    double epsilon = 1e-5;
    std::int64_t out() const { return bottleneck ? 4 * width : width; }
};

// x in the shape of the block's result.
Value shortcut(Builder& b, Value x, const BlockShape& s) {
    if (!s.average_shortcut)
        return conv_norm(b, "downsample.0", "downsample.1", x, s.out(),
                         {.stride = s.stride, .epsilon = s.epsilon});
    if (s.stride != 1)
        x = b.pool2d(
            x, {.kind = op::Pool2d::Kind::average, .kernel = 2, .stride = s.stride, .ceil = true});
    return conv_norm(b, "downsample.1", "downsample.2", x, s.out(), {.epsilon = s.epsilon});
}

// [B, C, H, W] → [B, out, H/stride, W/stride]
Value residual_block(Builder& b, Value x, const BlockShape& s) {
    Value y;
    const auto norm = [&](int index, Value from, std::int64_t out, ConvNormOptions options) {
        options.epsilon = s.epsilon;
        return conv_norm(b, fmt::format("conv{}", index), fmt::format("bn{}", index), from, out,
                         options);
    };
    if (s.bottleneck) {
        y = relu(b, norm(1, x, s.inner, {}));
        y = relu(b, norm(2, y, s.inner, {.kernel = 3, .stride = s.stride, .groups = s.groups}));
        y = norm(3, y, s.out(), {.starts_at_zero = true});
    } else {
        y = relu(b, norm(1, x, s.width, {.kernel = 3, .stride = s.stride}));
        y = norm(2, y, s.out(), {.kernel = 3, .starts_at_zero = true});
    }
    if (s.stride != 1 || x.extent(1) != s.out()) x = shortcut(b, x, s);
    return relu(b, b.residual(x, y, {}, s.drop_path));
}

// image [B, C, H, W] → [B, width, h, w], a quarter of the size unless the stem is for small images
Value stem(Builder& b, Value x, const ResnetConfig& c) {
    const auto norm = [&](const char* conv, const char* bn, std::int64_t out, std::int64_t kernel,
                          std::int64_t stride) {
        x = relu(b, conv_norm(b, conv, bn, x, out,
                              {.kernel = kernel, .stride = stride, .epsilon = c.norm_epsilon}));
    };
    if (c.deep_stem) {
        norm("conv1.0", "conv1.1", c.width / 2, 3, c.stem_stride);
        norm("conv1.3", "conv1.4", c.width / 2, 3, 1);
        norm("conv1.6", "bn1", c.width, 3, 1);
    } else {
        norm("conv1", "bn1", c.width, c.stem_kernel, c.stem_stride);
    }
    if (!c.stem_pool) return x;
    return b.pool2d(x, {.kind = op::Pool2d::Kind::max, .kernel = 3, .stride = 2, .padding = 1});
}

// A class token asks the positions of the feature map, as in PatchConvNet: [B, N, C] → [B, C].
Value attention_pool(Builder& b, Value patches) {
    const std::int64_t dim = patches.extent(-1);
    const Value cls = class_token(b, dim, 0.02);
    const Value pooled = class_block(
        b, 0, cls, patches,
        {.heads = 1,
         .mlp_ratio = 3,
         .weight = {.kind = BranchWeight::Kind::channel, .init = Init::constant(1e-6)}});
    return b.layer_norm("norm", token_vector(b, pooled, 0), kNormEpsilon);
}

void record(Builder& b, const ResnetConfig& c) {
    Value x = stem(b, b.image(c.channels, c.image_size), c);
    std::int64_t index = 0;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        const Builder::Scope layer = b.scope(fmt::format("layer{}", stage + 1));
        for (std::int64_t i = 0; i < c.blocks[stage]; ++i, ++index) {
            const Builder::Scope block = b.block_scope(std::to_string(i));
            x = residual_block(b, x,
                               {.width = c.width << stage,
                                .inner = c.inner(stage),
                                .groups = c.groups,
                                .stride = stage > 0 && i == 0 ? 2 : 1,
                                .bottleneck = c.bottleneck,
                                .average_shortcut = c.average_shortcut,
                                .drop_path = block_drop_path(c, index, total(c.blocks)),
                                .epsilon = c.norm_epsilon});
        }
        b.output(fmt::format("map.{}", stage), x);
    }

    const bool averaged = c.pool == ResNetPool::average;
    const Value features = averaged ? average_pool(b, x) : attention_pool(b, map_tokens(b, x));
    const Init init = Init::fan_in(features.extent(-1));  // PyTorch's default for linear maps
    output_map_logits(b, "fc", x, features, averaged, c, {.weight_init = init, .bias_init = init});
}

// Mask R-CNN on ResNet-50: with mmdetection's rules as table 5.6 of Touvron's thesis compares with,
// and as torchvision publishes it (maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth: boxes 37.9, masks
// 34.6), whose 90 classes are COCO's numbers 1 to 90, ten of which stand for nothing.
void add_detectors(Family& family) {
    ResnetConfig c;
    c.bottleneck = true;
    c.blocks = {3, 4, 6, 3};
    c.image_size = {800, 1344};
    Reported reported;
    reported.box_ap = 41.0, reported.box_ap50 = 61.7, reported.box_ap75 = 44.9;
    reported.mask_ap = 37.1, reported.mask_ap50 = 58.4, reported.mask_ap75 = 40.1;
    family.presets.push_back(mask_rcnn_preset("resnet50_mask_rcnn", c, reported));

    c.norm_epsilon = 0;
    Reported published;
    published.box_ap = 37.9, published.mask_ap = 34.6;
    Preset theirs = mask_rcnn_preset("maskrcnn_resnet50_fpn", c, published);
    theirs.head.detection.classes = 90;
    theirs.head.detection.convention = RegionConvention::torchvision;
    family.presets.push_back(std::move(theirs));
}

}  // namespace

Family resnet_family() {
    struct Model {
        const char* name;
        bool bottleneck;
        PerStage blocks;
        std::optional<double> top1;
        double crop_ratio;
        std::int64_t groups = 1, group_width = 64;
        bool d = false;  // deep stem and averaged shortcuts
    };
    // From 50 layers on the accuracies are those of "ResNet strikes back" (Wightman et al. 2021),
    // whose test crop is 0.95; the first one is the original recipe's. The thesis (table 2.15)
    // takes ResNeXt-50 32x4 and, with the -D stem, 32x4 and 32x8; it reports no top-1 on ImageNet.
    const Model models[] = {
        {"resnet18", false, {2, 2, 2, 2}, 69.8, 0.875},
        {"resnet34", false, {3, 4, 6, 3}, {}, 0.875},
        {"resnet50", true, {3, 4, 6, 3}, 80.4, 0.95},
        {"resnet101", true, {3, 4, 23, 3}, 81.5, 0.95},
        {"resnet152", true, {3, 8, 36, 3}, 82.0, 0.95},
        {"resnet50d", true, {3, 4, 6, 3}, {}, 0.875, 1, 64, true},
        {"resnext50_32x4d", true, {3, 4, 6, 3}, {}, 0.875, 32, 4},
        {"resnext50d_32x4d", true, {3, 4, 6, 3}, {}, 0.875, 32, 4, true},
        {"resnext50d_32x8d", true, {3, 4, 6, 3}, {}, 0.875, 32, 8, true},
    };
    Family family{"resnet",
                  "residual convnet, plain or grouped; average or attention pooling",
                  "He et al. 2015, arXiv 1512.03385",
                  {},
                  "torchvision",
                  MapsOf::stages};
    for (const Model& m : models) {
        ResnetConfig c;
        c.bottleneck = m.bottleneck;
        c.blocks = m.blocks;
        c.groups = m.groups;
        c.group_width = m.group_width;
        c.deep_stem = c.average_shortcut = m.d;
        if (m.d) c.stem_kernel = 3;
        family.presets.push_back(preset(m.name, c, {m.top1, {}}, m.crop_ratio));
    }
    add_detectors(family);
    return family;
}

}  // namespace cait
