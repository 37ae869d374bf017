#include "train/torch/synced_batch_norm.h"

#include "train/torch/cpu_function.h"

namespace cait {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

std::vector<std::int64_t> all_but_channels(const At& x) {
    std::vector<std::int64_t> axes{0};
    for (std::int64_t axis = 2; axis < x.dim(); ++axis) axes.push_back(axis);
    return axes;
}

// [C] as it stands beside x.
At along_channels(const At& values, const At& x) {
    std::vector<std::int64_t> extents(std::size_t(x.dim()), 1);
    extents[1] = x.size(1);
    return values.to(x.scalar_type()).reshape(extents);
}

class SyncedBatchNorm : public torch::autograd::Function<SyncedBatchNorm> {
public:
    struct Settings {
        double epsilon;
        double count;  // values of a channel in all processes
        SumOverProcesses sum;
    };

    static At forward(AutogradContext* context, const At& x, const At& weight, const At& bias,
                      const At& mean, const At& variance, const Settings& settings) {
        const At scale = (variance + settings.epsilon).rsqrt();
        // Both halves of the mean: where all values of a channel are nearly the same, as before
        // heads of fresh models, its rounding would be large beside their spread.
        const At rest = mean - mean.to(x.scalar_type());
        const At normed =
            (x - along_channels(mean, x) - along_channels(rest, x)) * along_channels(scale, x);
        context->save_for_backward({normed, weight, scale});
        hold(context, settings);
        return normed * along_channels(weight, x) + along_channels(bias, x);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &normed = saved[0], &weight = saved[1], &scale = saved[2], &dy = gradients[0];
        const auto settings = held<Settings>(context);
        const std::vector<std::int64_t> axes = all_but_channels(dy);
        const At d_bias = dy.sum(axes), d_weight = (dy * normed).sum(axes);
        At sums = at::stack({d_bias, d_weight}).to(at::kDouble);
        if (settings.sum) settings.sum(sums);
        sums /= settings.count;
        const At dx = (dy - along_channels(sums[0], dy) - normed * along_channels(sums[1], dy)) *
                      along_channels(weight * scale.to(weight.scalar_type()), dy);
        return {dx, d_weight, d_bias, At(), At(), At()};
    }
};

}  // namespace

At synced_batch_norm(const At& x, const BatchNormTensors& params, double momentum, double epsilon,
                     const SumOverProcesses& sum) {
    At mean, variance;
    double count = 0;
    {
        const at::NoGradGuard no_gradients;
        const std::vector<std::int64_t> axes = all_but_channels(x);
        const At wide = x.detach().to(at::kDouble);
        const At own = at::full({1}, double(x.numel() / x.size(1)), at::kDouble).to(x.device());
        At sums = at::cat({wide.sum(axes), own});
        if (sum) sum(sums);
        count = sums[-1].item<double>();
        mean = sums.slice(0, 0, -1) / count;
        At squares = (wide - along_channels(mean, wide)).square().sum(axes);
        if (sum) sum(squares);
        variance = squares / count;
        params.running_mean.lerp_(mean.to(params.running_mean.scalar_type()), momentum);
        const At unbiased = squares / std::max(1.0, count - 1);
        params.running_var.lerp_(unbiased.to(params.running_var.scalar_type()), momentum);
    }
    return SyncedBatchNorm::apply(x, params.weight, params.bias, mean, variance,
                                  SyncedBatchNorm::Settings{epsilon, count, sum});
}

}  // namespace cait
