#include "models/detection_head.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "models/convnet.h"

namespace cait {

namespace {

// Boxes have four numbers, be they edges or deltas.
constexpr std::int64_t kEdges = 4;

// Convolution that keeps the size, with a bias that starts at zero: parameters name.weight, .bias
Value biased_conv(Builder& b, const std::string& name, Value x, std::int64_t out,
                  std::int64_t kernel, const Init& init) {
    return b.conv2d(
        name, x, out,
        {.kernel = kernel, .padding = kernel / 2, .weight_init = init, .bias_init = Init::zeros()});
}

Init xavier_conv(std::int64_t in, std::int64_t out, std::int64_t kernel) {
    return Init::xavier(in * kernel * kernel, out * kernel * kernel);
}

// How many places of a level of this stride an extent of the image has, and whether a map that has
// `found` of them is as good: convolutions round up, pooling down.
bool covers(std::int64_t found, std::int64_t extent, std::int64_t stride) {
    return found == extent / stride || found == (extent + stride - 1) / stride;
}

// Regions and anchors count on strides of 4, 8, 16 and 32, and some trunks have others: patches of
// 14 pixels, or two stages of one size. Their levels are resized, which needs whole strides.
Value at_stride(Builder& b, Value x, ImageSize image, std::int64_t stride) {
    if (covers(x.extent(2), image.height, stride) && covers(x.extent(3), image.width, stride))
        return x;
    const std::int64_t coarsest = level_stride(kPooledLevels - 1);
    if (image.height % coarsest != 0 || image.width % coarsest != 0)
        throw UsageError(fmt::format(
            "head.kind=mask_rcnn: image_size: expected multiples of {} on a network whose maps do "
            "not have strides of 4 to {}, found {}",
            coarsest, coarsest, image_size_text(image)));
    return b.resize(x, {.height = image.height / stride, .width = image.width / stride});
}

// The feature pyramid: parameters neck.*. The fifth level is every second place of the fourth.
std::vector<Value> pyramid_maps(Builder& b, const std::vector<Value>& levels, std::int64_t width) {
    const Builder::Scope scope = b.scope("neck");
    std::vector<Value> maps;
    for (std::size_t i = 0; i < levels.size(); ++i)
        maps.push_back(biased_conv(b, fmt::format("lateral_convs.{}.conv", i), levels[i], width, 1,
                                   xavier_conv(levels[i].extent(1), width, 1)));
    for (std::size_t i = maps.size() - 1; i > 0; --i) {
        Value upper = maps[i];
        const Value lower = maps[i - 1];
        if (upper.extent(2) != lower.extent(2) || upper.extent(3) != lower.extent(3))
            upper = b.resize(upper, {.kind = op::Resize::Kind::nearest,
                                     .height = lower.extent(2),
                                     .width = lower.extent(3)});
        maps[i - 1] = b.add(lower, upper);
    }
    for (std::size_t i = 0; i < maps.size(); ++i)
        maps[i] = biased_conv(b, fmt::format("fpn_convs.{}.conv", i), maps[i], width, 3,
                              xavier_conv(width, width, 3));
    maps.push_back(b.pool2d(maps.back(), {.kernel = 1, .stride = 2}));
    return maps;
}

// One network for all levels: parameters rpn_head.*
void record_proposals(Builder& b, const std::vector<Value>& maps) {
    const Builder::Scope scope = b.scope("rpn_head");
    const std::int64_t width = maps.front().extent(1);
    const auto params = [&](const char* name, std::int64_t out, std::int64_t kernel) {
        return b.conv_params(
            name, width, out,
            {.kernel = kernel, .weight_init = Init::normal(0.01), .bias_init = Init::zeros()});
    };
    const Affine shared = params("rpn_conv", width, 3);
    const Affine objectness = params("rpn_cls", kAnchorRatios, 1);
    const Affine deltas = params("rpn_reg", kEdges * kAnchorRatios, 1);
    for (std::size_t i = 0; i < maps.size(); ++i) {
        const Value hidden = relu(b, b.conv2d(maps[i], shared, {.padding = 1}));
        b.output(fmt::format("objectness.{}", i), b.conv2d(hidden, objectness, {}));
        b.output(fmt::format("anchor_deltas.{}", i), b.conv2d(hidden, deltas, {}));
    }
}

// `per_class` rows for each class. The background, which of mmdetection's layers only the first
// has, comes first in torchvision's and last in mmdetection's.
ParamRole region_role(const DetectionConfig& c, std::int64_t per_class, bool has_background) {
    return {.kind = ParamRole::Kind::dense_head,
            .rows_per_class = per_class,
            .background_rows = has_background ? per_class : 0,
            .background_first = c.convention == RegionConvention::torchvision};
}

std::int64_t rows_of(const DetectionConfig& c, const ParamRole& role) {
    return c.classes * role.rows_per_class + role.background_rows;
}

// [R, C, 7, 7]: parameters bbox_head.*
void record_boxes(Builder& b, const DetectionConfig& c) {
    const Builder::Scope scope = b.scope("bbox_head");
    const bool all_have_background = c.convention == RegionConvention::torchvision;
    Value x = b.input(kBoxRegions, {Shape::kBatch, c.width, kBoxBins, kBoxBins});
    x = b.reshape(x, {Shape::kBatch, c.width * kBoxBins * kBoxBins});
    for (int i = 0; i < 2; ++i)
        x = relu(b, b.linear(fmt::format("shared_fcs.{}", i), x, c.hidden,
                             {.weight_init = Init::xavier(x.extent(1), c.hidden)}));
    const auto layer = [&](const char* name, std::int64_t per_class, bool has_background,
                           double std) {
        const ParamRole role = region_role(c, per_class, has_background);
        return b.linear(name, x, rows_of(c, role),
                        {.weight_init = Init::normal(std), .role = role});
    };
    b.output(kBoxLogits, layer("fc_cls", 1, true, 0.01));
    b.output(kBoxDeltas, layer("fc_reg", kEdges, all_have_background, 0.001));
}

// [R, C, 14, 14]: parameters mask_head.*
void record_masks(Builder& b, const DetectionConfig& c) {
    const Builder::Scope scope = b.scope("mask_head");
    constexpr int kConvolutions = 4;
    constexpr std::int64_t kTwice = 2;
    Value x = b.input(kMaskRegions, {Shape::kBatch, c.width, kMaskBins, kMaskBins});
    for (int i = 0; i < kConvolutions; ++i)
        x = relu(b, biased_conv(b, fmt::format("convs.{}.conv", i), x, c.width, 3,
                                he_fan_out(c.width, 3)));
    {
        const Builder::Scope named = b.scope("upsample");
        // PyTorch takes the first axis of such a weight, which is for the inputs, for the outputs.
        const Value weight =
            b.param("weight", {c.width, c.width, kTwice, kTwice}, he_fan_out(c.width, kTwice));
        x = relu(b, b.conv_transpose2d(x, {weight, b.param("bias", {c.width}, Init::zeros())}));
    }
    const Builder::Scope named = b.scope("conv_logits");
    const ParamRole role = region_role(c, 1, c.convention == RegionConvention::torchvision);
    const std::int64_t rows = rows_of(c, role);
    const Value weight = b.param("weight", {rows, c.width, 1, 1}, he_fan_out(rows, 1), role);
    const Value bias = b.param("bias", {rows}, Init::zeros(), role);
    b.output(kMaskLogits, b.conv2d(x, {weight, bias}, {}));
}

void append_taps(std::vector<std::string>& taps, const char* prefix, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) taps.push_back(fmt::format("{}.{}", prefix, i));
}

}  // namespace

