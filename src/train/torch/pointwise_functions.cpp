#include "train/torch/pointwise_functions.h"

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/parallel.h"

namespace cait {

namespace {

using kernels::best_kernels;
using kernels::Index;
using kernels::Part;
using kernels::Share;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

constexpr Index kGrain = 32768;  // elements for which another thread is worth waking

int workers_for(Index elements, Index items) {
    const Index useful = std::min<Index>({elements / kGrain, items, at::get_num_threads()});
    return int(std::max<Index>(1, useful));
}

class LayerNormFunction : public torch::autograd::Function<LayerNormFunction> {
public:
    struct Settings {
        double epsilon;
        CpuOptions options;
    };

    static At compute(const At& x, const At& weight, const At& bias, const Settings& settings) {
        At y = at::empty(x.sizes(), at::kFloat);
        const Index dim = x.size(-1), rows = x.numel() / std::max<Index>(1, dim);
        const int workers = workers_for(x.numel(), rows);
        kernels::run_workers(workers, [&](int worker) {
            const Share share = kernels::share_of(rows, worker, workers);
            kernels::timed(settings.options.profile, Part::norm, [&] {
                best_kernels().layer_norm(
                    floats_of(x) + share.begin * dim, floats_of(weight), floats_of(bias),
                    float(settings.epsilon), share.end - share.begin, dim,
                    kernels::rows_of(y.data_ptr<float>() + share.begin * dim, dim));
            });
        });
        return y;
    }

    static At forward(AutogradContext* context, const At& x, const At& weight, const At& bias,
                      const Settings& settings) {
        context->save_for_backward({x, weight});
        hold(context, settings);
        return compute(x, weight, bias, settings);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &x = saved[0], &weight = saved[1];
        const auto settings = held<Settings>(context);
        const At dy = as_floats(gradients[0]);
        At dx = at::empty(x.sizes(), at::kFloat);
        const Index dim = x.size(-1), rows = x.numel() / std::max<Index>(1, dim);
        const int workers = workers_for(x.numel(), rows);
        At sums = at::zeros({workers, 2, dim}, at::kFloat);
        kernels::run_workers(workers, [&](int worker) {
            const Share share = kernels::share_of(rows, worker, workers);
            float* own = sums.data_ptr<float>() + worker * 2 * dim;
            kernels::timed(settings.options.profile, Part::norm, [&] {
                best_kernels().train.layer_norm(
                    floats_of(x) + share.begin * dim, floats_of(weight), float(settings.epsilon),
                    floats_of(dy) + share.begin * dim, nullptr, share.end - share.begin, dim,
                    dx.data_ptr<float>() + share.begin * dim, own, own + dim);
            });
        });
        const At total = sums.sum(0);
        return {dx, total[0].clone(), total[1].clone(), At()};
    }
};

class GeluFunction : public torch::autograd::Function<GeluFunction> {
public:
    static At compute(const At& x, const CpuOptions& options) {
        At y = at::empty(x.sizes(), at::kFloat);
        const int workers = workers_for(x.numel(), x.numel());
        kernels::run_workers(workers, [&](int worker) {
            const Share share = kernels::share_of(x.numel(), worker, workers);
            kernels::timed(options.profile, Part::gelu, [&] {
                best_kernels().activate(kernels::Epilogue::Activation::gelu,
                                        floats_of(x) + share.begin, share.end - share.begin,
                                        y.data_ptr<float>() + share.begin);
            });
        });
        return y;
    }

