// How each op of a graph becomes steps of a plan: emit(compiler, op) for the node at hand.
#pragma once

#include "engine/compiler.h"

namespace cait::engine::steps {

// layout.cpp: nothing moves but for concat
void emit(Compiler& c, const op::Reshape& op);
void emit(Compiler& c, const op::Permute& op);
void emit(Compiler& c, const op::Slice& op);
void emit(Compiler& c, const op::Expand& op);
void emit(Compiler& c, const op::Concat& op);

// pointwise.cpp
void emit(Compiler& c, const op::Add& op);
void emit(Compiler& c, const op::Mul& op);
void emit(Compiler& c, const op::Scale& op);
void emit(Compiler& c, const op::Activation& op);
void emit(Compiler& c, const op::Residual& op);

// rows.cpp: along the last axis, and reductions
void emit(Compiler& c, const op::Softmax& op);
void emit(Compiler& c, const op::LayerNorm& op);
void emit(Compiler& c, const op::Reduce& op);

// products.cpp
void emit(Compiler& c, const op::Linear& op);
void emit(Compiler& c, const op::MatMul& op);
void emit(Compiler& c, const op::PatchMix& op);

// attention.cpp
void emit(Compiler& c, const op::Attention& op);
void emit(Compiler& c, const op::AttentionMap& op);
void emit(Compiler& c, const op::AttentionApply& op);
void emit(Compiler& c, const op::ClassAttention& op);
void emit(Compiler& c, const op::MaskedAttention& op);

// text.cpp
void emit(Compiler& c, const op::Embedding& op);
void emit(Compiler& c, const op::Triangular& op);
void emit(Compiler& c, const op::Sinusoids& op);

// branches.cpp
void emit(Compiler& c, const op::MlpBranch& op);
void emit(Compiler& c, const op::AttentionBranch& op);

// convolution.cpp
void emit(Compiler& c, const op::Conv2d& op);
void emit(Compiler& c, const op::ConvUnit& op);
void emit(Compiler& c, const op::PatchEmbed& op);
void emit(Compiler& c, const op::ConvTranspose2d& op);

// windows.cpp
void emit(Compiler& c, const op::Pool2d& op);
void emit(Compiler& c, const op::Unfold& op);
void emit(Compiler& c, const op::Fold& op);
void emit(Compiler& c, const op::SqueezeExcite& op);
void emit(Compiler& c, const op::Outlook& op);

// resize.cpp
void emit(Compiler& c, const op::Resize& op);
void emit(Compiler& c, const op::AdaptivePool2d& op);

// The others are for training, or gone before a plan is compiled.
template <class Op>
concept Emittable = requires(Compiler& c, const Op& op) {
    emit(c, op);
};

// A composite without one is decomposed before anything is compiled.
inline bool has_direct_form(const Op& op) {
    return std::visit(
        []<class T>(const T&) {
            return Emittable<T> || std::is_same_v<T, op::Input> || std::is_same_v<T, op::Param>;
        },
        op);
}

}  // namespace cait::engine::steps
