// What a weight file says about itself, in a few lines for people and as JSON: which model it is,
// how large, what it was trained on and how good it is.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/describe.h"

namespace cait::app {

struct FileSummary {
    std::string path;
    const WeightFile& file;
    std::optional<Description> described{};  // none where nothing settles the model
    std::vector<std::string> fitting{};      // presets, of a file that nobody names a model for
    bool recognised = false;                 // whether `described` is the only one of these

    std::string name() const;  // the model's own; may be empty
};

// `model` may be empty. Reads no weights.
FileSummary summarise(const WeightFile& file, const std::string& path, const std::string& model,
                      const SettingList& settings);

void print_summary(const FileSummary& summary);
nlohmann::json summary_json(const FileSummary& summary);

}  // namespace cait::app
