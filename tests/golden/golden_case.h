// One entry of data/FAMILY.json: a model, its settings and what the public reference answers.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cait/model.h"
#include "support/source_path.h"

namespace cait::golden {

struct Case {
    std::string name;
    std::string model;
    SettingList settings;
    std::int64_t batch = 0;
    std::map<std::string, Tensor> outputs;
};

inline std::filesystem::path folder() { return test::source_path(__FILE__).parent_path() / "data"; }

inline nlohmann::json read_json(const std::string& file) {
    std::ifstream stream(folder() / file);
    if (!stream) throw Error("cannot open golden file " + (folder() / file).string());
    return nlohmann::json::parse(stream);
}

// All cases of all families, named FAMILY_CASE. A case file is a JSON list of models with outputs.
inline std::vector<Case> read_cases() {
    std::vector<Case> cases;
    for (const auto& file : std::filesystem::directory_iterator(folder())) {
        if (file.path().extension() != ".json") continue;
        const auto json = read_json(file.path().filename().string());
        if (!json.is_array() || !json.at(0).contains("outputs")) continue;
        const std::string family = file.path().stem().string();
        for (const auto& entry : json) {
            Case c{family + "_" + entry["name"].get<std::string>(),
                   entry["model"],
                   {},
                   entry["batch"],
                   {}};
            for (const auto& [key, value] : entry["set"].items())
                c.settings.emplace_back(key, value);
            for (const auto& [tap, output] : entry["outputs"].items()) {
                const auto values = output["values"].get<std::vector<float>>();
                const auto shape = output["shape"].get<std::vector<std::int64_t>>();
                c.outputs[tap] = Tensor::of(Shape(shape), values);
            }
            cases.push_back(std::move(c));
        }
    }
    std::ranges::sort(cases, {}, &Case::name);
    return cases;
}

}  // namespace cait::golden
