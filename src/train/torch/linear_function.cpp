#include "train/torch/linear_function.h"

#include <utility>

#include "kernels/linear.h"
#include "kernels/train/linear_backward.h"

namespace cait {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

kernels::LinearShape linear_shape(const At& x, const At& weight, const CpuOptions& options) {
    const std::int64_t inputs = weight.size(1);
    return {.rows = inputs == 0 ? 0 : x.numel() / inputs,
            .inputs = inputs,
            .outputs = weight.size(0),
            .format = options.format,
            .threads = options.threads,
            .profile = options.profile};
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
public:
    static At compute(const At& x, const At& weight, const At& bias, const CpuOptions& options) {
        std::vector<std::int64_t> sizes = x.sizes().vec();
        sizes.back() = weight.size(0);
        At y = at::empty(sizes, at::kFloat);
        kernels::linear_forward(linear_shape(x, weight, options), floats_of(x),
                                options.forward_weight(weight), floats_of(bias),
                                mutable_floats_of(y), options.workspace());
        return y;
    }

    static At forward(AutogradContext* context, const At& x, const At& weight,
                      const c10::optional<At>& optional_bias, const CpuOptions& options) {
        const At bias = or_undefined(optional_bias);
        context->save_for_backward({x, weight, bias});
        hold(context, options);
        return compute(x, weight, bias, options);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &x = saved[0], &weight = saved[1], &bias = saved[2];
        const At dy = as_floats(gradients[0]);
        const auto options = held<CpuOptions>(context);
        const kernels::LinearShape shape = linear_shape(x, weight, options);
        At dx, d_weight, d_bias;
        if (context->needs_input_grad(0)) {
            dx = at::empty(x.sizes(), at::kFloat);
            kernels::LinearShape transposed = shape;
            std::swap(transposed.inputs, transposed.outputs);
            kernels::linear_forward(transposed, floats_of(dy), options.backward_weight(weight),
                                    nullptr, mutable_floats_of(dx), options.workspace());
        }
        if (context->needs_input_grad(1)) d_weight = at::empty(weight.sizes(), at::kFloat);
        if (bias.defined() && context->needs_input_grad(2))
            d_bias = at::empty(bias.sizes(), at::kFloat);
        if (d_weight.defined() || d_bias.defined())
            kernels::linear_weight_gradient(shape, floats_of(x), floats_of(dy),
                                            mutable_floats_of(d_weight), mutable_floats_of(d_bias),
                                            options.workspace());
        return {dx, d_weight, d_bias, At()};
    }
};

// a [count, m, k] times b [count, k, n], either of them read transposed.
At product(const At& a, bool transpose_a, const At& b, bool transpose_b,
           const CpuOptions& options) {
    const std::int64_t count = a.size(0), m = a.size(transpose_a ? 2 : 1),
                       k = a.size(transpose_a ? 1 : 2), n = b.size(transpose_b ? 1 : 2);
    At c = at::empty({count, m, n}, at::kFloat);
    kernels::BatchedShape shape{.count = count, .m = m, .n = n, .k = k};
    shape.a_batch = m * k;
    shape.a_row = transpose_a ? 1 : k;
    shape.a_step = transpose_a ? m : 1;
    shape.b_batch = k * n;
    shape.b_row = transpose_b ? 1 : n;
    shape.b_step = transpose_b ? k : 1;
    shape.format = options.format;
    shape.threads = options.threads;
    shape.profile = options.profile;
    kernels::batched_product(shape, floats_of(a), floats_of(b), mutable_floats_of(c),
                             options.workspace());
    return c;
}

// Equal leading extents, one axis.
class ProductFunction : public torch::autograd::Function<ProductFunction> {
public:
    struct Settings {
        bool transpose_b;
        CpuOptions options;
    };

    static At forward(AutogradContext* context, const At& a, const At& b,
                      const Settings& settings) {
        context->save_for_backward({a, b});
        hold(context, settings);
        return product(a, false, b, settings.transpose_b, settings.options);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &a = saved[0], &b = saved[1];
        const auto [transposed, options] = held<Settings>(context);
        const At dc = as_floats(gradients[0]);
        At da, db;
        if (context->needs_input_grad(0)) da = product(dc, false, b, !transposed, options);
        if (context->needs_input_grad(1))
            db = transposed ? product(dc, true, a, false, options)
                            : product(a, true, dc, false, options);
        return {da, db, At()};
    }
};

// Leading axes repeated to `leading` and made one.
At flatten_leading(const At& x, at::IntArrayRef leading) {
    std::vector<std::int64_t> sizes = leading.vec();
    sizes.insert(sizes.end(), {x.size(-2), x.size(-1)});
    return as_floats(x.expand(sizes).reshape({-1, x.size(-2), x.size(-1)}));
}

}  // namespace

At cpu_linear(const At& x, const At& weight, const At& bias, const CpuOptions& options) {
    const At in = as_floats(x), w = as_floats(weight), b = as_floats(bias);
    if (!needs_gradient({in, w, b})) return LinearFunction::compute(in, w, b, options);
    return LinearFunction::apply(in, w, if_defined(b), options);
}

At cpu_matmul(const At& a, const At& b, bool transpose_b, const CpuOptions& options) {
    const std::vector<std::int64_t> leading = at::infer_size(
        a.sizes().slice(0, std::size_t(a.dim() - 2)), b.sizes().slice(0, std::size_t(b.dim() - 2)));
    std::vector<std::int64_t> sizes = leading;
    sizes.insert(sizes.end(), {a.size(-2), b.size(transpose_b ? -2 : -1)});
    const At left = flatten_leading(a, leading), right = flatten_leading(b, leading);
    const At flat =
        needs_gradient({left, right})
            ? ProductFunction::apply(left, right, ProductFunction::Settings{transpose_b, options})
            : product(left, false, right, transpose_b, options);
    return flat.reshape(sizes);
}

}  // namespace cait
