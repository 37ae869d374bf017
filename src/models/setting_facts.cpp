#include "models/setting_facts.h"

#include "models/catalogue.h"

namespace cait {

std::vector<SettingFacts> setting_facts(const ModelSpec& spec) {
    Settings keys;
    spec.architecture->bind(keys);
    std::vector<SettingFacts> facts;
    for (const Settings::Key& key : keys.keys())
        facts.push_back({key.name, key.get(), key.help, key.expected, key.unread()});
    return facts;
}

}  // namespace cait
