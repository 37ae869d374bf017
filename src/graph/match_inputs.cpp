#include "graph/match_inputs.h"

#include <fmt/format.h>

#include "cait/error.h"

namespace cait {

std::optional<TensorType> type_of(const Tensor& tensor) {
    if (!tensor.defined()) return std::nullopt;
    return TensorType{tensor.dtype(), tensor.shape()};
}

void check_input(const op::Input& input, const std::optional<TensorType>& found,
                 std::int64_t& batch) {
    const bool has_batch = found && found->shape.rank() > 0 && found->shape[0] >= 0;
    if (has_batch && batch < 0) batch = found->shape[0];
    if (has_batch && found->dtype == input.dtype && found->shape == input.shape.with_batch(batch))
        return;
    const bool differs = has_batch && found->shape[0] != batch;
    throw Error(fmt::format(
        "[input] expected {} {} {}, found {}", name_of(input.dtype), input.name,
        (differs ? input.shape.with_batch(batch) : input.shape).to_string(),
        found ? fmt::format("{} {}", name_of(found->dtype), found->shape.to_string()) : "none"));
}

}  // namespace cait
