// What a user may write where weights are expected: a file, the folder of a run, or `official`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "system/download/download.h"

namespace cait {

struct ResolveOptions {
    std::function<void(const std::string& text)> note{};
    // Called before a file is fetched; what it returns hears of the bytes.
    std::function<decltype(DownloadOptions::progress)(const std::string& file)> fetching{};
};

// The file to open. `official` and `official:VARIANT` are the published weights of `model`, fetched
// once into the cache; a folder is a run, whose best weights are meant, otherwise its last: a note
// says that the best were chosen on validation data.
// Anything else is a file and stays as it is. Throws UsageError for a model without published
// weights.
std::filesystem::path resolve_weights(const std::string& text, const std::string& model,
                                      const ResolveOptions& options = {});

}  // namespace cait
