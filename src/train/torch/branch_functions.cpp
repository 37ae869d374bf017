#include "train/torch/branch_functions.h"

#include <algorithm>

#include "kernels/train/attention_branch_backward.h"
#include "kernels/train/mlp_branch_backward.h"
#include "train/torch/convert.h"

namespace cait {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using At = at::Tensor;

// Inputs of both functions come in this order, those of the branch itself behind them.
enum Around { kX, kNormWeight, kNormBias, kGain, kFactors, kOwn };

struct BranchSettings {
    double epsilon = 0;
    bool keeps = false;  // whether a backward pass will follow
    op::AttentionOptions attention = {};
    CpuOptions options;
};

void fill_options(kernels::BranchOptions& b, const variable_list& in,
                  const BranchSettings& settings) {
    b.batch = in[kX].size(0);
    b.tokens = in[kX].size(1);
    b.dim = in[kX].size(2);
    b.norm_weight = floats_of(in[kNormWeight]);
    b.norm_bias = floats_of(in[kNormBias]);
    b.epsilon = float(settings.epsilon);
    b.gain = floats_of(in[kGain]);
    b.factors = floats_of(in[kFactors]);
    b.format = settings.options.format;
    b.threads = settings.options.threads;
    b.profile = settings.options.profile;
}

void fill_mlp(kernels::MlpBranch& b, const variable_list& in, const BranchSettings& settings) {
    fill_options(b, in, settings);
    b.bias1 = floats_of(in[kOwn + 1]);
    b.bias2 = floats_of(in[kOwn + 3]);
    b.hidden = in[kOwn].size(0);
}

void fill_attention(kernels::AttentionBranch& b, const variable_list& in,
                    const BranchSettings& settings) {
    fill_options(b, in, settings);
    b.bias_qkv = floats_of(in[kOwn + 1]);
    b.bias_proj = floats_of(in[kOwn + 3]);
    const op::AttentionOptions& op = settings.attention;
    b.attention = {.queries = b.tokens,
                   .keys = b.tokens,
                   .heads = op.heads,
                   .head_dim = b.dim / op.heads,
                   .scale = float(op.scale),
                   .before_weight = floats_of(in[kOwn + 4]),
                   .before_bias = floats_of(in[kOwn + 5]),
                   .after_weight = floats_of(in[kOwn + 6]),
                   .after_bias = floats_of(in[kOwn + 7]),
                   .format = b.format};
}

At kept_tensor(std::int64_t count, const BranchSettings& settings) {
    if (!settings.keeps) return {};
    return at::empty({count}, torch_type(settings.options.format));
}
void* memory_of(const At& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

// Room for the gradient of every input that has one.
variable_list gradients_of(const variable_list& in) {
    variable_list gradients;
    for (std::size_t i = 0; i < in.size(); ++i)
        gradients.push_back(i == kFactors ? At() : empty_like_defined(in[i]));
    return gradients;
}

struct Computed {
    At y;
    variable_list kept;
};

Computed compute_mlp(const variable_list& in, const BranchSettings& settings) {
    kernels::MlpBranch branch;
    fill_mlp(branch, in, settings);
    branch.weight1 = settings.options.forward_weight(in[kOwn]);
    branch.weight2 = settings.options.forward_weight(in[kOwn + 2]);
    Computed result{at::empty(in[kX].sizes(), at::kFloat),
                    {kept_tensor(branch.batch * branch.tokens * branch.hidden, settings)}};
    kernels::mlp_branch_forward(branch, floats_of(in[kX]), mutable_floats_of(result.y),
                                memory_of(result.kept[0]), settings.options.workspace());
    return result;
}

Computed compute_attention(const variable_list& in, const BranchSettings& settings) {
    kernels::AttentionBranch branch;
    fill_attention(branch, in, settings);
    branch.weight_qkv = settings.options.forward_weight(in[kOwn]);
    branch.weight_proj = settings.options.forward_weight(in[kOwn + 2]);
    Computed result{at::empty(in[kX].sizes(), at::kFloat),
                    {kept_tensor(kernels::kept_qkv(branch), settings),
                     kept_tensor(kernels::kept_mixed(branch), settings)}};
    kernels::attention_branch_forward(branch, floats_of(in[kX]), mutable_floats_of(result.y),
                                      {memory_of(result.kept[0]), memory_of(result.kept[1])},
                                      settings.options.workspace());
    return result;
}

variable_list mlp_gradients(const variable_list& in, const variable_list& kept, const At& dy,
                            const BranchSettings& settings) {
    variable_list d = gradients_of(in);
    kernels::MlpGradients to;
    to.x = mutable_floats_of(d[kX]);
    to.norm_weight = mutable_floats_of(d[kNormWeight]);
    to.norm_bias = mutable_floats_of(d[kNormBias]);
    to.weight1 = mutable_floats_of(d[kOwn]);
    to.bias1 = mutable_floats_of(d[kOwn + 1]);
    to.output = {mutable_floats_of(d[kOwn + 2]), mutable_floats_of(d[kOwn + 3]),
                 mutable_floats_of(d[kGain])};
    kernels::MlpBackward branch;
    fill_mlp(branch, in, settings);
    branch.weight1 = settings.options.backward_weight(in[kOwn]);
    branch.weight2 = settings.options.backward_weight(in[kOwn + 2], in[kGain]);
    branch.weight2_values = floats_of(in[kOwn + 2]);
    kernels::mlp_branch_backward(branch, floats_of(in[kX]), memory_of(kept[0]), floats_of(dy), to,
                                 settings.options.workspace());
    return d;
}

variable_list attention_gradients(const variable_list& in, const variable_list& kept, const At& dy,
                                  const BranchSettings& settings) {
    variable_list d = gradients_of(in);
    kernels::AttentionGradients to;
    to.x = mutable_floats_of(d[kX]);
    to.norm_weight = mutable_floats_of(d[kNormWeight]);
    to.norm_bias = mutable_floats_of(d[kNormBias]);
    to.weight_qkv = mutable_floats_of(d[kOwn]);
    to.bias_qkv = mutable_floats_of(d[kOwn + 1]);
    to.output = {mutable_floats_of(d[kOwn + 2]), mutable_floats_of(d[kOwn + 3]),
                 mutable_floats_of(d[kGain])};
    to.mixes = {mutable_floats_of(d[kOwn + 4]), mutable_floats_of(d[kOwn + 5]),
                mutable_floats_of(d[kOwn + 6]), mutable_floats_of(d[kOwn + 7])};
    kernels::AttentionBackward branch;
    fill_attention(branch, in, settings);
    branch.weight_qkv = settings.options.backward_weight(in[kOwn]);
    branch.weight_proj = settings.options.backward_weight(in[kOwn + 2], in[kGain]);
    branch.weight_proj_values = floats_of(in[kOwn + 2]);
    kernels::attention_branch_backward(branch, floats_of(in[kX]),
                                       {memory_of(kept[0]), memory_of(kept[1])}, floats_of(dy), to,
                                       settings.options.workspace());
    return d;
}

// Inputs without the undefined ones, and back by the list of those that there are.
struct Settled {
    BranchSettings settings;
    std::vector<bool> defined;
};
variable_list defined_of(const variable_list& in) {
    variable_list result;
    for (const At& tensor : in)
        if (tensor.defined()) result.push_back(tensor);
    return result;
}
variable_list all_of(at::TensorList given, const std::vector<bool>& defined) {
    variable_list result;
    std::size_t next = 0;
    for (const bool is_defined : defined) result.push_back(is_defined ? given[next++] : At());
    return result;
}

// One function for both branches: Compute and Gradients tell them apart.
template <auto Compute, auto Gradients>
class BranchFunction : public torch::autograd::Function<BranchFunction<Compute, Gradients>> {
public:
    static At forward(AutogradContext* context, const at::TensorList& given,
                      const Settled& settled) {
        const Computed computed = Compute(all_of(given, settled.defined), settled.settings);
        variable_list saved = given.vec();
        saved.insert(saved.end(), computed.kept.begin(), computed.kept.end());
        context->save_for_backward(saved);
        hold(context, settled);
        return computed.y;
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        const auto settled = held<Settled>(context);
        variable_list saved = context->get_saved_variables();
        const auto count = std::ranges::count(settled.defined, true);
        const variable_list kept(saved.begin() + count, saved.end());
        const variable_list in = all_of(saved, settled.defined);
        const variable_list d = Gradients(in, kept, as_floats(gradients[0]), settled.settings);
        variable_list result;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i].defined()) result.push_back(d[i]);
        result.push_back(At());  // for the settings
        return result;
    }
};

