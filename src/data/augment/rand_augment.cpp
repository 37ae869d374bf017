#include "data/augment/policy.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

#include "cait/error.h"
#include "data/augment/operation_level.h"
#include "data/random.h"

namespace cait {

namespace {

using Kind = OperationKind;

struct Choice {
    Kind kind;
    double weight;
};

constexpr std::size_t kMostChoices = 15;

constexpr std::array<Choice, 15> kStandard{{
    {Kind::autocontrast, 1},
    {Kind::equalize, 1},
    {Kind::invert, 1},
    {Kind::rotate, 1},
    {Kind::posterize, 1},
    {Kind::solarize, 1},
    {Kind::solarize_add, 1},
    {Kind::colour, 1},
    {Kind::contrast, 1},
    {Kind::brightness, 1},
    {Kind::sharpness, 1},
    {Kind::shear_x, 1},
    {Kind::shear_y, 1},
    {Kind::translate_x_rel, 1},
    {Kind::translate_y_rel, 1},
}};

constexpr std::array<Choice, 15> kIncreasing{{
    {Kind::autocontrast, 1},
    {Kind::equalize, 1},
    {Kind::invert, 1},
    {Kind::rotate, 1},
    {Kind::posterize_increasing, 1},
    {Kind::solarize_increasing, 1},
    {Kind::solarize_add, 1},
    {Kind::colour_increasing, 1},
    {Kind::contrast_increasing, 1},
    {Kind::brightness_increasing, 1},
    {Kind::sharpness_increasing, 1},
    {Kind::shear_x, 1},
    {Kind::shear_y, 1},
    {Kind::translate_x_rel, 1},
    {Kind::translate_y_rel, 1},
}};

constexpr std::array<Choice, 15> kWeights{{
    {Kind::rotate, 3},
    {Kind::shear_x, 2},
    {Kind::shear_y, 2},
    {Kind::translate_x_rel, 1},
    {Kind::translate_y_rel, 1},
    {Kind::colour_increasing, 0.25},
    {Kind::sharpness_increasing, 0.25},
    {Kind::autocontrast, 0.25},
    {Kind::solarize_increasing, 0.05},
    {Kind::solarize_add, 0.05},
    {Kind::contrast_increasing, 0.05},
    {Kind::brightness_increasing, 0.05},
    {Kind::equalize, 0.05},
    {Kind::posterize_increasing, 0.05},
    {Kind::invert, 0.05},
}};

constexpr std::array<Choice, 3> kThree{{
    {Kind::solarize_increasing, 1},
    {Kind::desaturate, 1},
    {Kind::gaussian_blur, 1},
}};

constexpr std::array<Choice, 14> kThreeWeights{{
    {Kind::solarize_increasing, 6},
    {Kind::desaturate, 6},
    {Kind::gaussian_blur, 6},
    {Kind::rotate, 3},
    {Kind::shear_x, 2},
    {Kind::shear_y, 2},
    {Kind::posterize_increasing, 1},
    {Kind::autocontrast, 1},
    {Kind::colour_increasing, 1},
    {Kind::sharpness_increasing, 1},
    {Kind::contrast_increasing, 1},
    {Kind::brightness_increasing, 1},
    {Kind::equalize, 1},
    {Kind::invert, 1},
}};

std::span<const Choice> choices_of(const RandAugment& augment) {
    switch (augment.set) {
        case RandAugment::Set::weights: return kWeights;
        case RandAugment::Set::three: return kThree;
        case RandAugment::Set::three_weights: return kThreeWeights;
        case RandAugment::Set::standard: break;
    }
    return augment.increasing ? std::span<const Choice>(kIncreasing) : kStandard;
}

// Lists with weights are drawn from without replacement, the others with.
bool is_weighted(RandAugment::Set set) {
    return set == RandAugment::Set::weights || set == RandAugment::Set::three_weights;
}

constexpr std::array<std::string_view, 4> kSetNames{"", "weights", "3a", "3aw"};

RandAugment::Set parse_set(std::string_view text, std::string_view name) {
    for (std::size_t i = 1; i < kSetNames.size(); ++i)
        if (kSetNames[i] == name) return RandAugment::Set(i);
    throw UsageError(fmt::format("{}: expected tweights, t3a or t3aw, found 't{}'", text, name));
}

}  // namespace

RandAugment RandAugment::parse(std::string_view text) {
    if (text.substr(0, text.find('-')) != "rand")
        throw UsageError(fmt::format("RandAugment: expected 'rand-…', found '{}'", text));
    constexpr double kUniformAbove = 100;
    constexpr int kMost = std::numeric_limits<int>::max();
    RandAugment result;
    for (const PolicySection& section : policy_sections(text)) {
        if (section.whole.starts_with('t')) {
            result.set = parse_set(text, section.whole.substr(1));
        } else if (section.key == "m") {
            result.magnitude = whole_value(text, section, 0, kMost);
        } else if (section.key == "n") {
            result.layers = whole_value(text, section, 1, int(OperationList::kMost));
        } else if (section.key == "p") {
            result.probability = real_value(text, section, 0, 1);
        } else if (section.key == "mstd") {
            result.magnitude_std = real_value(text, section, 0, 1e9);
            if (result.magnitude_std > kUniformAbove)
                result.magnitude_std = std::numeric_limits<double>::infinity();
        } else if (section.key == "mmax") {
            result.magnitude_max = whole_value(text, section, 1, kMost);
        } else if (section.key == "inc") {
            result.increasing = whole_value(text, section, 0, 1) != 0;
        } else if (section.key == "w") {
            throw UsageError(
                fmt::format("{}: section '{}' was removed from timm; 'tweights' is the nearest",
                            text, section.whole));
        } else {
            throw UsageError(
                fmt::format("{}: expected m, n, p, mstd, mmax, inc or t with a value, found '{}'",
                            text, section.whole));
        }
    }
    const std::size_t available = choices_of(result).size();
    if (is_weighted(result.set) && std::size_t(result.layers) > available)
        throw UsageError(fmt::format("{}: expected n up to {}, the operations there are, found {}",
                                     text, available, result.layers));
    return result;
}

OperationList RandAugment::draw(RandomStream& random) const {
    const std::span<const Choice> choices = choices_of(*this);
    std::array<double, kMostChoices> weights{};
    double total = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) total += weights[i] = choices[i].weight;

    OperationList list;
    PolicyStep step{.probability = probability,
                    .magnitude = double(magnitude),
                    .magnitude_std = magnitude_std,
                    .magnitude_max = double(magnitude_max)};
    for (int layer = 0; layer < layers; ++layer) {
        double point = uniform(random, 0, total);
        std::size_t index = 0;
        while (index + 1 < choices.size() && (point >= weights[index] || weights[index] == 0))
            point -= weights[index++];
        // Rounding may leave the point at the very end, on an operation that is already taken.
        while (weights[index] == 0) --index;
        step.kind = choices[index].kind;
        list.add(cait::draw(step, random));
        if (is_weighted(set)) {
            total -= weights[index];
            weights[index] = 0;
        }
    }
    return list;
}

}  // namespace cait
