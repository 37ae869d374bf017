#include "data/augment/policy.h"

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <vector>

#include "cait/error.h"

namespace cait {

Policy parse_policy(std::string_view text) {
    const std::string_view name = text.substr(0, text.find('-'));
    if (name == "rand") return RandAugment::parse(text);
    if (AutoAugment::knows(name)) return AutoAugment::parse(text);
    if (text.empty() || text == "none") return std::monostate{};
    if (text == "trivial" || text == "ta_wide") return TrivialAugment{};
    if (name == "three" || text == "3a") return ThreeAugment::parse(text);
    const std::vector<std::string> names{
        "rand-m9-mstd0.5-inc1", "original", "originalr", "v0", "v0r", "trivial", "three", "none"};
    throw UsageError(fmt::format("augmentation policy: expected one of {}, found '{}'{}",
                                 fmt::join(names, ", "), text,
                                 name == "augmix" ? " (AugMix is not supported)" : ""));
}

OperationList draw(const Policy& policy, RandomStream& random) {
    return std::visit(
        [&](const auto& chosen) -> OperationList {
            if constexpr (std::is_same_v<std::decay_t<decltype(chosen)>, std::monostate>)
                return {};
            else
                return chosen.draw(random);
        },
        policy);
}

OperationList apply(const Policy& policy, const OperationStyle& style, RandomStream& random,
                    Image& image, OperationWorkspace& workspace) {
    const bool trivial = std::holds_alternative<TrivialAugment>(policy);
    const OperationStyle used = trivial ? TrivialAugment::style() : style;
    const OperationList list = draw(policy, random);
    for (const OperationCall& call : list) apply(call, used, random, image, workspace);
    return list;
}

bool keeps_jitter(const Policy& policy) {
    if (const auto* rand = std::get_if<RandAugment>(&policy))
        return rand->set == RandAugment::Set::three || rand->set == RandAugment::Set::three_weights;
    return std::holds_alternative<std::monostate>(policy) ||
           std::holds_alternative<ThreeAugment>(policy);
}

}  // namespace cait
