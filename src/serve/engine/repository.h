// The models that are served, by name and version; loading, unloading, and exchanging one for what
// its file holds now without a gap.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/engine/served_model.h"

namespace cait::serve {

class Repository {
public:
    Repository(std::vector<ModelSource> sources, EngineOptions options);

    // Loads all of a name's versions again. Those that are served go on until all of them are
    // ready, and after an Error for good.
    void load(std::string_view name);
    // A message for clients, who must not learn where files lie.
    std::string without_paths(std::string text) const;
    void load_all();
    void unload(std::string_view name);  // HttpError(404) for a name that there is not

    // `version` may be empty: the highest. Throws HttpError(404), or 400 for one that is not loaded
    // at the moment, as Triton does.
    ServedModelPtr get(std::string_view name, std::string_view version = {}) const;
    ServedModelPtr standard() const;  // the first that is loaded

    struct Entry {
        std::string name, version;
        bool ready = false;
        std::string reason{};  // why it is not
        ServedModelPtr model{};
    };
    std::vector<Entry> index() const;
    std::vector<std::string> versions(std::string_view name) const;  // that are ready
    bool ready() const;                                              // all are

private:
    struct Slot {
        ModelSource source;
        std::shared_ptr<ModelStats> stats;
        ServedModelPtr model{};
        std::string reason{};
    };
    void check_known(std::string_view name) const;

    EngineOptions options_;
    std::mutex loading_;  // one at a time: it takes much memory
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
};

}  // namespace cait::serve
