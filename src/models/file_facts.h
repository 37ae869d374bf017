// What a model file says about itself beside the weights, as metadata entries.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"

namespace cait {

inline constexpr const char* kNameKey = "cait.name";              // of FileFacts::name
inline constexpr const char* kVocabularyKey = "cait.vocabulary";  // of TextFacts, in base64: long

struct FileFacts {
    std::string model;  // name of the preset; empty: the file does not say
    std::string name;   // the model's own
    SettingList settings;
    std::vector<std::string> classes;
    std::optional<Preprocessing> preprocessing;
    Task task = {};
    std::optional<TextFacts> text = {};
    std::map<std::string, std::string> training;

    // Whether they are about the model that is asked for ("" asks for whatever is there).
    bool describe(const std::string& wanted) const {
        return !model.empty() && (wanted.empty() || wanted == model);
    }
    // Whether they promise a class head; files that say nothing of themselves promise none.
    bool has_head() const;
};

// Throws Error, opening with `where`, unless a file may hold these: the kind is one there is, and
// the vocabulary not too large.
void check_text_facts(const TextFacts& facts, const std::string& where);

// Throws Error, naming the file and the entry, for one that is not what it should be.
FileFacts read_facts(const std::map<std::string, std::string>& metadata, const std::string& path);

std::map<std::string, std::string> facts_metadata(const FileFacts& facts);

}  // namespace cait
