#include "api/file_facts.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace cait {

namespace {

using Json = nlohmann::json;

constexpr const char* kModel = "cait.model";
constexpr const char* kSettings = "cait.settings";
constexpr const char* kClasses = "cait.classes";
constexpr const char* kPreprocess = "cait.preprocess";
constexpr const char* kTraining = "cait.training";

// One entry of the metadata; every complaint names the file and the entry.
class Entry {
public:
    Entry(const std::map<std::string, std::string>& metadata, const char* key,
          const std::string& path)
        : key_(key), path_(path) {
        const auto found = metadata.find(key);
        if (found == metadata.end()) return;
        json_ = Json::parse(found->second, nullptr, false);
        there_ = true;
    }

    explicit operator bool() const { return there_; }

    std::map<std::string, std::string> texts() const {
        if (!json_.is_object()) refuse("a JSON object");
        std::map<std::string, std::string> result;
        for (const auto& [name, value] : json_.items()) {
            if (!value.is_string()) refuse(fmt::format("a string for '{}'", name));
            result.emplace(name, value.get<std::string>());
        }
        return result;
    }

    std::vector<std::string> list() const {
        if (!json_.is_array()) refuse("a JSON list of strings");
        std::vector<std::string> result;
        for (const Json& value : json_) {
            if (!value.is_string()) refuse("a JSON list of strings");
            result.push_back(value.get<std::string>());
        }
        return result;
    }

    Preprocessing preprocessing() const {
        if (!json_.is_object()) refuse("a JSON object");
        Preprocessing result;
        result.crop_ratio = number(json_.value("crop_ratio", Json(result.crop_ratio)));
        result.crop_mode = text("crop_mode", result.crop_mode);
        result.interpolation = text("interpolation", result.interpolation);
        result.mean = channels("mean", result.mean);
        result.deviation = channels("std", result.deviation);
        return result;
    }

private:
    [[noreturn]] void refuse(const std::string& expected) const {
        throw Error(fmt::format("{}: metadata '{}': expected {}", path_, key_, expected));
    }

    double number(const Json& value) const {
        if (!value.is_number() || !std::isfinite(value.get<double>())) refuse("finite numbers");
        return value.get<double>();
    }

    std::string text(const char* name, const std::string& otherwise) const {
        const auto found = json_.find(name);
        if (found == json_.end()) return otherwise;
        if (!found->is_string()) refuse(fmt::format("a string for '{}'", name));
        return found->get<std::string>();
    }

    std::array<float, 3> channels(const char* name, std::array<float, 3> result) const {
        const auto found = json_.find(name);
        if (found == json_.end()) return result;
        if (!found->is_array() || found->size() != result.size())
            refuse(fmt::format("three numbers for '{}'", name));
        for (std::size_t i = 0; i < result.size(); ++i) result[i] = float(number((*found)[i]));
        return result;
    }

    const char* key_;
    const std::string& path_;
    Json json_;
    bool there_ = false;
};

// 0.485 and not 0.48500001430511475: what a float is meant to be.
Json short_numbers(const std::array<float, 3>& values) {
    Json list = Json::array();
    for (const float value : values) list.push_back(std::stod(fmt::format("{}", value)));
    return list;
}

}  // namespace

FileFacts read_facts(const std::map<std::string, std::string>& metadata, const std::string& path) {
    FileFacts facts;
    if (const auto found = metadata.find(kModel); found != metadata.end())
        facts.model = found->second;
    if (const Entry entry(metadata, kSettings, path); entry) {
        const auto texts = entry.texts();
        facts.settings.assign(texts.begin(), texts.end());
    }
    if (const Entry entry(metadata, kClasses, path); entry) facts.classes = entry.list();
    if (const Entry entry(metadata, kPreprocess, path); entry)
        facts.preprocessing = entry.preprocessing();
    if (const Entry entry(metadata, kTraining, path); entry) facts.training = entry.texts();
    return facts;
}

std::map<std::string, std::string> facts_metadata(const FileFacts& facts) {
    std::map<std::string, std::string> metadata;
    metadata[kModel] = facts.model;
    metadata[kSettings] =
        Json(std::map<std::string, std::string>(facts.settings.begin(), facts.settings.end()))
            .dump();
    if (!facts.classes.empty())
        metadata[kClasses] =
            Json(facts.classes).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (facts.preprocessing) {
        const Preprocessing& p = *facts.preprocessing;
        metadata[kPreprocess] = Json{{"crop_ratio", p.crop_ratio},
                                     {"crop_mode", p.crop_mode},
                                     {"interpolation", p.interpolation},
                                     {"mean", short_numbers(p.mean)},
                                     {"std", short_numbers(p.deviation)}}
                                    .dump();
    }
    if (!facts.training.empty())
        metadata[kTraining] =
            Json(facts.training).dump(-1, ' ', false, Json::error_handler_t::replace);
    return metadata;
}

}  // namespace cait
