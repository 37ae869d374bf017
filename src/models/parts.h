// What several families have before and after their blocks: patch and position embedding, tokens,
// heads. Each part takes the source location of the model line that called it.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "graph/builder.h"
#include "models/architecture.h"
#include "models/settings.h"

namespace cait {

// Every family of this line of papers but VOLO.
inline constexpr double kNormEpsilon = 1e-6;

Grid patch_grid(ImageSize image, std::int64_t patch);

// Throws UsageError unless the image is a whole number of patches.
void check_patches(ImageSize image, std::int64_t patch);
// Throws UsageError unless the heads divide the width.
void check_heads(std::int64_t dim, std::int64_t heads);

// image [B, C, H, W] → tokens [B, N, D]; parameters patch_embed.proj.*. Sets the graph's grid.
Value patch_embed(Builder& b, Value image, std::int64_t patch, std::int64_t dim,
                  Location where = Location::current());

// Feature maps as tokens and back: [B, D, h, w] ↔ [B, h*w, D]
Value map_tokens(Builder& b, Value maps, Location where = Location::current());
Value token_maps(Builder& b, Value tokens, Grid grid, Location where = Location::current());

// Learned vectors [1, count, D] repeated for the batch: parameter cls_token, dist_token or another
// one, drawn from a truncated normal of this std.
Value class_token(Builder& b, std::int64_t dim, double std, std::int64_t count = 1,
                  Location where = Location::current());
Value distill_token(Builder& b, std::int64_t dim, double std, Location where = Location::current());

Value learned_tokens(Builder& b, std::string_view name, std::int64_t count, std::int64_t dim,
                     double std, ParamRole::Kind kind, Location where = Location::current());

enum class PositionKind { learned, sincos, none };
// How loading fits a file's positions; the fields are those of ParamRole.
struct PositionFit {
    PositionRule rule = PositionRule::plain;
    bool prefix_in_tokens = false;
};
// tokens + pos_embed, whose first `prefix` rows belong to class and distillation tokens.
Value add_position(Builder& b, Value tokens, Grid grid, std::int64_t prefix,
                   PositionKind kind = PositionKind::learned, const PositionFit& fit = {},
                   Location where = Location::current());

// The tap map.N: what block N leaves of the patches in tokens [B, prefix + h*w, D], before any last
// norm, as a map [B, D, h, w].
void output_map(Builder& b, std::int64_t block, Value tokens, std::int64_t prefix, Grid grid,
                Location where = Location::current());

// One token of a sequence as a vector: [B, N, D] → [B, D].
Value token_vector(Builder& b, Value tokens, std::int64_t index,
                   Location where = Location::current());

// Of a sequence that starts with two or more class tokens, of which the second may be the
// distillation token: the tap class_tokens.N, both after N of their blocks, [B, 2, D].
void output_token_pair(Builder& b, std::int64_t blocks, Value tokens, std::int64_t class_tokens,
                       Location where = Location::current());

// The last norm (parameters norm.*) and the class token after it, with the taps features and
// tokens.
struct ClassFeatures {
    Affine norm;
    Value features;  // [B, D]
};
// x [B, prefix + N, D], class token first.
ClassFeatures class_features(Builder& b, Value x, std::int64_t prefix,
                             Location where = Location::current());

// What the classifier reads beside or instead of the last class token: DINO's linear probe.
struct HeadInput {
    std::int64_t blocks = 1;  // class tokens of the last blocks, side by side, the last one last
    bool average = false;     // and the mean of the last patch tokens after them
};
void bind_head_input(Settings& settings, HeadInput& input);
// Throws UsageError where there are not as many blocks.
void check_head_input(const HeadInput& input, std::int64_t depth);
// `last` has the tokens [B, prefix + N, D] after the last blocks, as many as are read; all of them
// are normalised by the last norm. → [B, (blocks + average) * D]
Value head_input(Builder& b, std::span<const Value> last, const Affine& norm, std::int64_t prefix,
                 const HeadInput& input, Location where = Location::current());

// What a class head reads: the features themselves or, where its classifier has a hidden layer,
// that, with parameters name_hidden.*.
Value classifier_input(Builder& b, std::string_view name, Value features, const CommonConfig& c,
                       Location where = Location::current());

// Whether a configuration has no class head; if so, says that files may have the heads of these
// names.
bool leaves_out_heads(Builder& b, const CommonConfig& c,
                      std::initializer_list<std::string_view> names);

// The classifier: parameters name.{weight,bias}, replaced on loading when the classes differ.
Value class_head(Builder& b, std::string_view name, Value features, const CommonConfig& c,
                 const Init& init = Init::trunc_normal(0.02), Location where = Location::current());
// The same, linear whatever the model's is.
Value linear_class_head(Builder& b, std::string_view name, Value features, std::int64_t classes,
                        const Init& init = Init::trunc_normal(0.02),
                        Location where = Location::current());

// Outputs of a model with a class head and a second one, of a distillation token unless `tap` says
// otherwise. Training sees both apart; at evaluation the logits are their mean. `second` may be
// empty.
void output_logits(Builder& b, Value logits, Value second, std::string_view tap = "logits_dist");

}  // namespace cait
