#include "inspect_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "command.h"
#include "data.h"
#include "image/preparation_change.h"
#include "image/preprocessing_json.h"
#include "models/file_tensors.h"
#include "models/model_cost.h"
#include "output.h"
#include "weights/quantized_file.h"

namespace cait::app {

namespace {

struct Totals {
    std::int64_t values = 0;
    std::int64_t bytes = 0;
    std::map<std::string, std::int64_t> tensors_by_dtype;
};

Totals totals_of(const WeightFile& file) {
    Totals totals;
    for (const NamedTensor& entry : file.tensors) {
        totals.values += entry.tensor.count();
        totals.bytes += std::int64_t(entry.tensor.byte_size());
        ++totals.tensors_by_dtype[std::string(name_of(entry.tensor.dtype()))];
    }
    return totals;
}

void line(const char* subject, const std::string& text) { print_out("{:<12} {}\n", subject, text); }

struct Change {
    std::string key, from, to;
};

// Settings other than the preset's; of a head that it does not have, other than that head's usual.
std::vector<Change> changes_of(const ModelSpec& spec) {
    constexpr const char* kKind = "head.kind";
    const auto own = spec.settings();
    auto usual = configure(spec.name).settings();
    if (const auto kind = own.find(kKind); kind != own.end() && !usual.contains(kKind)) {
        usual = configure(spec.name, {*kind}).settings();
        usual[kKind] = "none";
    }
    std::vector<Change> changes;
    for (const auto& [key, value] : own)
        if (usual.at(key) != value) changes.push_back({key, usual.at(key), value});
    return changes;
}

std::string classes_text(std::int64_t count, const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 5;
    if (std::int64_t(names.size()) != count) return fmt::format("{}, without names", count);
    std::string text = fmt::format("{}: ", count);
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
        text += (i == 0 ? "" : ", ") + names[i];
    return text + (names.size() > kShown ? ", ..." : "");
}

using Facts = std::map<std::string, std::string>;

// "0.9125" → "91.25 %"; what is no fraction stays as it is.
std::string percent_text(const std::string& fraction) {
    char* end = nullptr;
    const double value = std::strtod(fraction.c_str(), &end);
    const bool whole = !fraction.empty() && *end == '\0' && value >= 0 && value <= 1;
    return whole ? fmt::format("{:.2f} %", 100 * value) : fraction;
}

std::string accuracy_text(const Facts& facts) {
    std::string text;
    const auto add = [&](const char* key, const char* before, const char* glue, bool percent) {
        const auto found = facts.find(key);
        if (found == facts.end()) return;
        text += text.empty() ? "" : glue;
        text += before + (percent ? percent_text(found->second) : found->second);
    };
    add("top1", "top-1 ", ", ", true);
    add("top5", "top-5 ", ", ", true);
    add("val_loss", "loss ", ", ", false);
    add("val_data", "on ", " ", false);
    add("val_images", "images: ", ", ", false);
    return text;
}

// How it was trained: what is not about accuracy. A whole recipe is only mentioned.
std::string training_text(const Facts& facts) {
    const std::set<std::string> told{"top1", "top5", "val_loss", "val_data", "val_images"};
    std::string text;
    for (const auto& [key, value] : facts) {
        if (told.contains(key)) continue;
        const bool long_one = value.find('\n') != std::string::npos;
        text += (text.empty() ? "" : ", ") + key + " " +
                (long_one ? "(--json shows it)" : printable(value));
    }
    return text;
}

std::string languages_text(const std::optional<TextFacts>& text) {
    if (!text) return "the file names no languages";
    return fmt::format("{} to {}", printable(text->source), printable(text->target));
}

std::string vocabulary_text(const ModelSpec& spec, const std::optional<TextFacts>& text) {
    return fmt::format("{} pieces, {}", spec.settings().at("vocabulary"),
                       text ? text->kind : "which the file does not have");
}

void print_model(const FileSummary& summary) {
    const Description& described = *summary.described;
    const ModelSpec& spec = described.spec;
    const CommonConfig& common = spec.architecture->common();
    const Cost cost = model_cost(spec);
    line("model", fmt::format("{} ({}){}", spec.name, spec.family->name,
                              summary.recognised ? ", recognised by its tensors" : ""));
    std::string changed;
    for (const Change& change : changes_of(spec))
        changed += fmt::format("{}{} {} (preset: {})", changed.empty() ? "" : ", ", change.key,
                               change.to, change.from);
    if (!changed.empty()) line("changed", changed);
    const bool translates = takes_text(spec);
    if (translates)
        line("text", languages_text(described.facts.text));
    else
        line("image", fmt::format("{} x {} pixels, {} channels", common.image_size.height,
                                  common.image_size.width, common.channels));
    line("parameters", count_text(cost.params));
    line("cost",
         fmt::format("{} multiply-adds per {}", count_text(cost.macs),
                     translates ? "sentence of 32 pieces and its translation of 32" : "image"));
    if (translates)
        line("vocabulary", vocabulary_text(spec, described.facts.text));
    else
        line("classes", classes_text(class_count(spec), described.facts.classes));
    if (!translates)
        line("preparation",
             preparation_text(described.preprocessing) +
                 (described.facts.preprocessing ? "" : "; assumed, the file names none"));
    const Facts& facts = described.facts.training;
    if (const std::string text = accuracy_text(facts); !text.empty()) line("accuracy", text);
    if (const std::string text = training_text(facts); !text.empty()) line("training", text);
}

// Of a file that is not ours: what its writer noted. Ours were told above.
void print_metadata(const WeightFile& file) {
    constexpr std::size_t kLongest = 200;
    for (const auto& [key, value] : file.metadata)
        if (!key.starts_with("cait."))
            line("metadata", fmt::format("{} = {}", printable(key), printable(value, kLongest)));
    for (const std::string& name : file.skipped) line("skipped", printable(name));
}

}  // namespace

std::string FileSummary::name() const {
    return described ? described->facts.name : read_facts(file.metadata, path).name;
}

FileSummary summarise(const WeightFile& file, const std::string& path, const std::string& model,
                      const SettingList& settings) {
    FileSummary summary{.path = path, .file = file};
    if (!model.empty() || !read_facts(file.metadata, path).model.empty()) {
        summary.described = describe(file, path, model, settings);
        return summary;
    }
    summary.fitting = fitting_models(file);
    summary.recognised = summary.fitting.size() == 1;
    if (summary.recognised)
        summary.described = describe(file, path, summary.fitting.front(), settings);
    return summary;
}

void print_summary(const FileSummary& summary) {
    const Totals totals = totals_of(summary.file);
    std::string dtypes;
    for (const auto& [dtype, count] : totals.tensors_by_dtype)
        dtypes += fmt::format("{}{} x {}", dtypes.empty() ? "" : ", ", count, dtype);
    if (!summary.name().empty()) line("name", summary.name());
    line("file", fmt::format("{}, {}, {}", summary.path, summary.file.format,
                             bytes_text(std::int64_t(std::filesystem::file_size(summary.path)))));
    line("tensors", fmt::format("{}, {} values ({})", summary.file.tensors.size(),
                                count_text(totals.values), dtypes));
    if (const auto facts = read_quantized(summary.file, summary.path))
        line("int8", fmt::format("{} tensors, a scale for each row{}", facts->tensors.size(),
                                 facts->keep.empty() ? std::string()
                                                     : fmt::format("; kept wider: {}",
                                                                   fmt::join(facts->keep, ", "))));
    if (summary.described)
        print_model(summary);
    else if (summary.fitting.empty())
        line("model", "the file does not say; --model NAME tells whether it fits");
    else
        line("model", fmt::format("the file does not say; its tensors fit {}; --model NAME chooses",
                                  fmt::join(summary.fitting, ", ")));
    print_metadata(summary.file);
}

nlohmann::json summary_json(const FileSummary& summary) {
    const Totals totals = totals_of(summary.file);
    Facts metadata = summary.file.metadata;
    metadata.erase(kVocabularyKey);  // megabytes
    nlohmann::json json{{"format", summary.file.format},
                        {"values", totals.values},
                        {"bytes", totals.bytes},
                        {"metadata", metadata},
                        {"skipped", summary.file.skipped},
                        {"name", summary.name()},
                        {"file_bytes", std::filesystem::file_size(summary.path)}};
    json["fitting_models"] = summary.fitting;
    if (const auto facts = read_quantized(summary.file, summary.path))
        json["quantized"] = {
            {"format", "int8"}, {"tensors", facts->tensors}, {"keep", facts->keep}};
    if (!summary.described) return json;
    const Description& described = *summary.described;
    const CommonConfig& common = described.spec.architecture->common();
    const Cost cost = model_cost(described.spec);
    nlohmann::json changed = nlohmann::json::object();
    for (const Change& change : changes_of(described.spec)) changed[change.key] = change.to;
    json["model"] = described.spec.name;
    json["family"] = described.spec.family->name;
    json["changed"] = changed;
    json["params"] = cost.params;
    json["macs"] = cost.macs;
    json["training"] = described.facts.training;
    if (takes_text(described.spec)) {
        json["vocabulary"] = parse_integer(described.spec.settings().at("vocabulary"));
        if (const auto& text = described.facts.text)
            json["text"] = {
                {"source", text->source}, {"target", text->target}, {"kind", text->kind}};
        return json;
    }
    json["image_size"] = {common.image_size.height, common.image_size.width};
    json["classes"] = class_count(described.spec);
    json["class_names"] = described.facts.classes;
    json["preprocessing"] = described.preprocessing;
    json["preprocessing_assumed"] = !described.facts.preprocessing;
    return json;
}

}  // namespace cait::app