void bind(Settings& s, DetectionConfig& c) {
    s.integer("head.classes", c.classes, 1, "mask_rcnn: without the background");
    s.integer("head.hidden", c.hidden, 1, "mask_rcnn: width of the box network's layers, 1024");
    s.integer("head.width", c.width, 1, "mask_rcnn: channels of the pyramid, 256");
    bind_levels(s, c.pyramid, c.taps, "mask_rcnn: scales or stages", "mask_rcnn: likewise");
    s.flag("head.masks", c.masks,
           "mask_rcnn: whether objects get masks; without, it is Faster R-CNN");
    s.choice("head.convention", c.convention,
             {{"mmdet", RegionConvention::mmdet}, {"torchvision", RegionConvention::torchvision}},
             "mask_rcnn: whose rules for anchors, pooling and the place of the background its "
             "weights were made for");
}

void check_detection(DetectionConfig& c, MapsOf maps) {
    settle_pyramid(c.pyramid, maps);
    if (c.pyramid != Pyramid::scales && c.pyramid != Pyramid::stages)
        throw UsageError(
            "head.pyramid: expected scales or stages for head.kind=mask_rcnn, whose levels have "
            "strides of 4 to 32; found taps or mln");
}

RegionRules region_rules(const DetectionConfig& c) {
    return c.convention == RegionConvention::torchvision ? torchvision_region_rules()
                                                         : RegionRules();
}

