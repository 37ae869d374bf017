#include "data/augment/policy_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cait/error.h"

namespace cait {

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
