// What a name of a Python object inside a pickle means to us: a few are understood, most are
// ignored, and those that only an attack would hold are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cait/tensor.h"

namespace cait {

enum class GlobalKind : std::uint8_t {
    unknown,  // stays opaque, as does whatever is built from it
    refused,
    dictionary,
    size,
    parameter,
    rebuild_tensor,        // (storage, offset, extents, strides …)
    rebuild_tensor_dtype,  // the same, and the dtype at position 6
    rebuild_parameter,     // (tensor …)
    rebuild_from_type,     // (rebuild function, type, its arguments, state)
    storage,
    dtype,
};

struct GlobalMeaning {
    GlobalKind kind = GlobalKind::unknown;
    std::optional<DType> dtype;  // of a storage or dtype; empty when we do not support it
};

GlobalMeaning meaning_of_global(std::string_view module, std::string_view name);

}  // namespace cait
