#include "models/projection_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace cait {

namespace {

// PyTorch's default for linear layers, which the published heads start from.
LinearOptions plain_linear(std::int64_t inputs) {
    return {.weight_init = Init::fan_in(inputs), .bias_init = Init::fan_in(inputs)};
}

// "Bootstrap your own latent", Grill et al. 2020 (arXiv 2006.07733): projector and predictor are
// such MLPs.
Value norm_mlp(Builder& b, std::string_view name, Value x, std::int64_t hidden, std::int64_t out) {
    const auto named = b.scope(name);
    return b.linear("3", hidden_layer(b, x, hidden), out, plain_linear(hidden));
}

// "Emerging properties in self-supervised vision transformers", Caron et al. 2021 (arXiv
// 2104.14294).
Value dino_head(Builder& b, Value x, const HeadConfig& c) {
    const auto named = b.scope("projector");
    int next = 0;  // in the official code's Sequential
    const auto layer = [&](Value y, std::int64_t width) {
        return b.linear(fmt::format("mlp.{}", next++), y, width);
    };
    for (int i = 0; i < 2; ++i) {
        x = layer(x, c.hidden);
        if (c.batch_norm) x = b.batch_norm(fmt::format("mlp.{}", next++), x);
        x = b.gelu(x);
        ++next;
    }
    x = unit_rows(b, layer(x, c.bottleneck));
    return weight_normed_linear(b, "last_layer", x, c.outputs, !c.norm_last_layer);
}

Value projector(Builder& b, Value features, const HeadConfig& c) {
    switch (c.kind) {
        case HeadKind::none:
        case HeadKind::upernet:
        case HeadKind::linear_map:
        case HeadKind::mask_rcnn: b.leave_out("projector"); return features;
        case HeadKind::linear:
            return b.linear("projector", features, c.outputs, plain_linear(features.extent(-1)));
        case HeadKind::mlp: return norm_mlp(b, "projector", features, c.hidden, c.outputs);
        case HeadKind::dino: return dino_head(b, features, c);
    }
    return features;
}

}  // namespace

namespace {

void bind_kind(Settings& s, HeadConfig& c) {
    s.choice(
        "head.kind", c.kind,
        {{"none", HeadKind::none},
         {"linear", HeadKind::linear},
         {"mlp", HeadKind::mlp},
         {"dino", HeadKind::dino},
         {"upernet", HeadKind::upernet},
         {"linear_map", HeadKind::linear_map},
         {"mask_rcnn", HeadKind::mask_rcnn}},
        "what stands on top of the trunk. A projector: one linear map; two with batch norm and "
        "ReLU between; DINO's, whose last layer is weight-normed. Or a class for every pixel: "
        "UPerNet, or one linear map of the last feature map. Or objects: Mask R-CNN");
}

void bind_projector(Settings& s, HeadConfig& c) {
    s.integer("head.hidden", c.hidden, 1, "mlp, dino: width of the layers between");
    s.integer("head.outputs", c.outputs, 1, "width of what the projector gives");
    s.integer("head.predictor", c.predictor, 0,
              "width of the hidden layer of a predictor on top of the projector; 0: none");
    s.integer("head.bottleneck", c.bottleneck, 1, "dino: width before the last layer");
    s.flag("head.batch_norm", c.batch_norm,
           "dino: batch norm after the layers between, over the views of one size");
    s.flag("head.norm_last_layer", c.norm_last_layer, "dino: the last layer's gains stay at 1");
}

void bind_classifier(Settings& s, HeadConfig& c) {
    s.integer(
        "head.classifier", c.classifier, 0,
        "width of a hidden layer of the classifier, with batch norm and ReLU; 0: it is linear");
}

// A key that heads of two kinds have is one: setting it sets both, whose defaults may differ, and
// it says what that of the head in use has.
Settings::Key joined(Settings::Key first, const Settings& others, const HeadConfig& c) {
    const auto second = std::ranges::find(others.keys(), first.name, &Settings::Key::name);
    if (second == others.keys().end()) return first;
    first.help += "; " + second->help;
    first.get = [&c, first = first.get, second = second->get] {
        return c.is_detector() ? second() : first();
    };
    first.set = [first = first.set, second = second->set](const std::string& text) {
        first(text);
        second(text);
    };
    return first;
}

}  // namespace