template <class Function>
At apply_branch(const variable_list& in, const BranchSettings& settings) {
    Settled settled{settings, {}};
    for (const At& tensor : in) settled.defined.push_back(tensor.defined());
    const variable_list given = defined_of(in);
    return Function::apply(at::TensorList(given), settled);
}

using MlpFunction = BranchFunction<compute_mlp, mlp_gradients>;
using AttentionBranchFunction = BranchFunction<compute_attention, attention_gradients>;

variable_list around_of(const BranchTensors& around) {
    const std::int64_t dim = around.x.size(2);
    return {as_floats(around.x), as_floats(around.norm_weight), as_floats(around.norm_bias),
            around.gain.defined() ? as_floats(around.gain.expand({dim})) : around.gain,
            around.factors};
}

bool any_needs_gradient(const variable_list& in) {
    return std::ranges::any_of(in, [](const At& tensor) { return needs_gradient({tensor}); });
}

}  // namespace

At cpu_mlp_branch(const BranchTensors& around, const MlpTensors& mlp, const CpuOptions& options) {
    variable_list in = around_of(around);
    for (const At& tensor : {mlp.weight1, mlp.bias1, mlp.weight2, mlp.bias2})
        in.push_back(as_floats(tensor));
    BranchSettings settings{around.epsilon, any_needs_gradient(in), {}, options};
    return settings.keeps ? apply_branch<MlpFunction>(in, settings) : compute_mlp(in, settings).y;
}

At cpu_attention_branch(const BranchTensors& around, const AttentionTensors& attention,
                        const op::AttentionOptions& op, const CpuOptions& options) {
    variable_list in = around_of(around);
    const HeadMixes& mixes = attention.mixes;
    for (const At& tensor :
         {attention.weight_qkv, attention.bias_qkv, attention.weight_proj, attention.bias_proj,
          mixes.before_weight, mixes.before_bias, mixes.after_weight, mixes.after_bias})
        in.push_back(as_floats(tensor));
    BranchSettings settings{around.epsilon, any_needs_gradient(in), op, options};
    return settings.keeps ? apply_branch<AttentionBranchFunction>(in, settings)
                          : compute_attention(in, settings).y;
}

}  // namespace cait
