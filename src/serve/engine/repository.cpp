#include "serve/engine/repository.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/display_name.h"
#include "serve/http/message.h"
#include "system/file_guard.h"

namespace cait::serve {

Repository::Repository(std::vector<ModelSource> sources, EngineOptions options)
    : options_(options) {
    for (ModelSource& source : sources)
        slots_.push_back({std::move(source), std::make_shared<ModelStats>(), {}, "not loaded"});
}

void Repository::check_known(std::string_view name) const {
    const bool known =
        std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.source.name == name; });
    if (!known) throw HttpError(404, fmt::format("model {}: unknown", display_name(name)));
}

void Repository::load(std::string_view name) {
    const std::lock_guard one_at_a_time(loading_);
    check_known(name);  // sources never change
    std::vector<std::pair<Slot*, ServedModelPtr>> fresh;
    for (Slot& slot : slots_) {
        if (slot.source.name != name) continue;
        try {
            fresh.emplace_back(
                &slot, std::make_shared<const ServedModel>(slot.source, options_, slot.stats));
        } catch (const Error& error) {
            // A file that was changed while it was read is no matter to models that are served.
            forgive_changed_files();
            const std::lock_guard lock(mutex_);
            if (!slot.model) slot.reason = without_paths(error.what());
            throw;
        }
    }
    // Old models end when their last request does.
    const std::lock_guard lock(mutex_);
    for (auto& [slot, model] : fresh) {
        slot->model.swap(model);
        slot->reason.clear();
    }
}

std::string Repository::without_paths(std::string text) const {
    for (const Slot& slot : slots_)
        for (const std::string& path :
             {std::filesystem::absolute(slot.source.file).string(), slot.source.file.string()})
            for (std::size_t at = 0; !path.empty() && (at = text.find(path)) != std::string::npos;)
                text.replace(at, path.size(), "its file");
    return text;
}

void Repository::load_all() {
    std::vector<std::string> names;
    for (const Slot& slot : slots_)
        if (std::ranges::find(names, slot.source.name) == names.end())
            names.push_back(slot.source.name);
    for (const std::string& name : names) load(name);
}

void Repository::unload(std::string_view name) {
    check_known(name);
    std::vector<ServedModelPtr> ended;  // after the lock
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_)
        if (slot.source.name == name) {
            ended.push_back(std::move(slot.model));
            slot.model.reset();
            slot.reason = "unloaded";
        }
}

ServedModelPtr Repository::get(std::string_view name, std::string_view version) const {
    check_known(name);
    const std::lock_guard lock(mutex_);
    const Slot* best = nullptr;
    bool known = version.empty();
    for (const Slot& slot : slots_) {
        if (slot.source.name != name) continue;
        if (!version.empty() && slot.source.version != version) continue;
        known = true;
        if (slot.model && (best == nullptr ||
                           std::stoull(slot.source.version) > std::stoull(best->source.version)))
            best = &slot;
    }
    if (!known)
        throw HttpError(404, fmt::format("model {}: version {} is unknown", display_name(name),
                                         display_name(version)));
    if (best == nullptr)
        throw HttpError(400, fmt::format("model {}: not ready", display_name(name)));
    return best->model;
}

ServedModelPtr Repository::standard() const {
    for (const Entry& entry : index())
        if (entry.ready) return get(entry.name);
    throw HttpError(503, "server: no model is loaded");
}

std::vector<Repository::Entry> Repository::index() const {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> list;
    for (const Slot& slot : slots_)
        list.push_back({slot.source.name, slot.source.version, slot.model != nullptr, slot.reason,
                        slot.model});
    return list;
}

std::vector<std::string> Repository::versions(std::string_view name) const {
    std::vector<std::string> list;
    for (const Entry& entry : index())
        if (entry.name == name && entry.ready) list.push_back(entry.version);
    return list;
}

bool Repository::ready() const {
    return std::ranges::all_of(index(), [](const Entry& entry) { return entry.ready; });
}

}  // namespace cait::serve
