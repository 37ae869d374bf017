#include "weights/published/resolve_weights.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "system/file_place.h"
#include "weights/published/weight_cache.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kOfficial = "official";

// What is in the cache was checked when it came: it is not read again for its checksum.
fs::path official(std::string_view text, const std::string& model, const ResolveOptions& options) {
    if (model.empty())
        throw UsageError(fmt::format("--weights {}: expected --model NAME as well", text));
    const std::string_view variant = text.substr(std::min(text.size(), kOfficial.size() + 1));
    const PublishedWeights& weights = find_published(model, variant);
    const fs::path file = weight_cache() / weights.file();
    if (!fs::exists(file)) {
        DownloadOptions download;
        if (options.fetching) download.progress = options.fetching(weights.file());
        fetch_published(weights, file, download);
    }
    if (options.note && !weights.note.empty())
        options.note(fmt::format("{}: {}", weights.file(), weights.note));
    return file;
}

// Whether a run has a file of that name. Throws LinkRefused for a link: somebody else may have made
// the run, and its files are no way out of its folder.
bool has_file(const FolderPtr& folder, const fs::path& file) {
    const FilePlace place(folder, file.filename());
    const auto mode = place.mode();
    if (mode && S_ISLNK(*mode)) throw LinkRefused(file, "a regular file");
    return mode.has_value();
}

fs::path of_run(const RunWeights& run, const ResolveOptions& options) {
    const auto& [folder, epoch] = run;
    const FolderPtr opened = Folder::open(folder);
    if (!epoch.empty()) {
        fs::path file = folder / (epoch + ".safetensors");
        if (!has_file(opened, file))
            throw Error(fmt::format("{}:{}: expected {}, found a folder without it",
                                    folder.string(), epoch, file.filename().string()));
        return file;
    }
    const fs::path best = folder / "best.safetensors", last = folder / "last.safetensors";
    const bool has_last = has_file(opened, last);
    if (has_file(opened, best)) {
        if (options.note)
            options.note(fmt::format("{} is the best epoch, chosen on the validation data{}",
                                     best.string(),
                                     has_last ? "; the final one is " + last.string() : ""));
        return best;
    }
    if (!has_last)
        throw Error(
            fmt::format("{}: expected a file of weights or the folder of a run, found a "
                        "folder without best.safetensors and last.safetensors",
                        folder.string()));
    if (options.note)
        options.note(
            fmt::format("{}: no best.safetensors yet, the last weights are used", folder.string()));
    return last;
}

}  // namespace

bool means_official(std::string_view text) {
    return text == kOfficial ||
           (text.starts_with(kOfficial) && text.substr(kOfficial.size()).starts_with(':'));
}

std::optional<RunWeights> run_weights(const std::string& text) {
    if (fs::is_directory(text)) return RunWeights{text, {}};
    for (const char* epoch : {"best", "last", "last_ema"})
        if (const std::string end = fmt::format(":{}", epoch); text.ends_with(end))
            if (fs::path folder = text.substr(0, text.size() - end.size());
                fs::is_directory(folder))
                return RunWeights{std::move(folder), epoch};
    return std::nullopt;
}

fs::path resolve_weights(const std::string& text, const std::string& model,
                         const ResolveOptions& options) {
    if (means_official(text)) return official(text, model, options);
    if (const auto run = run_weights(text)) return of_run(*run, options);
    return text;
}

}  // namespace cait
