// The settings of a model with what people want to know of them, as plain values.
#pragma once

#include <string>
#include <vector>

namespace cait {

struct ModelSpec;

struct SettingFacts {
    std::string name;   // "class_layers"
    std::string value;  // as it is now
    std::string help;
    std::string expected;  // the values that it takes; may be empty
    std::string unread;    // when something would read it; empty: something does
};

// In the order in which the family declares them.
std::vector<SettingFacts> setting_facts(const ModelSpec& spec);

}  // namespace cait
