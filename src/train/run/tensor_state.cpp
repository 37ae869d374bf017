#include "train/run/tensor_state.h"

#include <fmt/format.h>

#include <set>

#include "cait/error.h"
#include "cait/tensor.h"

namespace cait {

namespace {

std::string form_text(const at::Tensor& tensor) {
    const auto sizes = tensor.sizes();
    return fmt::format("{} {}", c10::toString(tensor.scalar_type()),
                       Shape(std::vector(sizes.begin(), sizes.end())).to_string());
}

}  // namespace

void restore(const TensorState& own, const std::map<std::string, at::Tensor>& stored,
             std::string_view what) {
    std::set<std::string_view> names;
    for (const auto& [name, tensor] : own) {
        names.insert(name);
        const auto found = stored.find(name);
        if (found == stored.end())
            throw Error(
                fmt::format("{} '{}': expected {}, found none", what, name, form_text(tensor)));
        if (found->second.sizes() != tensor.sizes() ||
            found->second.scalar_type() != tensor.scalar_type())
            throw Error(fmt::format("{} '{}': expected {}, found {}", what, name, form_text(tensor),
                                    form_text(found->second)));
    }
    for (const auto& [name, tensor] : stored)
        if (!names.contains(name))
            throw Error(fmt::format("{} '{}': expected nothing of that name, found {}", what, name,
                                    form_text(tensor)));
    const at::NoGradGuard no_gradients;
    for (const auto& [name, tensor] : own) tensor.copy_(stored.at(name));
}

}  // namespace cait
