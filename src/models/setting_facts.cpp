#include "models/setting_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cait/error.h"
#include "models/catalogue.h"

namespace cait {

namespace {

// When something would read it; empty: something does.
std::string unread_with(const SettingFacts& setting, const SettingUse& use) {
    if (!setting.unread.empty()) return setting.unread;
    if (!use.trains && drops(setting)) return "`cait train`";
    if (use.loads && setting.name == "residual_init") return "fresh weights, without --weights";
    return {};
}

std::string unread_in(const ModelSpec& spec, const std::string& name, const SettingUse& use) {
    for (const SettingFacts& facts : setting_facts(spec))
        if (facts.name == name) return unread_with(facts, use);
    return {};
}

}  // namespace

std::vector<SettingFacts> setting_facts(const ModelSpec& spec) {
    Settings keys;
    spec.architecture->bind(keys);
    std::vector<SettingFacts> facts;
    for (const Settings::Key& key : keys.keys())
        facts.push_back({key.name, key.get(), key.help, key.expected, key.unread()});
    return facts;
}

bool drops(const SettingFacts& setting) {
    return setting.name.find("drop") != std::string::npos && setting.value != "0";
}

void refuse_unused_settings(const ModelSpec& spec, const SettingList& own, const SettingUse& use) {
    refuse_unused_settings(std::vector<const ModelSpec*>{&spec}, own, use);
}

void refuse_unused_settings(const std::vector<const ModelSpec*>& specs, const SettingList& own,
                            const SettingUse& use) {
    std::vector<std::string> lines;
    for (const auto& [name, value] : own) {
        std::string when;
        const bool unused = std::ranges::all_of(specs, [&](const ModelSpec* spec) {
            const std::string found = unread_in(*spec, name, use);
            if (when.empty()) when = found;
            return !found.empty();
        });
        if (!unused || specs.empty()) continue;
        std::string line =
            fmt::format("model.{}: has no effect: it is read only with {}", name, when);
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
    if (lines.empty()) return;
    throw UsageError(fmt::format("{} (leave {} out, or add --allow-unused)", fmt::join(lines, "; "),
                                 lines.size() == 1 ? "it" : "them"));
}

}  // namespace cait
