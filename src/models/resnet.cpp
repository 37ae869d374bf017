// ResNet: "Deep Residual Learning for Image Recognition", He et al. 2015 (arXiv 1512.03385), with
// the stride on the 3x3 convolution as in torchvision and timm. Its average pooling can give way to
// the attention pooling of PatchConvNet (Touvron et al. 2021, arXiv 2112.13692).
#include <fmt/format.h>

#include "models/catalogue.h"
#include "models/class_block.h"
#include "models/convnet.h"
#include "models/parts.h"
#include "models/stages.h"

namespace cait {

namespace {

enum class Pool { average, attention };

struct ResnetConfig : CommonConfig {
    std::int64_t width = 64;
    PerStage blocks = {2, 2, 2, 2};
    bool bottleneck = false;
    Pool pool = Pool::average;
};

void bind(Settings& s, ResnetConfig& c) {
    bind_common(s, c);
    s.integer("width", c.width, 1,
              "channels of the stem and of the first stage's 3x3 convolutions");
    bind_stages(s, "blocks", c.blocks, "number of blocks in each of the four stages");
    s.flag("bottleneck", c.bottleneck,
           "blocks of 1x1, 3x3 and 1x1 convolutions instead of two 3x3");
    s.choice("pool", c.pool, {{"average", Pool::average}, {"attention", Pool::attention}},
             "how the last feature map becomes one vector");
}

// Convolutions with padding take any image and any width.
void check(const ResnetConfig&) {}

struct BlockShape {
    std::int64_t width = 64;  // of the 3x3 convolutions
    std::int64_t stride = 1;
    bool bottleneck = false;
    double drop_path = 0;
    std::int64_t out() const { return bottleneck ? 4 * width : width; }
};

// [B, C, H, W] → [B, out, H/stride, W/stride]
Value residual_block(Builder& b, Value x, const BlockShape& s) {
    Value y;
    if (s.bottleneck) {
        y = relu(b, conv_norm(b, "conv1", "bn1", x, s.width, {}));
        y = relu(b, conv_norm(b, "conv2", "bn2", y, s.width, {.kernel = 3, .stride = s.stride}));
        y = conv_norm(b, "conv3", "bn3", y, s.out(), {.starts_at_zero = true});
    } else {
        y = relu(b, conv_norm(b, "conv1", "bn1", x, s.width, {.kernel = 3, .stride = s.stride}));
        y = conv_norm(b, "conv2", "bn2", y, s.out(), {.kernel = 3, .starts_at_zero = true});
    }
    if (s.stride != 1 || x.extent(1) != s.out())
        x = conv_norm(b, "downsample.0", "downsample.1", x, s.out(), {.stride = s.stride});
    return relu(b, b.residual(x, y, {}, s.drop_path));
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
    const Value image = b.image(c.channels, c.image_size);
    Value x = relu(b, conv_norm(b, "conv1", "bn1", image, c.width, {.kernel = 7, .stride = 2}));
    x = b.pool2d(x, {.kind = op::Pool2d::Kind::max, .kernel = 3, .stride = 2, .padding = 1});
    std::int64_t index = 0;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        const Builder::Scope layer = b.scope(fmt::format("layer{}", stage + 1));
        for (std::int64_t i = 0; i < c.blocks[stage]; ++i, ++index) {
            const Builder::Scope block = b.block_scope(std::to_string(i));
            x = residual_block(b, x,
                               {.width = c.width << stage,
                                .stride = stage > 0 && i == 0 ? 2 : 1,
                                .bottleneck = c.bottleneck,
                                .drop_path = block_drop_path(c, index, total(c.blocks))});
        }
    }

    const bool averaged = c.pool == Pool::average;
    const Value features = averaged ? average_pool(b, x) : attention_pool(b, map_tokens(b, x));
    const Init init = Init::fan_in(features.extent(-1));  // PyTorch's default for linear maps
    output_map_logits(b, "fc", x, features, averaged, c.classes,
                      {.weight_init = init, .bias_init = init});
}

}  // namespace

Family resnet_family() {
    struct Model {
        const char* name;
        bool bottleneck;
        PerStage blocks;
        std::optional<double> top1;
        double crop_ratio;
    };
    // From 50 layers on the accuracies are those of "ResNet strikes back" (Wightman et al. 2021),
    // whose test crop is 0.95; the first one is the original recipe's.
    const Model models[] = {
        {"resnet18", false, {2, 2, 2, 2}, 69.8, 0.875},
        {"resnet34", false, {3, 4, 6, 3}, {}, 0.875},
        {"resnet50", true, {3, 4, 6, 3}, 80.4, 0.95},
        {"resnet101", true, {3, 4, 23, 3}, 81.5, 0.95},
        {"resnet152", true, {3, 8, 36, 3}, 82.0, 0.95},
    };
    Family family{"resnet",
                  "residual convnet; average or attention pooling",
                  "He et al. 2015, arXiv 1512.03385",
                  {},
                  "torchvision"};
    for (const Model& m : models) {
        ResnetConfig c;
        c.bottleneck = m.bottleneck;
        c.blocks = m.blocks;
        family.presets.push_back(preset(m.name, c, {m.top1, {}}, m.crop_ratio));
    }
    return family;
}

}  // namespace cait
