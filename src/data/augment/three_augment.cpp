#include "data/augment/three_augment.h"

#include <fmt/format.h>

#include <vector>

#include "cait/error.h"
#include "data/augment/policy_text.h"
#include "data/augment/random.h"

namespace cait {

ThreeAugment ThreeAugment::parse(std::string_view text) {
    const std::vector<PolicySection> sections = policy_sections(text);
    if (sections.empty()) return {};
    ThreeAugment result{.grey = false, .solarize = false, .blur = false};
    for (const PolicySection& section : sections) {
        bool* const chosen = section.whole == "grey"       ? &result.grey
                             : section.whole == "solarize" ? &result.solarize
                             : section.whole == "blur"     ? &result.blur
                                                           : nullptr;
        if (chosen == nullptr || *chosen)
            throw UsageError(
                fmt::format("{}: expected grey, solarize or blur, each once, found "
                            "'{}'",
                            text, section.whole));
        *chosen = true;
    }
    return result;
}

OperationList ThreeAugment::draw(RandomStream& random) const {
    std::vector<Operation> drawn;
    if (grey) drawn.push_back(Operation::grey);
    if (solarize) drawn.push_back(Operation::solarize);
    if (blur) drawn.push_back(Operation::blur);
    OperationList list;
    const Operation one = drawn[std::size_t(choose(random, std::int64_t(drawn.size())))];
    switch (one) {
        case Operation::solarize: list.add({one, kThreshold}); break;
        case Operation::blur: list.add({one, uniform(random, kRadius.low, kRadius.high)}); break;
        default: list.add({one, 0}); break;
    }
    return list;
}

}  // namespace cait
