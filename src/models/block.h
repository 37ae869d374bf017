// The pre-norm transformer block of ViT, DeiT, DeiT III, DINOv2 and CaiT's first stage:
// x + w1 * attention(norm1(x)), then x + w2 * mlp(norm2(x)), with optional branch weights w,
// talking heads and parallel branches. The norms can stand elsewhere, or nowhere.
#pragma once

#include "graph/builder.h"
#include "models/dropout.h"
#include "models/settings.h"

namespace cait {

// How the linear maps of one block start; Fixup and T-Fixup change it.
struct BlockInit {
    Init query_key = Init::trunc_normal(0.02);
    Init value = Init::trunc_normal(0.02);
    Init proj = Init::trunc_normal(0.02);
    Init fc1 = Init::trunc_normal(0.02);
    Init fc2 = Init::trunc_normal(0.02);
};

// What multiplies a residual branch.
struct BranchWeight {
    enum class Kind { none, scalar, channel };  // channel is LayerScale
    Kind kind = Kind::none;
    Init init = Init::ones();
    bool learnable = true;
};
// The parameter, [D] or [1], or an empty value for Kind::none.
Value branch_weight(Builder& b, std::string_view name, std::int64_t dim, const BranchWeight& weight,
                    Location where = Location::current());

// Where the norms of a block stand: before each branch, after each sum as in the first
// transformer (Vaswani et al. 2017), or nowhere as in ReZero, SkipInit and Fixup.
enum class NormPlace { pre, post, none };
// Key norm_place.
void bind_norm_place(Settings& settings, NormPlace& place);
// norm(x) where the norm stands at `here`; otherwise x, and no parameters.
Value norm_at(Builder& b, NormPlace place, NormPlace here, std::string_view name, Value x,
              Location where = Location::current());

// An MLP with GELU, or SwiGLU (Shazeer 2020, arXiv 2002.05202) at two thirds of its width.
enum class FeedForward { mlp, swiglu };

struct BlockOptions {
    std::int64_t heads = 1;
    double mlp_ratio = 4;
    double drop_path = 0;
    std::int64_t branches = 1;  // 2: two attentions side by side, then two MLPs side by side
    bool mix_before = false;    // talking heads
    bool mix_after = false;
    bool has_class_token = true;  // the first token is one: tap class_attention.N
    BranchWeight weight = {};
    const char* weight_names[2] = {"gamma_1", "gamma_2"};  // of both halves
    BlockInit init = {};
    DropoutConfig dropout = {};
    NormPlace norm_place = NormPlace::pre;
    FeedForward feed_forward = FeedForward::mlp;
};

// Block `index` of the scope "blocks". Taps: self_attention.N, class_attention.N, residual_ratio.N,
// where N counts branches through the network (attention before MLP for the ratios).
Value transformer_block(Builder& b, std::int64_t index, Value x, const BlockOptions& options,
                        Location where = Location::current());

// What stands between the two maps of an MLP.
enum class Nonlinearity { gelu, relu, silu, hardswish };

// Parameters name.{fc1,fc2}.*; `dropout` is a rate, after the activation and after the last map.
Value mlp(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init = {},
          double dropout = 0, Nonlinearity kind = Nonlinearity::gelu,
          Location where = Location::current());

// silu(first half) * second half of one map w12, then another one: parameters name.{w12,w3}.*. Its
// hidden width is two thirds of the MLP's, rounded up to a multiple of 8, as in DINOv2.
Value swiglu(Builder& b, std::string_view name, Value x, double ratio, const BlockInit& init = {},
             double dropout = 0, Location where = Location::current());

// x + drop_path(scale * branch), with the tap residual_ratio.N = |scaled branch| / |x| per image.
Value weighted_residual(Builder& b, Value x, Value branch, Value scale, double drop_path,
                        std::int64_t ratio_index, Location where = Location::current());

}  // namespace cait
