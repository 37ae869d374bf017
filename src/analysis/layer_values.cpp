#include "analysis/layer_values.h"

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "models/catalogue.h"

namespace cait {

namespace {

std::map<std::string, Tensor> run(const Executor& executor, const ShownImages& shown,
                                  const std::vector<std::string>& taps) {
    return run_in_batches(executor, shown.images, taps, shown.batch,
                          [](std::size_t, std::size_t) {});
}

}  // namespace

std::vector<BranchRatio> residual_ratios(const Model& model, const Executor& executor,
                                         const ShownImages& shown) {
    const std::vector<RatioTap> taps = ratio_taps(model.spec());
    if (taps.empty())
        throw UsageError(
            fmt::format("{}: expected a model whose residual branches can be measured "
                        "(taps residual_ratio.N), found none",
                        model.spec().name));
    std::vector<std::string> names;
    for (const RatioTap& tap : taps) names.push_back(tap.tap);
    const std::map<std::string, Tensor> outputs = run(executor, shown, names);
    std::vector<BranchRatio> ratios;
    for (const RatioTap& tap : taps) {
        const std::span<const float> values = outputs.at(tap.tap).floats();
        double sum = 0, squares = 0;
        for (const float value : values) sum += double(value);
        const double mean = sum / double(values.size());
        for (const float value : values) squares += std::pow(double(value) - mean, 2);
        ratios.push_back({tap.branch, mean, std::sqrt(squares / double(values.size()))});
    }
    return ratios;
}

std::vector<BranchScale> layer_scales(const Model& model) {
    const std::vector<ScaleParam> params = scale_params(model.spec());
    if (params.empty())
        throw UsageError(fmt::format(
            "{}: expected a model whose residual branches have weights (LayerScale), found none",
            model.spec().name));
    std::vector<BranchScale> scales;
    for (const ScaleParam& param : params) {
        const Tensor values = convert(model.weights().at(param.name), DType::f32);
        BranchScale scale{param.branch, 0, INFINITY, 0};
        for (const float value : values.floats()) {
            const double size = std::fabs(double(value));
            scale.mean += size / double(values.count());
            scale.least = std::min(scale.least, size);
            scale.most = std::max(scale.most, size);
        }
        scales.push_back(scale);
    }
    return scales;
}

std::vector<double> token_cosines(const Model& model, const Executor& executor,
                                  const ShownImages& shown) {
    const std::set<std::string> offered = offered_taps(model.spec());
    std::vector<std::string> taps;
    for (std::string tap = "class_tokens.0"; offered.contains(tap);
         tap = fmt::format("class_tokens.{}", taps.size()))
        taps.push_back(tap);
    if (taps.empty())
        throw UsageError(
            fmt::format("{}: expected a model with a distillation token alongside the class token, "
                        "found one token",
                        model.spec().name));
    const std::map<std::string, Tensor> outputs = run(executor, shown, taps);
    std::vector<double> cosines;
    for (const std::string& tap : taps) {
        const Tensor& tokens = outputs.at(tap);  // [B, 2, D]
        const auto images = std::size_t(tokens.shape()[0]), dim = std::size_t(tokens.shape()[2]);
        double sum = 0;
        for (std::size_t i = 0; i < images; ++i) {
            const auto a = tokens.floats().subspan(2 * i * dim, dim);
            const auto b = tokens.floats().subspan((2 * i + 1) * dim, dim);
            double ab = 0, aa = 0, bb = 0;
            for (std::size_t k = 0; k < dim; ++k) {
                ab += double(a[k]) * double(b[k]);
                aa += double(a[k]) * double(a[k]);
                bb += double(b[k]) * double(b[k]);
            }
            sum += aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
        }
        cosines.push_back(sum / double(images));
    }
    return cosines;
}

}  // namespace cait
