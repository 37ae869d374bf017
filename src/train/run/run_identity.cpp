#include "train/run/run_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cait/error.h"
#include "core/digest.h"
#include "core/version.h"
#include "recipe/recipe_keys.h"

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
        "data.train",   "data.val",        "data.token_labels", "model.weights",
        "model.scales", "distill.teacher", "distill.weights",   "train.device"};
    return kKeys.contains(key);
}

void add_text(Digest& digest, const std::string& text) {
    digest.add(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
}

std::string short_hex(Digest& digest) { return digest.hex().substr(0, 16); }

// Of every image its class and the last part of its name: where the files lie may differ from
// machine to machine.
std::string images_digest(const TrainingData& data) {
    Digest digest(DigestKind::sha256);
    for (const DatasetPtr& images : {data.train, data.val})
        for (std::size_t i = 0; images && i < images->size(); ++i) {
            const std::string name = images->name(i);
            add_text(digest, name.substr(name.rfind('/') + 1));  // npos + 1 is 0
            add_text(digest, std::to_string(images->label(i)));
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
    return {{"training images", std::to_string(data.train->size())},
            {"validation images", std::to_string(data.val ? data.val->size() : 0)},
            {"names and labels of the images (digest)", images_digest(data)},
            {"classes", std::to_string(data.train->classes().size())},
            {"names of the classes (digest)", short_hex(names)}};
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
        if (value(before, key) != value(now, key))
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
