#include "data/augment/policy.h"

#include <fmt/format.h>

#include <array>

#include "cait/error.h"
#include "data/augment/operation_level.h"
#include "data/random.h"

namespace cait {

namespace {

using Kind = OperationKind;

struct Step {
    Kind kind;
    double probability;
    double magnitude;
};

struct Pair {
    Step first;
    Step second;
};

using FixedPolicy = std::array<Pair, 25>;

// The ImageNet policy of the paper.
constexpr FixedPolicy kOriginal{{
    {{Kind::posterize_original, 0.4, 8}, {Kind::rotate, 0.6, 9}},
    {{Kind::solarize, 0.6, 5}, {Kind::autocontrast, 0.6, 5}},
    {{Kind::equalize, 0.8, 8}, {Kind::equalize, 0.6, 3}},
    {{Kind::posterize_original, 0.6, 7}, {Kind::posterize_original, 0.6, 6}},
    {{Kind::equalize, 0.4, 7}, {Kind::solarize, 0.2, 4}},
    {{Kind::equalize, 0.4, 4}, {Kind::rotate, 0.8, 8}},
    {{Kind::solarize, 0.6, 3}, {Kind::equalize, 0.6, 7}},
    {{Kind::posterize_original, 0.8, 5}, {Kind::equalize, 1, 2}},
    {{Kind::rotate, 0.2, 3}, {Kind::solarize, 0.6, 8}},
    {{Kind::equalize, 0.6, 8}, {Kind::posterize_original, 0.4, 6}},
    {{Kind::rotate, 0.8, 8}, {Kind::colour, 0.4, 0}},
    {{Kind::rotate, 0.4, 9}, {Kind::equalize, 0.6, 2}},
    {{Kind::equalize, 0, 7}, {Kind::equalize, 0.8, 8}},
    {{Kind::invert, 0.6, 4}, {Kind::equalize, 1, 8}},
    {{Kind::colour, 0.6, 4}, {Kind::contrast, 1, 8}},
    {{Kind::rotate, 0.8, 8}, {Kind::colour, 1, 2}},
    {{Kind::colour, 0.8, 8}, {Kind::solarize, 0.8, 7}},
    {{Kind::sharpness, 0.4, 7}, {Kind::invert, 0.6, 8}},
    {{Kind::shear_x, 0.6, 5}, {Kind::equalize, 1, 9}},
    {{Kind::colour, 0.4, 0}, {Kind::equalize, 0.6, 3}},
    {{Kind::equalize, 0.4, 7}, {Kind::solarize, 0.2, 4}},
    {{Kind::solarize, 0.6, 5}, {Kind::autocontrast, 0.6, 5}},
    {{Kind::invert, 0.6, 4}, {Kind::equalize, 1, 8}},
    {{Kind::colour, 0.6, 4}, {Kind::contrast, 1, 8}},
    {{Kind::equalize, 0.8, 8}, {Kind::equalize, 0.6, 3}},
}};

// The one that came with EfficientNet.
constexpr FixedPolicy kV0{{
    {{Kind::equalize, 0.8, 1}, {Kind::shear_y, 0.8, 4}},
    {{Kind::colour, 0.4, 9}, {Kind::equalize, 0.6, 3}},
    {{Kind::colour, 0.4, 1}, {Kind::rotate, 0.6, 8}},
    {{Kind::solarize, 0.8, 3}, {Kind::equalize, 0.4, 7}},
    {{Kind::solarize, 0.4, 2}, {Kind::solarize, 0.6, 2}},
    {{Kind::colour, 0.2, 0}, {Kind::equalize, 0.8, 8}},
    {{Kind::equalize, 0.4, 8}, {Kind::solarize_add, 0.8, 3}},
    {{Kind::shear_x, 0.2, 9}, {Kind::rotate, 0.6, 8}},
    {{Kind::colour, 0.6, 1}, {Kind::equalize, 1, 2}},
    {{Kind::invert, 0.4, 9}, {Kind::rotate, 0.6, 0}},
    {{Kind::equalize, 1, 9}, {Kind::shear_y, 0.6, 3}},
    {{Kind::colour, 0.4, 7}, {Kind::equalize, 0.6, 0}},
    {{Kind::posterize, 0.4, 6}, {Kind::autocontrast, 0.4, 7}},
    {{Kind::solarize, 0.6, 8}, {Kind::colour, 0.6, 9}},
    {{Kind::solarize, 0.2, 4}, {Kind::rotate, 0.8, 9}},
    {{Kind::rotate, 1, 7}, {Kind::translate_y_rel, 0.8, 9}},
    {{Kind::shear_x, 0, 0}, {Kind::solarize, 0.8, 4}},
    {{Kind::shear_y, 0.8, 0}, {Kind::colour, 0.6, 4}},
    {{Kind::colour, 1, 0}, {Kind::rotate, 0.6, 2}},
    {{Kind::equalize, 0.8, 4}, {Kind::equalize, 0, 8}},
    {{Kind::equalize, 1, 4}, {Kind::autocontrast, 0.6, 2}},
    {{Kind::shear_y, 0.4, 7}, {Kind::solarize_add, 0.6, 7}},
    {{Kind::posterize, 0.8, 2}, {Kind::solarize, 0.6, 10}},
    {{Kind::solarize, 0.6, 8}, {Kind::equalize, 0.6, 1}},
    {{Kind::colour, 0.8, 6}, {Kind::rotate, 0.4, 5}},
}};

constexpr std::array<std::string_view, 4> kPolicyNames{"original", "originalr", "v0", "v0r"};

std::string_view name_in(std::string_view text) { return text.substr(0, text.find('-')); }

bool is_research(AutoAugment::Table table) {
    return table == AutoAugment::Table::originalr || table == AutoAugment::Table::v0r;
}

}  // namespace

bool AutoAugment::knows(std::string_view name) {
    for (const std::string_view known : kPolicyNames)
        if (known == name) return true;
    return false;
}

AutoAugment AutoAugment::parse(std::string_view text) {
    AutoAugment result;
    const std::string_view name = name_in(text);
    if (!knows(name))
        throw UsageError(
            fmt::format("AutoAugment: expected original, originalr, v0 or v0r, found '{}'", name));
    for (std::size_t i = 0; i < kPolicyNames.size(); ++i)
        if (kPolicyNames[i] == name) result.table = Table(i);
    for (const PolicySection& section : policy_sections(text)) {
        if (section.key != "mstd")
            throw UsageError(
                fmt::format("{}: expected mstd with a value, found '{}'", text, section.whole));
        result.magnitude_std = real_value(text, section, 0, 100);
    }
    return result;
}

OperationList AutoAugment::draw(RandomStream& random) const {
    const bool original = table == Table::original || table == Table::originalr;
    const FixedPolicy& policy = original ? kOriginal : kV0;
    const Pair& pair = policy[std::size_t(choose(random, std::int64_t(policy.size())))];
    OperationList list;
    for (const Step& step : {pair.first, pair.second}) {
        const bool posterize =
            step.kind == Kind::posterize || step.kind == Kind::posterize_original;
        list.add(cait::draw(
            {.kind = posterize && is_research(table) ? Kind::posterize_increasing : step.kind,
             .probability = step.probability,
             .magnitude = step.magnitude,
             .magnitude_std = magnitude_std},
            random));
    }
    return list;
}

}  // namespace cait
