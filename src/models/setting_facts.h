// The settings of a model with what people want to know of them, as plain values.
#pragma once

#include <string>
#include <vector>

#include "cait/settings.h"

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

// Whether it is dropout or stochastic depth, which only training has, and not switched off.
bool drops(const SettingFacts& setting);

// What is done with a model besides recording it.
struct SettingUse {
    bool trains = false;  // now, or later by somebody who reads the settings from a file
    bool loads = false;   // weights, so that initial values mean nothing
};

// Throws UsageError that names those of a user's own settings which nothing reads, and why.
void refuse_unused_settings(const ModelSpec& spec, const SettingList& own, const SettingUse& use);
// The same of settings for several models: one that some of them reads has an effect.
void refuse_unused_settings(const std::vector<const ModelSpec*>& specs, const SettingList& own,
                            const SettingUse& use);

}  // namespace cait
