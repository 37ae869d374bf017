#include "models/projection_head.h"

#include <fmt/format.h>

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
        case HeadKind::linear_map: b.leave_out("projector"); return features;
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
         {"linear_map", HeadKind::linear_map}},
        "what stands on top of the trunk. A projector: one linear map; two with batch norm and "
        "ReLU between; DINO's, whose last layer is weight-normed. Or a class for every pixel: "
        "UPerNet, or one linear map of the last feature map");
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

}  // namespace

void bind(Settings& s, HeadConfig& c) {
    bind_kind(s, c);
    bind_projector(s, c);
    bind_classifier(s, c);
    bind(s, c.dense);
    s.read_if(
        {"head.classes", "head.dropout"}, [&c] { return c.is_dense(); },
        "head.kind upernet or linear_map");
    s.read_if(
        {"head.width", "head.pyramid", "head.taps", "head.auxiliary", "head.auxiliary_width"},
        [&c] { return c.kind == HeadKind::upernet; }, "head.kind=upernet");
}

void bind_own_keys(Settings& s, HeadConfig& c) {
    bind_kind(s, c);
    if (c.is_dense())
        bind(s, c.dense);
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
