#include "engine/steps/attention_shape.h"
#include "engine/steps/steps.h"
#include "kernels/attention_branch.h"
#include "kernels/mlp_branch.h"

namespace cait::engine::steps {

namespace {

// Where the inputs of a branch stand in the node's list, as branch_inputs.h reads them.
struct Places {
    std::size_t weight1 = 0, bias1 = 0, weight2 = 0, bias2 = 0, mixes = 0, gain = 0;

    Places(const op::BranchOptions& op, std::size_t inputs) {
        std::size_t next = op.norm ? 3 : 1;
        weight1 = next++;
        if (op.bias1) bias1 = next++;
        weight2 = next++;
        if (op.bias2) bias2 = next++;
        mixes = next;
        gain = inputs - 1;
    }
};

// A gain of one value is repeated.
const float* gain_of(Compiler& c, std::size_t i, Index dim) {
    const Weight w = c.weight(i);
    if (w.values.count() == dim) return c.weight_floats(i);
    return c.store().floats(w.name, w.values, "repeated", dim,
                            [&](float* to) { std::fill_n(to, dim, w.values.floats()[0]); });
}

template <class Branch>
void fill_options(Compiler& c, const op::BranchOptions& op, const Places& at, const View& x,
                  Branch& branch) {
    branch.tokens = x.extents[0];
    branch.dim = x.extents[1];
    if (op.norm) {
        branch.norm_weight = c.weight_floats(1);
        branch.norm_bias = c.weight_floats(2);
    }
    branch.epsilon = float(op.epsilon);
    if (op.gain) branch.gain = gain_of(c, at.gain, branch.dim);
    branch.format = c.node_format();
}

// x is overwritten where nobody else reads it.
template <class Branch, class Forward>
void emit_branch(Compiler& c, const View& x, const Branch& branch, const Forward& forward) {
    const View to = c.may_overwrite(x, 0) ? x : c.make(x.extents);
    c.emit({x, to}, [=](const Frame& f) {
        Branch now = branch;
        now.batch = f.images;
        now.threads = f.threads;
        forward(now, f, f.at(x), f.at(to));
    });
    c.result(to);
}

const float* optional_floats(Compiler& c, bool given, std::size_t i) {
    return given ? c.weight_floats(i) : nullptr;
}

}  // namespace

void emit(Compiler& c, const op::MlpBranch& op) {
    const View x = c.dense_input(0);
    const Places at(op, c.inputs());
    kernels::MlpBranch branch;
    fill_options(c, op, at, x, branch);
    branch.hidden = c.input_shape(at.weight1)[0];
    branch.weight1 = c.packed_weight(at.weight1, branch.format);
    branch.bias1 = optional_floats(c, op.bias1, at.bias1);
    branch.weight2 = c.packed_weight(at.weight2, branch.format);
    branch.bias2 = optional_floats(c, op.bias2, at.bias2);
    emit_branch(c, x, branch,
                [](const kernels::MlpBranch& now, const Frame& f, const float* from, float* to) {
                    kernels::mlp_branch_forward(now, from, to, nullptr, *f.scratch);
                });
}

void emit(Compiler& c, const op::AttentionBranch& op) {
    const View x = c.dense_input(0);
    const Places at(op, c.inputs());
    kernels::AttentionBranch branch;
    fill_options(c, op, at, x, branch);
    branch.attention = attention_shape(c, op.attention, branch.dim, at.mixes);
    branch.attention.queries = branch.attention.keys = branch.tokens;
    branch.weight_qkv = c.packed_weight(at.weight1, branch.format);
    branch.bias_qkv = optional_floats(c, op.bias1, at.bias1);
    branch.weight_proj = c.packed_weight(at.weight2, branch.format);
    branch.bias_proj = optional_floats(c, op.bias2, at.bias2);
    emit_branch(
        c, x, branch,
        [](const kernels::AttentionBranch& now, const Frame& f, const float* from, float* to) {
            kernels::attention_branch_forward(now, from, to, {}, *f.scratch);
        });
}

}  // namespace cait::engine::steps
