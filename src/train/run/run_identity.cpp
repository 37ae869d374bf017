#include "train/run/run_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/version.h"
#include "cait/error.h"
#include "system/digest.h"
#include "system/isa.h"
#include "train/recipe/recipe_keys.h"

namespace cait {

namespace {

// How fast and where to, not what comes out.
bool changes_nothing(const std::string& key) {
    static const std::set<std::string> kKeys = {"about", "data.threads", "data.val_batch",
                                                "train.threads", "train.memory"};
    return kKeys.contains(key) || key.starts_with("save.");
}

bool is_a_place(const std::string& key) {
    static const std::set<std::string> kKeys = {
        "data.train",   "data.val",        "data.token_labels", "data.vocabulary", "model.weights",
        "model.scales", "distill.teacher", "distill.weights",   "train.device"};
    return kKeys.contains(key);
}

void add_text(Digest& digest, const std::string& text) {
    digest.add(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
}

std::string short_hex(Digest& digest) { return digest.hex().substr(0, 16); }

// What a run has many of, in words.
std::string samples_of(const TrainingData& data) {
    return data.train->has_sentences() ? "sentence pairs" : "images";
}

// Of every image its class and the last part of its name: where the files lie may differ from
// machine to machine.
std::string images_digest(const TrainingData& data) {
    Digest digest(DigestKind::sha256);
    for (const DatasetPtr& images : {data.train, data.val})
        for (std::size_t i = 0; images && i < images->size(); ++i) {
            const std::string name = images->name(i);
            add_text(digest, name.substr(name.rfind('/') + 1));  // npos + 1 is 0
            add_text(digest, fmt::format("{}", fmt::join(images->labels(i), ",")));
        }
    return short_hex(digest);
}

struct Condition {
    const char* key;
    const char* effect;  // of another value
};

constexpr const char* kProcesses = "processes";
constexpr const char* kThreads = "threads";
constexpr const char* kIsa = "instruction set";
constexpr const char* kContents = "contents of the images (digest)";
constexpr const char* kNames = "names and labels of the images (digest)";
constexpr const char* kRounding =
    "sums are rounded in another order, so the result is not bit for bit that of a whole run";
constexpr std::array kConditions = {
    Condition{kProcesses, kRounding}, Condition{kThreads, kRounding}, Condition{kIsa, kRounding},
    Condition{kContents, "the run goes on with other contents than it began with"}};

bool is_condition(const std::string& key) {
    return std::ranges::any_of(kConditions, [&](const Condition& c) { return key == c.key; });
}

void add_contents(Digest& digest, const Dataset& images, std::size_t index) {
    try {
        if (images.has_sentences()) {
            const SentencePair pair = images.sentences(index);
            add_text(digest, pair.source);
            return add_text(digest, pair.target);
        }
        if (const auto stored = images.encoded(index)) return digest.add(stored->bytes);
        const Image image = images.image(index);
        digest.add(std::as_bytes(std::span(image.pixels)));
    } catch (const Error&) {
        add_text(digest, "unreadable");  // the run skips it, or says what is wrong with it
    }
}

// Of every image where there are few, else of some from the first to the last: it takes
// milliseconds, and a set that was rebuilt differs everywhere.
std::string contents_digest(const TrainingData& data) {
    constexpr std::size_t kSample = 256;
    Digest digest(DigestKind::sha256);
    for (const DatasetPtr& images : {data.train, data.val}) {
        const std::size_t size = images ? images->size() : 0, count = std::min(size, kSample);
        for (std::size_t i = 0; i < count; ++i) add_contents(digest, *images, i * size / count);
    }
    return short_hex(digest);
}

}  // namespace

RunIdentity identity_of(const Recipe& recipe) {
    Recipe copy = recipe;
    Settings keys;
    bind(keys, copy);
    RunIdentity identity = {{"cait", std::string(version())}};
    for (const auto& [key, value] : keys.values())
        if (!changes_nothing(key)) identity[key] = value;
    for (const auto& [key, value] : recipe.model.settings) identity["model." + key] = value;
    return identity;
}

RunIdentity identity_of(const TrainingData& data) {
    Digest names(DigestKind::sha256);
    for (const std::string& name : data.train->classes()) add_text(names, name);
    const std::string samples = samples_of(data);
    RunIdentity identity = {
        {"training " + samples, std::to_string(data.train->size())},
        {"validation " + samples, std::to_string(data.val ? data.val->size() : 0)},
        {kNames, images_digest(data)},
        {"classes", std::to_string(data.train->classes().size())},
        {"names of the classes (digest)", short_hex(names)}};
    if (data.train->has_sentences())
        identity["languages"] =
            fmt::format("{} to {}", data.train->languages().first, data.train->languages().second);
    return identity;
}

RunIdentity conditions_of(const TrainingData& data, int processes) {
    return {{kProcesses, std::to_string(processes)},
            {kThreads, std::to_string(at::get_num_threads())},
            {kIsa, std::string(isa_name(used_isa()))},
            {kContents, contents_digest(data)}};
}

std::vector<std::string> changed_conditions(const RunIdentity& before, const RunIdentity& now) {
    const auto differs = [&](const char* key) {
        const auto was = before.find(key), is = now.find(key);
        return was != before.end() && is != now.end() && was->second != is->second;
    };
    std::vector<std::string> lines;
    for (const Condition& condition : kConditions) {
        if (!differs(condition.key)) continue;
        if (condition.key == kContents && differs(kNames)) continue;  // says it already
        lines.push_back(fmt::format("{}: {} when the run was saved, {} now: {}", condition.key,
                                    before.at(condition.key), now.at(condition.key),
                                    condition.effect));
    }
    return lines;
}

std::vector<std::string> changes_between(const RunIdentity& before, const RunIdentity& now) {
    const auto value = [](const RunIdentity& of, const std::string& key) {
        const auto found = of.find(key);
        return found == of.end() ? std::string("nothing") : found->second;
    };
    std::set<std::string> keys;
    for (const RunIdentity* one : {&before, &now})
        for (const auto& entry : *one) keys.insert(entry.first);
    std::vector<std::string> changes;
    for (const std::string& key : keys)
        if (!is_condition(key) && value(before, key) != value(now, key))
            changes.push_back(fmt::format("{} {} -> {}", key, value(before, key), value(now, key)));
    return changes;
}

void require_same(const RunIdentity& mine, ProcessGroup& group) {
    RunIdentity shown = mine;
    std::erase_if(shown, [](const auto& entry) { return is_a_place(entry.first); });
    const std::vector<std::string> all = group.all_gather(
        nlohmann::json(shown).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    const auto first = nlohmann::json::parse(all.front()).get<RunIdentity>();
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        const auto other = nlohmann::json::parse(all[rank]).get<RunIdentity>();
        if (const std::vector<std::string> changes = changes_between(first, other);
            !changes.empty())
            throw Error(fmt::format(
                "rank {} of {}: expected the same run as rank 0's, found (rank 0's -> its own) {}",
                rank, all.size(), fmt::join(changes, ", ")));
    }
}

}  // namespace cait
