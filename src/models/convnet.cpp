#include "models/convnet.h"

#include <cmath>

#include "models/parts.h"

namespace cait {

Value conv_norm(Builder& b, std::string_view conv, std::string_view norm, Value x, std::int64_t out,
                const ConvNormOptions& options, Location where) {
    const Value y = b.conv2d(conv, x, out,
                             {.kernel = options.kernel,
                              .stride = options.stride,
                              .padding = options.kernel / 2,
                              .groups = options.groups,
                              .bias = false,
                              .weight_init = he_fan_out(out, options.kernel, options.groups)},
                             where);
    return b.batch_norm(norm, y, options.starts_at_zero ? Init::zeros() : Init::ones(),
                        {.epsilon = options.epsilon}, where);
}

Init he_fan_out(std::int64_t out, std::int64_t kernel, std::int64_t groups) {
    return Init::normal(std::sqrt(2.0 / double(out * kernel * kernel / groups)));
}

Value relu(Builder& b, Value x, Location where) {
    return b.activation(x, op::Activation::Kind::relu, where);
}

Value average_pool(Builder& b, Value map, Location where) {
    return b.reduce(map, op::Reduce::Kind::mean, {2, 3}, false, where);
}

void output_map_logits(Builder& b, std::string_view name, Value map, Value features, bool averaged,
                       const CommonConfig& config, LinearOptions options, Location where) {
    b.patch_grid({map.extent(2), map.extent(3)});
    b.output("tokens", [&] { return map_tokens(b, map, where); });
    b.output("features", features);
    if (leaves_out_heads(b, config, {name})) return;
    options.role = {.kind = ParamRole::Kind::class_head};
    const Value read = classifier_input(b, name, features, config, where);
    const Affine head = b.linear_params(name, read.extent(-1), config.classes, options, where);
    const Builder::Scope scope = b.scope(name);
    if (averaged && config.classifier_hidden == 0)
        b.output("token_logits", [&] { return b.linear(map_tokens(b, map, where), head, where); });
    b.output("logits", b.linear(read, head, where));
}

}  // namespace cait
