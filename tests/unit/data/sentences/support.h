// Helpers of the tests of text: stored vocabularies and cases, and pairs in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/sentences/vocabulary.h"
#include "support/source_path.h"
#include "support/temporary_folder.h"

namespace cait::text_test {

// Of data/, which tests/golden/make_vocabularies.py writes.
inline std::filesystem::path stored(const std::string& name) {
    return test::source_path(__FILE__).parent_path() / "data" / name;
}
inline nlohmann::json stored_json(const std::string& name) {
    return nlohmann::json::parse(read_file(stored(name)));
}

using Ids = std::vector<std::int64_t>;

// "w0", "w1", … with the numbers 4, 5, …
inline VocabularyPtr numbered_words(int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += "w" + std::to_string(i) + " 1\n";
    return read_vocabulary("words", list, "test");
}

// Pairs in memory.
class MemoryPairs final : public Dataset {
public:
    explicit MemoryPairs(std::vector<SentencePair> pairs)
        : Dataset("memory", {}), pairs_(std::move(pairs)) {}

    std::size_t size() const noexcept override { return pairs_.size(); }
    std::string name(std::size_t i) const override { return "pair " + std::to_string(i); }
    void read(std::size_t, const DecodeOptions&, Image&) const override {}
    std::int64_t label(std::size_t) const override { return kUnlabelled; }
    bool has_sentences() const override { return true; }
    SentencePair sentences(std::size_t i) const override { return pairs_.at(i); }
    std::pair<std::string, std::string> languages() const override { return {"en", "de"}; }

private:
    std::vector<SentencePair> pairs_;
};

// `length` words of numbered_words(10), which begin with w0, w1, … by `first`.
inline std::string words(int length, int first = 0) {
    std::string line;
    for (int i = 0; i < length; ++i)
        line += (i > 0 ? " w" : "w") + std::to_string((first + i) % 10);
    return line;
}

}  // namespace cait::text_test
