// What a recipe asks of the model catalogue, in plain text: headers of the graph stay out of the
// other files here, which include those of the data.
#pragma once

#include <string>

#include "base/image_size.h"
#include "cait/settings.h"
#include "models/setting_facts.h"

namespace cait {

// Throws UsageError for an unknown preset, an unknown setting and a combination that cannot work.
void check_model(const std::string& name, const SettingList& settings = {});

// All settings of the preset with their values, after `settings` were applied.
SettingList model_settings(const std::string& name, const SettingList& settings = {});

// The same with what people want to know of them; nothing where check_model() would throw.
std::vector<SettingFacts> model_setting_facts(const std::string& name,
                                              const SettingList& settings = {});

// The first preset whose name starts so. Throws UsageError where none does.
std::string first_model(const std::string& start);

// The size of the images that the model takes.
ImageSize model_image_size(const std::string& name, const SettingList& settings = {});

// Whether the model has weights for a fixed number of patches, so that one size is all it takes.
bool has_fixed_size(const std::string& name, const SettingList& settings = {});

// Whether the preset, or else some other family, has such a setting. Throws UsageError when the
// preset has it and the value does not fit; rules between settings are check_model's.
bool accepts_setting(const std::string& name, const std::string& key, const std::string& value);

}  // namespace cait