    static At forward(AutogradContext* context, const At& x, const CpuOptions& options) {
        context->save_for_backward({x});
        hold(context, options);
        return compute(x, options);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const At x = context->get_saved_variables()[0];
        const At dy = as_floats(gradients[0]);
        At dx = at::empty(x.sizes(), at::kFloat);
        const int workers = workers_for(x.numel(), x.numel());
        kernels::run_workers(workers, [&](int worker) {
            const Share share = kernels::share_of(x.numel(), worker, workers);
            kernels::timed(held<CpuOptions>(context).profile, Part::gelu, [&] {
                best_kernels().train.gelu(floats_of(x) + share.begin, floats_of(dy) + share.begin,
                                          share.end - share.begin,
                                          dx.data_ptr<float>() + share.begin);
            });
        });
        return {dx, At()};
    }
};

// x and branch [B, ..., D], scale [D] or undefined.
class ResidualFunction : public torch::autograd::Function<ResidualFunction> {
public:
    // Calls work(first row, rows, factor, worker) for each image.
    template <class Work>
    static int for_images(const At& x, const At& factors, const CpuOptions& options,
                          const Work& work) {
        const Index images = x.size(0), rows = x.numel() / std::max<Index>(1, images * x.size(-1));
        const int workers = workers_for(x.numel(), images);
        kernels::run_workers(workers, [&](int worker) {
            const Share share = kernels::share_of(images, worker, workers);
            kernels::timed(options.profile, Part::residual, [&] {
                for (Index i = share.begin; i < share.end; ++i)
                    work(i * rows, rows, factors.defined() ? floats_of(factors)[i] : 1.0F, worker);
            });
        });
        return workers;
    }

    static At compute(const At& x, const At& branch, const At& scale, const At& factors,
                      const CpuOptions& options) {
        At y = at::empty(x.sizes(), at::kFloat);
        const Index dim = x.size(-1);
        for_images(x, factors, options, [&](Index row, Index rows, float factor, int) {
            best_kernels().residual(floats_of(x) + row * dim, floats_of(branch) + row * dim,
                                    floats_of(scale), factor, rows, dim,
                                    y.data_ptr<float>() + row * dim);
        });
        return y;
    }

    static At forward(AutogradContext* context, const At& x, const At& branch,
                      const c10::optional<At>& optional_scale,
                      const c10::optional<At>& optional_factors, const CpuOptions& options) {
        const At scale = or_undefined(optional_scale), factors = or_undefined(optional_factors);
        // The branch's values are needed for the gradient of the scale only.
        context->save_for_backward({scale.defined() ? branch : At(), scale, factors});
        hold(context, options);
        return compute(x, branch, scale, factors, options);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &branch = saved[0], &scale = saved[1], &factors = saved[2];
        const At dy = as_floats(gradients[0]);
        const Index dim = dy.size(-1);
        At d_branch = at::empty(dy.sizes(), at::kFloat), d_scale;
        if (scale.defined() && context->needs_input_grad(2))
            d_scale = at::zeros({at::get_num_threads(), dim}, at::kFloat);
        for_images(dy, factors, held<CpuOptions>(context),
                   [&](Index row, Index rows, float factor, int worker) {
                       best_kernels().train.residual(
                           floats_of(dy) + row * dim,
                           branch.defined() ? floats_of(branch) + row * dim : nullptr,
                           floats_of(scale), factor, rows, dim,
                           d_branch.data_ptr<float>() + row * dim,
                           d_scale.defined() ? d_scale.data_ptr<float>() + worker * dim : nullptr);
                   });
        return {dy, d_branch, d_scale.defined() ? d_scale.sum(0) : At(), At(), At()};
    }
};

}  // namespace

At cpu_layer_norm(const At& x, const At& weight, const At& bias, double epsilon,
                  const CpuOptions& options) {
    const At in = as_floats(x), w = as_floats(weight), b = as_floats(bias);
    const LayerNormFunction::Settings settings{epsilon, options};
    if (!needs_gradient({in, w, b})) return LayerNormFunction::compute(in, w, b, settings);
    return LayerNormFunction::apply(in, w, b, settings);
}

At cpu_gelu(const At& x, const CpuOptions& options) {
    const At in = as_floats(x);
    return needs_gradient({in}) ? GeluFunction::apply(in, options)
                                : GeluFunction::compute(in, options);
}

At cpu_residual(const At& x, const At& branch, const At& scale, const At& factors,
                const CpuOptions& options) {
    const At in = as_floats(x), added = as_floats(branch);
    const At weights = scale.defined() ? as_floats(scale.expand({x.size(-1)})) : scale;
    if (!needs_gradient({in, added, weights}))
        return ResidualFunction::compute(in, added, weights, factors, options);
    return ResidualFunction::apply(in, added, if_defined(weights), if_defined(factors), options);
}

}  // namespace cait
