#include "models/text_inputs.h"

#include <initializer_list>
#include <string_view>

#include "cait/error.h"

namespace cait {

namespace {

// Of the first of these inputs that is there; 0: none is, or it has another rank, which is told
// when the inputs are compared with what the graph takes.
std::int64_t text_extent(const NamedInputs<Tensor>& inputs,
                         std::initializer_list<std::string_view> names, std::size_t rank,
                         std::int64_t axis) {
    for (const std::string_view name : names)
        for (const auto& [given, tensor] : inputs)
            if (given == name && tensor.defined())
                return tensor.shape().rank() == rank ? tensor.shape()[axis] : 0;
    return 0;
}

}  // namespace

TextSize text_size_of(const NamedInputs<Tensor>& inputs) {
    const TextSize size{.source = text_extent(inputs, {"source", "source_mask"}, 2, 1),
                        .target = text_extent(inputs, {"target"}, 2, 1),
                        .beam = text_extent(inputs, {"piece"}, 2, 1),
                        .past = text_extent(inputs, {"past.0", "past_keys.0"}, 4, 2)};
    if (size.source == 0)
        throw Error("[input] expected pieces of sentences as int64 source [B, T], found none");
    return size;
}

}  // namespace cait