void record_detection(Builder& b, const DetectionConfig& c, std::span<const Value> maps,
                      MapsOf kind, ImageSize image) {
    const std::int64_t patch = image.height / maps.back().extent(2);
    std::vector<Value> levels = pyramid_levels(b, {c.pyramid, c.taps}, maps, kind, patch);
    for (std::size_t i = 0; i < levels.size(); ++i)
        levels[i] = at_stride(b, levels[i], image, level_stride(i));
    const std::vector<Value> pyramid = pyramid_maps(b, levels, c.width);
    for (std::size_t i = 0; i < pyramid.size(); ++i)
        b.output(fmt::format("pyramid.{}", i), pyramid[i]);
    record_proposals(b, pyramid);
    const Builder::Scope scope = b.scope("roi_head");
    record_boxes(b, c);
    if (c.masks)
        record_masks(b, c);
    else
        b.leave_out("mask_head");
}

void leave_out_detection_head(Builder& b) {
    for (const char* part : {"rpn_head", "roi_head"}) b.leave_out(part);
}

std::vector<std::string> proposal_taps() {
    std::vector<std::string> taps;
    append_taps(taps, "pyramid", kPooledLevels);
    append_taps(taps, "objectness", kPyramidLevels);
    append_taps(taps, "anchor_deltas", kPyramidLevels);
    return taps;
}

std::vector<std::string> box_taps() { return {kBoxLogits, kBoxDeltas}; }

std::vector<std::string> mask_taps(const DetectionConfig& c) {
    if (!c.masks) return {};
    return {kMaskLogits};
}

std::vector<std::string> detection_taps(const DetectionConfig& c) {
    std::vector<std::string> taps = proposal_taps();
    for (const std::vector<std::string>& more : {box_taps(), mask_taps(c)})
        taps.insert(taps.end(), more.begin(), more.end());
    return taps;
}

bool is_region_tap(std::string_view tap) {
    return tap == kBoxLogits || tap == kBoxDeltas || tap == kMaskLogits;
}

// The first rule that fits decides: newer names stand before older ones, which are shorter, and the
// trunk's last, as it fits everything.
std::vector<Rename> torchvision_detection_renames() {
    std::vector<Rename> rules = {
        {"neck.lateral_convs.*.conv.**", "backbone.fpn.inner_blocks.*.0.**"},
        {"neck.fpn_convs.*.conv.**", "backbone.fpn.layer_blocks.*.0.**"},
        {"neck.lateral_convs.*.conv.**", "backbone.fpn.inner_blocks.*.**"},
        {"neck.fpn_convs.*.conv.**", "backbone.fpn.layer_blocks.*.**"},
        {"rpn_head.rpn_conv.**", "rpn.head.conv.0.0.**"},
        {"rpn_head.rpn_conv.**", "rpn.head.conv.**"},
        {"rpn_head.rpn_cls.**", "rpn.head.cls_logits.**"},
        {"rpn_head.rpn_reg.**", "rpn.head.bbox_pred.**"},
        {"roi_head.bbox_head.shared_fcs.0.**", "roi_heads.box_head.fc6.**"},
        {"roi_head.bbox_head.shared_fcs.1.**", "roi_heads.box_head.fc7.**"},
        {"roi_head.bbox_head.fc_cls.**", "roi_heads.box_predictor.cls_score.**"},
        {"roi_head.bbox_head.fc_reg.**", "roi_heads.box_predictor.bbox_pred.**"},
        {"roi_head.mask_head.upsample.**", "roi_heads.mask_predictor.conv5_mask.**"},
        {"roi_head.mask_head.conv_logits.**", "roi_heads.mask_predictor.mask_fcn_logits.**"},
        {"roi_head.mask_head.convs.*.conv.**", "roi_heads.mask_head.*.0.**"}};
    for (int i = 0; i < 4; ++i)
        rules.push_back({fmt::format("roi_head.mask_head.convs.{}.conv.**", i),
                         fmt::format("roi_heads.mask_head.mask_fcn{}.**", i + 1)});
    rules.push_back({"**", "backbone.body.**"});
    return rules;
}

}  // namespace cait
