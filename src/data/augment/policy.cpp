#include "data/augment/policy.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "cait/error.h"
#include "data/augment/operation_level.h"
#include "data/random.h"

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

namespace {

using Op = Operation;

// In the order of torchvision's list.
constexpr std::array<Op, TrivialAugment::kOperations> kList{
    Op::identity,  Op::shear_x,    Op::shear_y,      Op::translate_x, Op::translate_y,
    Op::rotate,    Op::brightness, Op::colour,       Op::contrast,    Op::sharpness,
    Op::posterize, Op::solarize,   Op::autocontrast, Op::equalize};

}  // namespace

OperationCall TrivialAugment::call(int index, int strength, bool negative) {
    const Op operation = kList[std::size_t(index)];
    const double sign = negative ? -1 : 1;
    const auto share = float(strength) / float(kStrengths - 1);
    switch (operation) {
        case Op::shear_x:
        case Op::shear_y: return {operation, sign * double(share * 0.99F)};
        case Op::translate_x:
        case Op::translate_y:
            // Whole pixels; torchvision moves the image to the right, timm (and we) to the left.
            return {operation, -sign * std::trunc(double(share * 32.0F))};
        case Op::rotate: return {operation, sign * double(share * 135.0F)};
        case Op::brightness:
        case Op::colour:
        case Op::contrast:
        case Op::sharpness: return {operation, 1 + sign * double(share * 0.99F)};
        case Op::posterize: return {operation, 8 - std::nearbyint(double(strength) / 5)};
        case Op::solarize: return {operation, double(255.0F - share * 255.0F)};
        default: return {operation, 0};
    }
}

OperationList TrivialAugment::draw(RandomStream& random) const {
    const auto index = int(choose(random, kOperations));
    const auto strength = int(choose(random, kStrengths));
    OperationList list;
    list.add(call(index, strength, chance(random, 0.5)));
    return list;
}

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