void bind(Settings& s, HeadConfig& c) {
    Settings projector, dense, detection;
    bind_projector(projector, c);
    bind(dense, c.dense);
    bind(detection, c.detection);
    bind_kind(s, c);
    for (const Settings::Key& key : projector.keys()) s.custom(joined(key, detection, c));
    bind_classifier(s, c);
    for (const Settings::Key& key : dense.keys()) s.custom(joined(key, detection, c));
    for (const Settings::Key& key : detection.keys())
        if (std::ranges::count(s.keys(), key.name, &Settings::Key::name) == 0) s.custom(key);
    s.read_if(
        {"head.classes"}, [&c] { return c.has_own_classes(); },
        "head.kind upernet, linear_map or mask_rcnn");
    s.read_if(
        {"head.dropout"}, [&c] { return c.is_dense(); }, "head.kind upernet or linear_map");
    s.read_if(
        {"head.width", "head.pyramid", "head.taps"},
        [&c] { return c.kind == HeadKind::upernet || c.is_detector(); },
        "head.kind upernet or mask_rcnn");
    s.read_if(
        {"head.taps"},
        [&c] {
            const Pyramid pyramid = c.is_detector() ? c.detection.pyramid : c.dense.pyramid;
            return pyramid != Pyramid::stages;
        },
        "a head.pyramid other than stages");
    s.read_if(
        {"head.auxiliary", "head.auxiliary_width"}, [&c] { return c.kind == HeadKind::upernet; },
        "head.kind=upernet");
    s.read_if(
        {"head.masks", "head.convention"}, [&c] { return c.is_detector(); }, "head.kind=mask_rcnn");
}

bool HeadConfig::operator==(const HeadConfig& other) const {
    HeadConfig own = *this, others = other;
    Settings keys, other_keys;
    bind(keys, own);
    bind(other_keys, others);
    return keys.values() == other_keys.values();
}

void bind_own_keys(Settings& s, HeadConfig& c) {
    bind_kind(s, c);
    if (c.is_dense())
        bind(s, c.dense);
    else if (c.is_detector())
        bind(s, c.detection);
    else
        bind_projector(s, c);
    bind_classifier(s, c);
}

Value hidden_layer(Builder& b, Value x, std::int64_t width, Location where) {
    const Value y = b.linear("0", x, width, plain_linear(x.extent(-1)), where);
    return b.activation(b.batch_norm("1", y, Init::ones(), {}, where), op::Activation::Kind::relu,
                        where);
}

Value unit_rows(Builder& b, Value x, Location where) {
    // The square of PyTorch's 1e-12, which a length is never below.
    constexpr double kLeastSquare = 1e-24;
    const Value squares =
        b.reduce(b.mul(x, x, where), op::Reduce::Kind::sum, {-1}, /*keep=*/true, where);
    return b.mul(
        x,
        b.activation(b.scale(squares, 1, kLeastSquare, where), op::Activation::Kind::rsqrt, where),
        where);
}

Value weight_normed_linear(Builder& b, std::string_view name, Value x, std::int64_t out,
                           bool train_gains, Location where) {
    const auto named = b.scope(name);
    const std::int64_t in = x.extent(-1);
    const ParamRole role{.kind = ParamRole::Kind::prototypes};
    const Value gains = b.param("weight_g", {out, 1}, Init::ones(), role, train_gains, where);
    const Value directions = b.param("weight_v", {out, in}, Init::fan_in(in), role, true, where);
    const Value weight = b.mul(unit_rows(b, directions, where), gains, where);
    return b.linear(x, Affine{weight, {}}, where);
}

void record_heads(Builder& b, const HeadConfig& c) {
    if (!c.any()) {
        b.leave_out("projector");
        b.leave_out("predictor");
        return;
    }
    const Value projected = projector(b, b.demanded("features"), c);
    b.output("projection",
             [&] { return c.kind == HeadKind::dino ? projected : unit_rows(b, projected); });
    if (c.predictor == 0) return b.leave_out("predictor");
    // The predictor sees the projection as BYOL's does, before its length is taken away.
    const Value predicted = norm_mlp(b, "predictor", projected, c.predictor, projected.extent(-1));
    b.output("prediction", predicted);
}

}  // namespace cait
