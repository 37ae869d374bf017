#include "models/file_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/base64.h"
#include "base/printable.h"
#include "image/preprocessing_json.h"
#include "models/task.h"
#include "weights/metadata_json.h"

namespace cait {

namespace {

using Json = nlohmann::json;

constexpr const char* kModel = "cait.model";
constexpr const char* kSettings = "cait.settings";
constexpr const char* kClasses = "cait.classes";
constexpr const char* kPreprocess = "cait.preprocess";
constexpr const char* kTask = "cait.task";
constexpr const char* kTraining = "cait.training";
constexpr const char* kText = "cait.text";

constexpr std::size_t kMostVocabulary = std::size_t{16} << 20;  // bytes
constexpr std::size_t kLongestLanguage = 64;

// One entry of the metadata; every complaint names the file and the entry.
class Entry {
public:
    Entry(const std::map<std::string, std::string>& metadata, const char* key,
          const std::string& path)
        : key_(key), path_(path) {
        const auto found = metadata.find(key);
        if (found == metadata.end()) return;
        json_ = parse_metadata_json(found->second);
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
        try {
            return json_.get<Preprocessing>();
        } catch (const Error& error) {
            throw Error(fmt::format("{}: metadata '{}': {}", path_, key_, error.what()));
        }
    }

    Task task() const {
        if (!json_.is_object() || !json_.contains("name") || !json_["name"].is_string() ||
            !json_.contains("threshold") || !json_["threshold"].is_number())
            refuse("a JSON object with a name and a threshold");
        Task task;
        task.name = json_["name"].get<std::string>();
        task.threshold = json_["threshold"].get<double>();
        if (json_.contains("ignore")) task.ignore = byte(json_["ignore"]);
        if (json_.contains("colours")) task.colours = colours(json_["colours"]);
        return task;
    }

private:
    std::uint8_t byte(const Json& value) const {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 255)
            refuse("whole numbers from 0 to 255 for ignore and colours");
        return std::uint8_t(value.get<std::uint64_t>());
    }

    std::vector<std::array<std::uint8_t, 3>> colours(const Json& list) const {
        if (!list.is_array()) refuse("a JSON list of colours");
        std::vector<std::array<std::uint8_t, 3>> result;
        for (const Json& one : list) {
            if (!one.is_array() || one.size() != 3) refuse("three numbers for each colour");
            result.push_back({byte(one[0]), byte(one[1]), byte(one[2])});
        }
        return result;
    }

    [[noreturn]] void refuse(const std::string& expected) const {
        throw Error(fmt::format("{}: metadata '{}': expected {}", path_, key_, expected));
    }

    const char* key_;
    const std::string& path_;
    Json json_;
    bool there_ = false;
};

[[noreturn]] void refuse_vocabulary(const std::string& where, std::string_view found) {
    throw Error(fmt::format("{}: expected a vocabulary of at most {} MiB in base64, found {}",
                            where, kMostVocabulary >> 20, found));
}

// Both entries, or none.
std::optional<TextFacts> read_text(const std::map<std::string, std::string>& metadata,
                                   const std::string& path) {
    const Entry entry(metadata, kText, path);
    const auto vocabulary = metadata.find(kVocabularyKey);
    const std::string where = fmt::format("{}: metadata '{}'", path, kVocabularyKey);
    if (!entry && vocabulary == metadata.end()) return std::nullopt;
    if (!entry) throw Error(fmt::format("{}: expected '{}' beside it, found none", where, kText));
    if (vocabulary == metadata.end()) refuse_vocabulary(where, "none");
    if (vocabulary->second.size() > kMostVocabulary / 3 * 4 + 4)
        refuse_vocabulary(where, fmt::format("{} characters", vocabulary->second.size()));
    std::optional<std::string> bytes = from_base64(vocabulary->second);
    if (!bytes) refuse_vocabulary(where, "something else");
    std::map<std::string, std::string> texts = entry.texts();
    TextFacts facts{std::move(texts["source"]), std::move(texts["target"]),
                    std::move(texts["kind"]), std::move(*bytes)};
    check_text_facts(facts, fmt::format("{}: metadata '{}'", path, kText));
    return facts;
}

}  // namespace

void check_text_facts(const TextFacts& facts, const std::string& where) {
    constexpr std::array<std::string_view, 3> kKinds{"sentencepiece", "bpe", "words"};
    if (std::ranges::find(kKinds, facts.kind) == kKinds.end())
        throw Error(fmt::format("{}: kind: expected one of {}, found '{}'", where,
                                fmt::join(kKinds, ", "), printable(facts.kind)));
    for (const std::string& language : {facts.source, facts.target})
        if (language.size() > kLongestLanguage)
            throw Error(fmt::format("{}: expected languages of at most {} bytes, found {}", where,
                                    kLongestLanguage, language.size()));
    if (facts.vocabulary.size() > kMostVocabulary)
        throw Error(fmt::format("{}: expected a vocabulary of at most {} bytes, found {}", where,
                                kMostVocabulary, facts.vocabulary.size()));
}

bool FileFacts::has_head() const {
    if (model.empty()) return false;
    if (task.name == kSegment || task.name == kDetect || task.name == kTranslate) return true;
    const auto given = std::ranges::find(settings, "classes", &SettingList::value_type::first);
    return given == settings.end() || given->second != "0";
}

FileFacts read_facts(const std::map<std::string, std::string>& metadata, const std::string& path) {
    FileFacts facts;
    if (const auto found = metadata.find(kModel); found != metadata.end())
        facts.model = found->second;
    if (const auto found = metadata.find(kNameKey); found != metadata.end())
        facts.name = found->second;
    if (const Entry entry(metadata, kSettings, path); entry) {
        const auto texts = entry.texts();
        facts.settings.assign(texts.begin(), texts.end());
    }
    if (const Entry entry(metadata, kClasses, path); entry) facts.classes = entry.list();
    if (const Entry entry(metadata, kPreprocess, path); entry)
        facts.preprocessing = entry.preprocessing();
    if (const Entry entry(metadata, kTask, path); entry) facts.task = entry.task();
    facts.text = read_text(metadata, path);
    if (const Entry entry(metadata, kTraining, path); entry) facts.training = entry.texts();
    return facts;
}

std::map<std::string, std::string> facts_metadata(const FileFacts& facts) {
    std::map<std::string, std::string> metadata;
    metadata[kModel] = facts.model;
    if (!facts.name.empty()) metadata[kNameKey] = facts.name;
    metadata[kSettings] =
        Json(std::map<std::string, std::string>(facts.settings.begin(), facts.settings.end()))
            .dump();
    if (!facts.classes.empty())
        metadata[kClasses] =
            Json(facts.classes).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (facts.preprocessing) metadata[kPreprocess] = Json(*facts.preprocessing).dump();
    if (facts.task != Task()) {
        Json task{{"name", facts.task.name}, {"threshold", facts.task.threshold}};
        if (facts.task.ignore != Task().ignore) task["ignore"] = facts.task.ignore;
        if (!facts.task.colours.empty()) task["colours"] = facts.task.colours;
        metadata[kTask] = task.dump();
    }
    if (facts.text) {
        const std::map<std::string, std::string> texts{{"source", facts.text->source},
                                                       {"target", facts.text->target},
                                                       {"kind", facts.text->kind}};
        metadata[kText] = Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
        metadata[kVocabularyKey] = base64(std::as_bytes(std::span(facts.text->vocabulary)));
    }
    if (!facts.training.empty())
        metadata[kTraining] =
            Json(facts.training).dump(-1, ' ', false, Json::error_handler_t::replace);
    return metadata;
}

}  // namespace cait
