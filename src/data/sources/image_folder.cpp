#include "data/sources/image_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "image/codec/image_name.h"
#include "system/open_file.h"

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

// Links are followed, as people build subsets from them. A folder that can be reached in several
// ways is walked once, under its own name or that of the first link: links to links could otherwise
// name it more often than can ever be listed.
class Walk {
public:
    explicit Walk(fs::path root) : root_(std::move(root)) {}

    Found run() {
        enter({root_, "", {}});
        for (; !links_.empty(); links_.pop_front()) enter(Way(links_.front()));
        return std::move(found_);
    }

private:
    static constexpr std::size_t kDeepest = 64;

    struct Way {
        fs::path folder;
        std::string relative;       // to the root, by the names on the way
        std::vector<FileId> above;  // the folders on the way
    };

    void enter(Way way) {
        const auto id = file_id(way.folder);
        if (!id) {
            open_folder(way.folder);  // says why not
            return;
        }
        if (std::ranges::find(way.above, *id) != way.above.end())
            throw Error(fmt::format("{}: link to a folder that contains it", way.folder.string()));
        if (!visited_.insert(*id).second) return;
        if (way.above.size() > kDeepest)
            throw Error(fmt::format("{}: expected folders at most {} deep, found deeper ones",
                                    root_.string(), kDeepest));
        way.above.push_back(*id);
        list(way);
    }

    // In the order of names, so that the result does not depend on that of the disk.
    void list(const Way& way) {
        std::map<std::string, bool> folders;  // and whether it is a link
        for (const fs::directory_entry& entry : open_folder(way.folder)) {
            std::string name = entry.path().filename().string();
            if (is_hidden(name)) continue;
            std::error_code failure;  // a link in a circle is no folder
            if (entry.is_directory(failure))
                folders.emplace(std::move(name), entry.is_symlink(failure));
            else if (is_image_name(name))
                found_.emplace_back(way.relative, std::move(name));
        }
        for (const auto& [name, is_link] : folders) {
            Way below{way.folder / name, joined(way.relative, name), way.above};
            if (is_link)
                links_.push_back(std::move(below));
            else
                enter(std::move(below));
        }
    }

    fs::path root_;
    std::set<FileId> visited_;
    std::deque<Way> links_;  // to be followed when all folders have been seen by their own names
    Found found_;
};

// PATH/train and PATH/val rather than class folders.
bool is_split_layout(const std::vector<std::string>& folders) {
    return !folders.empty() && std::ranges::all_of(folders, [](const std::string& name) {
        return std::ranges::find(kSplitFolders, name) != kSplitFolders.end();
    });
}

// The folder of a part among those of a split layout; empty if it is missing.
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
        std::error_code failure;
        if (!is_hidden(name) && entry.is_directory(failure)) names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> list_images(const fs::path& folder) {
    Found found = Walk(folder).run();
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

namespace {

// The parts of a folder that holds train/ and val/; none where it holds classes.
std::vector<Split> folder_splits(const fs::path& folder) {
    const std::vector<std::string> folders = list_folders(folder);
    if (!is_split_layout(folders)) return {};
    std::vector<Split> splits;
    for (const Split split : {Split::train, Split::val, Split::test})
        if (!folder_of(folders, split).empty()) splits.push_back(split);
    return splits;
}

// The same file under several classes is one image with several labels, by the name that comes
// first.
void join_links(FileList& list) {
    std::map<FileId, std::size_t> places;
    std::vector<std::string> files;
    std::vector<std::vector<std::int64_t>> answers;
    for (std::size_t i = 0; i < list.files.size(); ++i) {
        const auto id = file_id(list.root / list.files[i]);
        if (!id)
            throw Error(fmt::format("{}: link to a file that is missing",
                                    (list.root / list.files[i]).string()));
        const auto [place, is_new] = places.emplace(*id, files.size());
        if (is_new) {
            files.push_back(std::move(list.files[i]));
            answers.emplace_back();
        }
        answers[place->second].push_back(list.labels[i]);
    }
    list.files = std::move(files);
    list.set_answers(std::move(answers));
}

// folder:PATH. When PATH holds train/ and val/ (or test/), `split` says which of them is meant.
DatasetPtr open_image_folder(const DatasetUri& uri, Split split) {
    fs::path root = uri.path;
    if (const std::vector<std::string> folders = list_folders(root); is_split_layout(folders))
        root = choose_split(uri, folders, split);
    else if (uri.option("split"))
        throw Error(
            fmt::format("{}: expected a folder {}, found class folders", uri.text, name_of(split)));
    FileList list = list_image_folder(root);
    if (uri.flag("several")) join_links(list);
    return make_file_dataset(root.string(), std::move(list));
}

}  // namespace

std::vector<DataSource> image_folder_sources() {
    return {
        {.scheme = "folder",
         .form = "folder:PATH?split=train|val|test&several=true",
         .help =
             "one folder per class, images at any depth below it; where PATH has train/ and "
             "val/ or test/, split chooses; several: a file that is linked from several classes "
             "is one image of all of them",
         .options = {"split", "several"},
         .open = open_image_folder,
         .is_layout = true,
         .parts = folder_splits}};
}

}  // namespace cait
