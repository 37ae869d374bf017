// Tiny ImageNet (Stanford CS231N): 200 classes of 64×64 images; folders for training, one flat
// folder with a list for validation. The test part's labels were never published.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

void list_training(const std::vector<std::string>& ids, FileList& list) {
    for (std::size_t label = 0; label < ids.size(); ++label) {
        const fs::path folder = fs::path(ids[label]) / "images";
        for (const std::string& file : list_images(list.root / folder)) {
            list.files.push_back((folder / file).string());
            list.labels.push_back(std::int64_t(label));
        }
    }
}

// "val_0.JPEG n03444034 0 32 44 62": image, class, and a box that is not used.
void list_validation(const std::vector<std::string>& ids, FileList& list) {
    const fs::path path = list.root / "val_annotations.txt";
    std::size_t number = 0;
    for (const std::string& line : read_lines(path)) {
        ++number;
        const std::vector<std::string> words = words_of(line);
        const auto id = words.size() < 2 ? ids.end() : std::ranges::find(ids, words[1]);
        if (id == ids.end())
            throw Error(fmt::format("{}:{}: expected an image and an id of wnids.txt, found {}",
                                    path.string(), number, display_name(line, 80)));
        list.files.push_back("images/" + words[0]);
        list.labels.push_back(id - ids.begin());
    }
}

// Synsets that share their words are told apart by their ids.
std::vector<std::string> words_for(const std::vector<std::string>& ids, const fs::path& path) {
    std::unordered_map<std::string, std::string> words;
    for (const std::string& line : read_lines(path)) {
        auto [id, rest] = first_word(line);
        words.emplace(std::move(id), std::move(rest));
    }
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const std::string& id : ids) {
        const auto found = words.find(id);
        if (found == words.end() || found->second.empty())
            throw Error(fmt::format("{}: expected a line for {}", path.string(), display_name(id)));
        const bool is_new = seen.insert(found->second).second;
        names.push_back(is_new ? found->second : fmt::format("{} ({})", found->second, id));
    }
    return names;
}

// tiny-imagenet:PATH?split=train|val&labels=ids|words. Classes are the WordNet ids of wnids.txt in
// their sorted order, which is that of published weights, or with labels=words what words.txt calls
// them, in the same order.
DatasetPtr open_tiny_imagenet(const DatasetUri& uri, Split split) {
    const std::string labels = uri.option("labels").value_or("ids");
    if (labels != "ids" && labels != "words")
        throw UsageError(fmt::format("{}: labels: expected ids or words, found {}", uri.text,
                                     display_name(labels)));
    if (split == Split::test)
        throw UsageError(fmt::format(
            "{}: the labels of the test part are not public; expected train or val", uri.text));
    const fs::path root = find_root(uri, "tiny-imagenet-200", "wnids.txt");
    std::vector<std::string> ids = read_class_file(root / "wnids.txt");
    std::ranges::sort(ids);
    FileList list;
    list.root = root / (split == Split::val ? "val" : "train");
    if (split == Split::val)
        list_validation(ids, list);
    else
        list_training(ids, list);
    list.classes.names = labels == "words" ? words_for(ids, root / "words.txt") : ids;
    std::string source = list.root.string();
    return make_file_dataset(std::move(source), std::move(list));
}

}  // namespace

std::vector<DataSource> tiny_imagenet_sources() {
    return {{.scheme = "tiny-imagenet",
             .form = "tiny-imagenet:PATH?split=train|val&labels=ids|words",
             .help = "Tiny ImageNet; classes are WordNet ids, or what words.txt calls them",
             .options = {"split", "labels"},
             .open = open_tiny_imagenet}};
}

}  // namespace cait
