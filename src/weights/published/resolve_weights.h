// What a user may write where weights are expected: a file, the folder of a run, or `official`.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "system/download/download.h"

namespace cait {

struct ResolveOptions {
    std::function<void(const std::string& text)> note{};
    // Called before a file is fetched; what it returns hears of the bytes.
    std::function<decltype(DownloadOptions::progress)(const std::string& file)> fetching{};
};

// The file to open. `official` and `official:VARIANT` are the published weights of `model`, fetched
// once into the cache. A folder is a run: RUN:best, RUN:last and RUN:last_ema are its files of
// these names, RUN alone its best weights or, where there are none, its last; a note says which,
// and that the best were chosen on validation data. Anything else is a file and stays as it is.
// Throws UsageError for a model without published weights.
std::filesystem::path resolve_weights(const std::string& text, const std::string& model,
                                      const ResolveOptions& options = {});

// Whether it is official or official:VARIANT.
bool means_official(std::string_view text);

// The folder of a run, and which of its files is meant: best, last, last_ema, or empty.
struct RunWeights {
    std::filesystem::path folder;
    std::string epoch;
};
// Nothing for what is no folder, with or without an epoch.
std::optional<RunWeights> run_weights(const std::string& text);

}  // namespace cait
