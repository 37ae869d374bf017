// Reading the dash-separated syntax of augmentation policies: a name, then sections such as
// "mstd0.5" of a key and a number.
#pragma once

#include <string_view>
#include <vector>

namespace cait {

struct PolicySection {
    std::string_view key;
    std::string_view value;
    std::string_view whole;
};

// The sections after the first; the key ends where the first digit is.
std::vector<PolicySection> policy_sections(std::string_view text);

// Throw UsageError that names the policy and the section when the value is not such a number.
int whole_value(std::string_view policy, const PolicySection& section, int low, int high);
double real_value(std::string_view policy, const PolicySection& section, double low, double high);

}  // namespace cait
