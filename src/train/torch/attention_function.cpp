#include "train/torch/attention_function.h"

#include "kernels/attention.h"
#include "kernels/parallel.h"
#include "kernels/train/attention_backward.h"

namespace cait {

namespace {

using kernels::Index;
using kernels::Share;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

struct AttentionSettings {
    op::AttentionOptions op;
    CpuOptions options;
    SeenTokens seen;
};

// Rows may lie apart, as in a slice of q, k and v; the elements of a row may not.
At as_rows(const At& x) {
    const At floats = x.to(at::kFloat);
    return floats.stride(2) == 1 ? floats : floats.contiguous();
}

kernels::AttentionShape shape_of(const AttentionSettings& s, const At& q, const At& k,
                                 const HeadMixes& mixes) {
    return {.queries = q.size(1),
            .keys = k.size(1),
            .heads = s.op.heads,
            .head_dim = q.size(2) / s.op.heads,
            .scale = float(s.op.scale),
            .before_weight = floats_of(mixes.before_weight),
            .before_bias = floats_of(mixes.before_bias),
            .after_weight = floats_of(mixes.after_weight),
            .after_bias = floats_of(mixes.after_bias),
            .causal = s.seen.causal,
            .format = s.options.format};
}

// The same for one image, with its mask.
kernels::AttentionShape of_image(kernels::AttentionShape shape, const AttentionSettings& s,
                                 Index image) {
    if (s.seen.mask.defined())
        shape.key_mask = static_cast<const float*>(s.seen.mask.data_ptr()) + image * shape.keys;
    return shape;
}

kernels::Rows image_rows(const At& x, Index image) {
    return kernels::rows_of(static_cast<const float*>(x.data_ptr<float>()) + image * x.stride(0),
                            x.stride(1));
}
kernels::MutableRows mutable_image_rows(At& x, Index image) {
    return kernels::rows_of(x.data_ptr<float>() + image * x.stride(0), x.stride(1));
}

// Calls work(image, worker, scratch memory of `bytes`) for each image.
template <class Work>
void for_images(Index images, int workers, Index bytes, const CpuOptions& options,
                const Work& work) {
    const kernels::PerWorker memory(options.workspace().memory, workers,
                                    [&](kernels::Arena& arena) { return arena.take(bytes); });
    kernels::run_workers(workers, [&](int worker) {
        const Share share = kernels::share_of(images, worker, workers);
        kernels::timed(options.profile, kernels::Part::attention, [&] {
            for (Index i = share.begin; i < share.end; ++i) work(i, worker, memory(worker));
        });
    });
}

int workers_for(Index images, const CpuOptions& options) {
    return int(std::max<Index>(1, std::min<Index>(images, options.threads)));
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
public:
    static At compute(const At& q, const At& k, const At& v, const HeadMixes& mixes,
                      const AttentionSettings& settings) {
        At output = at::empty(q.sizes(), at::kFloat);
        const kernels::AttentionShape shape = shape_of(settings, q, k, mixes);
        for_images(q.size(0), workers_for(q.size(0), settings.options),
                   kernels::attention_workspace(shape), settings.options,
                   [&](Index i, int, std::byte* memory) {
                       kernels::attention_forward(of_image(shape, settings, i), image_rows(q, i),
                                                  image_rows(k, i), image_rows(v, i),
                                                  mutable_image_rows(output, i), memory);
                   });
        return output;
    }

    static At forward(AutogradContext* context, const At& q, const At& k, const At& v,
                      const c10::optional<At>& before_weight, const c10::optional<At>& before_bias,
                      const c10::optional<At>& after_weight, const c10::optional<At>& after_bias,
                      const AttentionSettings& settings) {
        const HeadMixes mixes{or_undefined(before_weight), or_undefined(before_bias),
                              or_undefined(after_weight), or_undefined(after_bias)};
        context->save_for_backward({q, k, v, mixes.before_weight, mixes.before_bias,
                                    mixes.after_weight, mixes.after_bias});
        hold(context, settings);
        return compute(q, k, v, mixes, settings);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const variable_list saved = context->get_saved_variables();
        const At &q = saved[0], &k = saved[1], &v = saved[2];
        const HeadMixes mixes{saved[3], saved[4], saved[5], saved[6]};
        const auto settings = held<AttentionSettings>(context);
        const kernels::AttentionShape shape = shape_of(settings, q, k, mixes);
        const At d_output = as_floats(gradients[0]);
        At dq = at::empty(q.sizes(), at::kFloat), dk = at::empty(k.sizes(), at::kFloat),
           dv = at::empty(v.sizes(), at::kFloat);
        const int workers = workers_for(q.size(0), settings.options);
        const Index heads = settings.op.heads, size = 2 * heads * heads + 2 * heads;
        At sums = at::zeros({workers, size}, at::kFloat);
        for_images(q.size(0), workers, kernels::attention_backward_workspace(shape),
                   settings.options, [&](Index i, int worker, std::byte* memory) {
                       float* own = sums.data_ptr<float>() + worker * size;
                       const kernels::MixGradients to{own, own + heads * heads,
                                                      own + heads * heads + heads,
                                                      own + 2 * heads * heads + heads};
                       kernels::attention_backward(
                           of_image(shape, settings, i), image_rows(q, i), image_rows(k, i),
                           image_rows(v, i), image_rows(d_output, i),
                           {mutable_image_rows(dq, i), mutable_image_rows(dk, i),
                            mutable_image_rows(dv, i)},
                           to, memory);
                   });
        const At total = sums.sum(0);
        const auto part = [&](const At& param, Index begin, Index count) {
            return param.defined() ? total.slice(0, begin, begin + count).reshape(param.sizes())
                                   : At();
        };
        const Index square = heads * heads;
        return {dq,
                dk,
                dv,
                part(mixes.before_weight, 0, square),
                part(mixes.before_bias, square, heads),
                part(mixes.after_weight, square + heads, square),
                part(mixes.after_bias, 2 * square + heads, heads),
                At()};
    }
};

}  // namespace

HeadMixes head_mixes(const op::AttentionOptions& op, std::span<const At> mixes) {
    HeadMixes result;
    if (op.mix_before) {
        result.before_weight = as_floats(mixes[0]);
        result.before_bias = as_floats(mixes[1]);
        mixes = mixes.subspan(2);
    }
    if (op.mix_after) {
        result.after_weight = as_floats(mixes[0]);
        result.after_bias = as_floats(mixes[1]);
    }
    return result;
}

At cpu_attention(const op::AttentionOptions& op, const At& q, const At& k, const At& v,
                 std::span<const At> mixes, const CpuOptions& options, const SeenTokens& seen) {
    const At queries = as_rows(q), keys = as_rows(k), values = as_rows(v);
    const HeadMixes m = head_mixes(op, mixes);
    const AttentionSettings settings{op, options, {as_floats(seen.mask), seen.causal}};
    if (!needs_gradient(
            {queries, keys, values, m.before_weight, m.before_bias, m.after_weight, m.after_bias}))
        return AttentionFunction::compute(queries, keys, values, m, settings);
    return AttentionFunction::apply(queries, keys, values, if_defined(m.before_weight),
                                    if_defined(m.before_bias), if_defined(m.after_weight),
                                    if_defined(m.after_bias), settings);
}

}  // namespace cait
