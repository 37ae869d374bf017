// Anybody's text for translation: lines that mean the same, FOLDER/train.en beside FOLDER/train.de,
// plain or packed by gzip or xz.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/formats/line_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 3> kEndings = {"", ".gz", ".xz"};

class TextPairs final : public Dataset {
public:
    TextPairs(std::string source, std::pair<std::string, std::string> languages,
              const fs::path& source_file, const fs::path& target_file)
        : Dataset(std::move(source), {}),
          languages_(std::move(languages)),
          source_(source_file),
          target_(target_file) {
        if (source_.size() != target_.size())
            throw Error(fmt::format(
                "{} and {}: expected the same number of lines, found {} and {}; {}:{} has no "
                "partner",
                source_file.string(), target_file.string(), source_.size(), target_.size(),
                (source_.size() > target_.size() ? source_file : target_file).string(),
                std::min(source_.size(), target_.size()) + 1));
        if (source_.size() == 0)
            throw Error(fmt::format("{}: holds no sentences", source_file.string()));
    }

    std::size_t size() const noexcept override { return source_.size(); }
    std::string name(std::size_t i) const override { return source_.name(i); }
    void read(std::size_t i, const DecodeOptions&, Image&) const override {
        throw Error(fmt::format("{}: expected an image, found a sentence", name(i)));
    }
    std::int64_t label(std::size_t) const override { return kUnlabelled; }
    std::vector<std::int64_t> labels(std::size_t) const override { return {}; }

    bool has_sentences() const override { return true; }
    SentencePair sentences(std::size_t i) const override {
        return {source_.line(i), target_.line(i)};
    }
    std::pair<std::string, std::string> languages() const override { return languages_; }

private:
    std::pair<std::string, std::string> languages_;
    LineFile source_, target_;
};

std::string language(const DatasetUri& uri, const char* side) {
    constexpr std::size_t kLongest = 32;
    const auto name = uri.option(side);
    if (!name)
        throw UsageError(
            fmt::format("{}: expected the option {}, the ending of the files of a "
                        "language, as in text:FOLDER?source=en&target=de",
                        uri.text, side));
    const auto is_fine = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_';
    };
    if (name->empty() || name->size() > kLongest || !std::ranges::all_of(*name, is_fine))
        throw UsageError(fmt::format("{}: {}: expected a language such as en, found {}", uri.text,
                                     side, display_name(*name)));
    return *name;
}

// FOLDER/PART.LANGUAGE, or the same packed; empty where there is none.
fs::path find_side(const fs::path& folder, const std::string& part, const std::string& language) {
    for (const std::string_view ending : kEndings) {
        fs::path file = folder / fmt::format("{}.{}{}", part, language, ending);
        std::error_code ignored;
        if (fs::exists(file, ignored)) return file;
    }
    return {};
}

// What may stand before ".LANGUAGE" in the files of a split; of tests any name that begins so.
std::vector<std::string> names_of_split(Split split) {
    switch (split) {
        case Split::val: return {"val", "valid", "validation", "dev"};
        case Split::test: return {"test"};
        default: return {"train"};
    }
}

// The names in the folder before the ending of a language, or of any; each once, in order.
std::set<std::string> parts_in(const fs::path& folder, const std::string& language = {}) {
    std::set<std::string> parts;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        std::string name = entry.path().filename().string();
        for (const std::string_view ending : {kEndings[1], kEndings[2]})
            if (name.ends_with(ending)) name.resize(name.size() - ending.size());
        const std::size_t dot = name.rfind('.');
        if (dot == std::string::npos || dot == 0) continue;
        if (language.empty() || std::string_view(name).substr(dot + 1) == language)
            parts.insert(name.substr(0, dot));
    }
    return parts;
}

std::string part_name(const DatasetUri& uri, Split split, const std::string& source,
                      const std::string& target) {
    if (const auto part = uri.option("part")) {
        if (part->empty() || part->find('/') != std::string::npos || part->starts_with('.'))
            throw UsageError(fmt::format("{}: part: expected a name such as test_2016, found {}",
                                         uri.text, display_name(*part)));
        return *part;
    }
    const std::vector<std::string> names = names_of_split(split);
    for (const std::string& name : names)
        if (!find_side(uri.path, name, source).empty()) return name;
    if (split == Split::test) {
        std::vector<std::string> tests;
        for (const std::string& part : parts_in(uri.path, source))
            if (part.starts_with("test") && !find_side(uri.path, part, target).empty())
                tests.push_back(part);
        if (tests.size() == 1) return tests.front();
        if (tests.size() > 1)
            throw UsageError(fmt::format("{}: found several tests: choose one by part={}", uri.text,
                                         fmt::join(tests, " or part=")));
    }
    throw Error(fmt::format("{}: expected {}.{} in {}, plain or as .gz or .xz; found no such file",
                            uri.text, fmt::join(names, fmt::format(".{} or ", source)), source,
                            uri.path));
}

DatasetPtr open_text_pairs(const DatasetUri& uri, Split split) {
    const std::string source = language(uri, "source"), target = language(uri, "target");
    const std::string part = part_name(uri, split, source, target);
    const auto side = [&](const std::string& name) {
        fs::path file = find_side(uri.path, part, name);
        if (file.empty())
            throw Error(
                fmt::format("{}: expected {}.{} in {}, plain or as .gz or .xz; found no "
                            "such file",
                            uri.text, part, name, uri.path));
        return file;
    };
    const fs::path source_file = side(source), target_file = side(target);
    return std::make_shared<TextPairs>(uri.text, std::pair(source, target), source_file,
                                       target_file);
}

// Of several tests none is the test part.
std::vector<Split> text_parts(const fs::path& folder) {
    const std::set<std::string> found = parts_in(folder);
    std::vector<Split> splits;
    for (const Split split : {Split::train, Split::val}) {
        const std::vector<std::string> names = names_of_split(split);
        if (std::ranges::any_of(names, [&](const auto& name) { return found.contains(name); }))
            splits.push_back(split);
    }
    const auto tests = std::ranges::count_if(
        found, [](const std::string& part) { return part.starts_with("test"); });
    if (tests == 1 || found.contains("test")) splits.push_back(Split::test);
    return splits;
}

}  // namespace

std::vector<DataSource> text_pairs_sources() {
    return {{.scheme = "text",
             .form = "text:FOLDER?source=en&target=de&split=train|val|test&part=NAME",
             .help =
                 "sentences and their translations, one a line: train.en beside train.de, plain "
                 "or as .gz or .xz; val (or valid, dev) and test likewise; part: files of "
                 "another name, such as test_2016",
             .options = {"source", "target", "split", "part"},
             .open = open_text_pairs,
             .is_layout = true,
             .part_option = "part",
             .parts = text_parts}};
}

}  // namespace cait
