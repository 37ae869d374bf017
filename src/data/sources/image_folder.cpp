#include "data/sources/image_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cait/error.h"
#include "core/display_name.h"
#include "image/codec/image_name.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

std::string joined(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : fmt::format("{}/{}", folder, name);
}

constexpr std::array<std::string_view, 4> kSplitFolders{"test", "train", "val", "validation"};

fs::directory_iterator open_folder(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error)
        throw Error(fmt::format("{}: cannot open folder: {}", folder.string(), error.message()));
    return entries;
}

bool is_hidden(const std::string& name) { return name.starts_with('.'); }

// (folder, file) pairs sort as torchvision walks: all of a folder before what lies deeper.
using Found = std::vector<std::pair<std::string, std::string>>;

// Links are followed, as people build subsets from them; `above` holds the way down, so that a link
// back up is an error instead of an endless walk.
void walk(const fs::path& folder, const std::string& relative, std::vector<fs::path>& above,
          Found& found) {
    above.push_back(fs::canonical(folder));
    for (const fs::directory_entry& entry : open_folder(folder)) {
        std::string name = entry.path().filename().string();
        if (is_hidden(name)) continue;
        if (entry.is_directory()) {
            if (entry.is_symlink() &&
                std::ranges::find(above, fs::canonical(entry.path())) != above.end())
                throw Error(
                    fmt::format("{}: link to a folder that contains it", entry.path().string()));
            walk(entry.path(), joined(relative, name), above, found);
        } else if (is_image_name(name)) {
            found.emplace_back(relative, std::move(name));
        }
    }
    above.pop_back();
}

// PATH/train and PATH/val rather than class folders.
bool is_split_layout(const std::vector<std::string>& folders) {
    return !folders.empty() && std::ranges::all_of(folders, [](const std::string& name) {
        return std::ranges::find(kSplitFolders, name) != kSplitFolders.end();
    });
}

// The folder of a part among those of a split layout; empty where there is none.
std::string_view folder_of(const std::vector<std::string>& folders, Split split) {
    for (const std::string_view name :
         {name_of(split), split == Split::val ? std::string_view("validation") : name_of(split)})
        if (std::ranges::find(folders, name) != folders.end()) return name;
    return {};
}

fs::path choose_split(const DatasetUri& uri, const std::vector<std::string>& folders, Split split) {
    if (split == Split::any)
        throw UsageError(fmt::format("{}: holds {}; name one of them, as in {}/{}", uri.text,
                                     fmt::join(folders, ", "), uri.text, folders.front()));
    if (const std::string_view name = folder_of(folders, split); !name.empty())
        return fs::path(uri.path) / name;
    throw Error(fmt::format("{}: expected a folder {}, found {}", uri.text, name_of(split),
                            fmt::join(folders, ", ")));
}

}  // namespace

std::vector<std::string> list_folders(const fs::path& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : open_folder(folder)) {
        std::string name = entry.path().filename().string();
        if (!is_hidden(name) && entry.is_directory()) names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> list_images(const fs::path& folder) {
    Found found;
    std::vector<fs::path> above;
    walk(folder, "", above, found);
    std::ranges::sort(found);
    std::vector<std::string> files;
    files.reserve(found.size());
    for (const auto& [relative, name] : found) files.push_back(joined(relative, name));
    return files;
}

FileList list_image_folder(const fs::path& root) {
    FileList list;
    list.root = root;
    list.classes.names = list_folders(root);
    if (list.classes.names.empty())
        throw Error(fmt::format("{}: expected one folder per class, found no folder{}",
                                root.string(),
                                list_images(root).empty() ? "" : " (images lie directly in it)"));
    for (std::size_t label = 0; label < list.classes.names.size(); ++label) {
        const std::string& name = list.classes.names[label];
        const std::vector<std::string> files = list_images(root / name);
        if (files.empty())
            throw Error(fmt::format("{}: class folder {} holds no .jpg, .jpeg, .png or .webp file",
                                    root.string(), display_name(name)));
        for (const std::string& file : files) {
            list.files.push_back(joined(name, file));
            list.labels.push_back(std::int64_t(label));
        }
    }
    return list;
}

std::vector<Split> folder_splits(const fs::path& folder) {
    const std::vector<std::string> folders = list_folders(folder);
    if (!is_split_layout(folders)) return {};
    std::vector<Split> splits;
    for (const Split split : {Split::train, Split::val, Split::test})
        if (!folder_of(folders, split).empty()) splits.push_back(split);
    return splits;
}

DatasetPtr open_image_folder(const DatasetUri& uri, Split split) {
    fs::path root = uri.path;
    if (const std::vector<std::string> folders = list_folders(root); is_split_layout(folders))
        root = choose_split(uri, folders, split);
    else if (uri.option("split"))
        throw Error(
            fmt::format("{}: expected a folder {}, found class folders", uri.text, name_of(split)));
    return make_file_dataset(root.string(), list_image_folder(root));
}

}  // namespace cait
