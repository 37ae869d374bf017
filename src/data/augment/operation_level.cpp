#include "data/augment/operation_level.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "cait/error.h"
#include "data/random.h"

namespace cait {

namespace {

double either_sign(RandomStream& random, double value) {
    return chance(random, 0.5) ? -value : value;
}

// Multiplying after dividing, as timm does: another order could cut to another whole number.
int whole(double magnitude, double range) { return int((magnitude / kFullMagnitude) * range); }

double enhance(double magnitude) { return (magnitude / kFullMagnitude) * 1.8 + 0.1; }

double enhance_increasing(double magnitude, RandomStream& random) {
    return std::max(0.1, 1.0 + either_sign(random, (magnitude / kFullMagnitude) * 0.9));
}

double between(double magnitude, double low, double high) {
    return std::clamp(low + (high - low) * (magnitude / kFullMagnitude), low, high);
}

}  // namespace

OperationCall at_magnitude(OperationKind kind, double magnitude, RandomStream& random) {
    const auto signed_share = [&](double most) {
        return either_sign(random, (magnitude / kFullMagnitude) * most);
    };
    const int solarize_threshold = std::min(256, whole(magnitude, 256));
    switch (kind) {
        case OperationKind::autocontrast: return {Operation::autocontrast, 0};
        case OperationKind::equalize: return {Operation::equalize, 0};
        case OperationKind::invert: return {Operation::invert, 0};
        case OperationKind::rotate: return {Operation::rotate, signed_share(30)};
        case OperationKind::posterize: return {Operation::posterize, double(whole(magnitude, 4))};
        case OperationKind::posterize_increasing:
            return {Operation::posterize, double(4 - whole(magnitude, 4))};
        case OperationKind::posterize_original:
            return {Operation::posterize, double(whole(magnitude, 4) + 4)};
        case OperationKind::solarize: return {Operation::solarize, double(solarize_threshold)};
        case OperationKind::solarize_increasing:
            return {Operation::solarize, double(256 - solarize_threshold)};
        case OperationKind::solarize_add:
            return {Operation::solarize_add, double(std::min(128, whole(magnitude, 110)))};
        case OperationKind::colour: return {Operation::colour, enhance(magnitude)};
        case OperationKind::contrast: return {Operation::contrast, enhance(magnitude)};
        case OperationKind::brightness: return {Operation::brightness, enhance(magnitude)};
        case OperationKind::sharpness: return {Operation::sharpness, enhance(magnitude)};
        case OperationKind::colour_increasing:
            return {Operation::colour, enhance_increasing(magnitude, random)};
        case OperationKind::contrast_increasing:
            return {Operation::contrast, enhance_increasing(magnitude, random)};
        case OperationKind::brightness_increasing:
            return {Operation::brightness, enhance_increasing(magnitude, random)};
        case OperationKind::sharpness_increasing:
            return {Operation::sharpness, enhance_increasing(magnitude, random)};
        case OperationKind::shear_x: return {Operation::shear_x, signed_share(0.3)};
        case OperationKind::shear_y: return {Operation::shear_y, signed_share(0.3)};
        case OperationKind::translate_x_rel:
            return {Operation::translate_x_share, signed_share(0.45)};
        case OperationKind::translate_y_rel:
            return {Operation::translate_y_share, signed_share(0.45)};
        case OperationKind::desaturate:
            return {Operation::colour, std::clamp(1 - between(magnitude, 0.5, 1), 0.0, 1.0)};
        case OperationKind::gaussian_blur: return {Operation::blur, between(magnitude, 0.1, 2)};
    }
    return {};
}

OperationCall draw(const PolicyStep& step, RandomStream& random) {
    if (step.probability < 1 && !chance(random, step.probability)) return {};
    double magnitude = step.magnitude;
    if (std::isinf(step.magnitude_std))
        magnitude = uniform(random, 0, step.magnitude);
    else if (step.magnitude_std > 0)
        magnitude += step.magnitude_std * double(random.normal());
    return at_magnitude(step.kind, std::clamp(magnitude, 0.0, step.magnitude_max), random);
}

namespace {

// inf and nan, which from_chars would take, do not start with a digit and so never get here.
template <class Number>
Number number(std::string_view policy, const PolicySection& section, Number low, Number high,
              std::string_view kind) {
    Number value{};
    const char* end = section.value.data() + section.value.size();
    const auto [stop, error] = std::from_chars(section.value.data(), end, value);
    if (error != std::errc{} || stop != end || value < low || value > high)
        throw UsageError(fmt::format("{}: expected {} from {} to {} after '{}', found '{}'", policy,
                                     kind, low, high, section.key, section.whole));
    return value;
}

}  // namespace

std::vector<PolicySection> policy_sections(std::string_view text) {
    std::vector<PolicySection> sections;
    for (std::size_t start = text.find('-'); start != std::string_view::npos;) {
        const std::size_t next = text.find('-', start + 1);
        const std::string_view whole = text.substr(start + 1, next - start - 1);
        const std::size_t digit = std::min(whole.find_first_of("0123456789"), whole.size());
        sections.push_back({whole.substr(0, digit), whole.substr(digit), whole});
        start = next;
    }
    return sections;
}

int whole_value(std::string_view policy, const PolicySection& section, int low, int high) {
    return number<int>(policy, section, low, high, "a whole number");
}

double real_value(std::string_view policy, const PolicySection& section, double low, double high) {
    return number<double>(policy, section, low, high, "a number");
}

}  // namespace cait
