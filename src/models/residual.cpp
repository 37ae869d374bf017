#include "models/residual.h"

#include <fmt/format.h>

#include <cmath>

#include "cait/error.h"

namespace cait {

namespace {

ResidualStart parse_start(const std::string& text) {
    constexpr std::string_view kUniform = "uniform:";
    if (text == "auto") return {};
    if (text == "zero") return {false, 0.0};
    if (text == "uniform") return {true, std::nullopt};
    try {
        if (text.starts_with(kUniform)) return {true, parse_number(text.substr(kUniform.size()))};
        return {false, parse_number(text)};
    } catch (const UsageError&) {
        throw UsageError(fmt::format(
            "expected auto, zero, a number, uniform or uniform:NUMBER; found '{}'", text));
    }
}

double epsilon_by_depth(std::int64_t depth) {
    if (depth <= 18) return 0.1;
    return depth <= 24 ? 1e-5 : 1e-6;
}

bool is_fixup(ResidualKind kind) {
    return kind == ResidualKind::fixup || kind == ResidualKind::tfixup;
}

double start_of(const ResidualConfig& config, std::int64_t depth) {
    // Fixup's scalars start at one: there the linear maps do the damping.
    const double by_rule = is_fixup(config.kind) ? 1.0 : epsilon_by_depth(depth);
    return config.start.epsilon.value_or(by_rule);
}

}  // namespace

void bind_residual(Settings& s, ResidualConfig& c, const std::int64_t& depth) {
    s.choice("residual", c.kind,
             {{"layerscale", ResidualKind::layerscale},
              {"none", ResidualKind::none},
              {"scalar", ResidualKind::scalar},
              {"fixup", ResidualKind::fixup},
              {"tfixup", ResidualKind::tfixup}},
             "what multiplies a residual branch");
    s.custom({"residual_init",
              "start of the branch weights: auto (by depth), zero, a number, uniform[:NUMBER]",
              // A file holds the value: another program may have another rule.
              [&c, &depth] {
                  return fmt::format("{}{}", c.start.uniform ? "uniform:" : "", start_of(c, depth));
              },
              [&c](const std::string& text) { c.start = parse_start(text); }});
    s.flag("residual_learnable", c.learnable, "whether the branch weights are trained");
    s.read_if(
        {"residual_init", "residual_learnable"}, [&c] { return c.kind != ResidualKind::none; },
        "a model.residual other than none");
}

BranchWeight branch_weight_of(const ResidualConfig& config, std::int64_t depth) {
    using Kind = BranchWeight::Kind;
    if (config.kind == ResidualKind::none) return {};
    const Kind kind = config.kind == ResidualKind::layerscale ? Kind::channel : Kind::scalar;
    const double epsilon = start_of(config, depth);
    return {kind, config.start.uniform ? Init::uniform(0, 2 * epsilon) : Init::constant(epsilon),
            config.learnable};
}

BlockInit block_init_of(const ResidualConfig& config, std::int64_t dim, double mlp_ratio,
                        std::int64_t blocks) {
    BlockInit init;
    const auto hidden = std::int64_t(double(dim) * mlp_ratio);
    if (config.kind == ResidualKind::fixup) {
        // Zhang et al. 2019: with L branches of m = 2 layers each, the first layer is scaled by
        // L^(-1/(2m-2)) and the last starts at zero. The scalar biases of the original are left
        // out: the pre-normalisation and the linear maps that are kept here have biases.
        const double damping = std::pow(2.0 * double(blocks), -0.5);
        init.value = init.fc1 = Init::trunc_normal(0.02 * damping);
        init.proj = init.fc2 = Init::zeros();
    }
    if (config.kind == ResidualKind::tfixup) {
        // Huang et al. 2020, encoder rule: Xavier everywhere, values, projections and MLP times
        // 0.67 N^(-1/4) for N blocks.
        const double damping = 0.67 * std::pow(double(blocks), -0.25);
        init.query_key = Init::xavier(dim, dim);
        init.value = init.proj = Init::xavier(dim, dim, damping);
        init.fc1 = init.fc2 = Init::xavier(dim, hidden, damping);
    }
    return init;
}

Init head_init_of(const ResidualConfig& config) {
    return config.kind == ResidualKind::fixup ? Init::zeros() : Init::trunc_normal(0.02);
}

}  // namespace cait
