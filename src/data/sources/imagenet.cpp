// ImageNet (ILSVRC 2012) and its two re-labelled relatives. Classes are WordNet ids in their sorted
// order, which is the order of every published checkpoint.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/synset_table.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kImageNetClasses = 1000;
constexpr const char* kGroundTruth = "ILSVRC2012_validation_ground_truth.txt";

// Where people keep the devkit.
std::vector<fs::path> devkit_folders(const DatasetUri& uri) {
    if (const auto devkit = uri.option("devkit"))
        return {fs::path(*devkit), fs::path(*devkit) / "data"};
    const fs::path root = uri.path;
    return {root, root / "data", root / "ILSVRC2012_devkit_t12" / "data", root / "devkit" / "data",
            root / "devkit"};
}

std::optional<fs::path> find_devkit_file(const DatasetUri& uri,
                                         std::initializer_list<const char*> names) {
    for (const fs::path& folder : devkit_folders(uri))
        for (const char* name : names)
            if (fs::exists(folder / name)) return folder / name;
    return std::nullopt;
}

std::optional<fs::path> find_synset_table(const DatasetUri& uri) {
    return find_devkit_file(uri, {"meta.mat", "map_clsloc.txt", "synsets.txt"});
}

// WordNet ids of the classes, by ILSVRC2012_ID; the table's inner nodes come after them.
std::unordered_map<std::size_t, std::string> class_synsets(const fs::path& table) {
    std::unordered_map<std::size_t, std::string> wnids;
    for (Synset& synset : read_synset_table(table))
        if (synset.id <= kImageNetClasses) wnids.emplace(synset.id, std::move(synset.wnid));
    return wnids;
}

std::vector<std::string> sorted_ids(const std::unordered_map<std::size_t, std::string>& wnids) {
    std::vector<std::string> names;
    for (const auto& [id, wnid] : wnids) names.push_back(wnid);
    std::ranges::sort(names);
    return names;
}

// 42 for ILSVRC2012_val_00000042.JPEG, wherever it lies.
std::size_t image_number(const std::string& file) {
    constexpr std::size_t kMostDigits = 8;
    const std::string stem = fs::path(file).stem().string();
    const std::size_t begin = stem.find_last_not_of("0123456789") + 1;
    const std::string digits = stem.substr(begin);
    if (digits.empty() || digits.size() > kMostDigits || std::stoul(digits) == 0)
        throw Error(fmt::format("{}: expected a name such as ILSVRC2012_val_00000001.JPEG", file));
    return std::stoul(digits);
}

std::vector<std::size_t> read_ground_truth(const fs::path& path) {
    std::vector<std::size_t> ids;
    for (const std::string& line : read_lines(path)) {
        const auto id = plain_number(line);
        if (!id || *id < 1)
            throw Error(fmt::format("{}:{}: expected a class number from 1, found {}",
                                    path.string(), ids.size() + 1, display_name(line, 40)));
        ids.push_back(std::size_t(*id));
    }
    return ids;
}

FileList list_flat_validation(const DatasetUri& uri, const fs::path& folder) {
    const auto truth_file = find_devkit_file(uri, {kGroundTruth});
    const auto table_file = find_synset_table(uri);
    if (!truth_file || !table_file)
        throw Error(fmt::format("{}: {} is flat, so {} is needed; looked in {}", uri.text,
                                folder.string(),
                                truth_file ? "meta.mat (or map_clsloc.txt)" : kGroundTruth,
                                fmt::join(
                                    [&] {
                                        std::vector<std::string> texts;
                                        for (const fs::path& f : devkit_folders(uri))
                                            texts.push_back(f.string());
                                        return texts;
                                    }(),
                                    ", ")));
    const std::vector<std::size_t> truth = read_ground_truth(*truth_file);
    const auto wnids = class_synsets(*table_file);
    FileList list;
    list.root = folder;
    list.classes.names = sorted_ids(wnids);
    list.files = list_images(folder);
    for (const std::string& file : list.files) {
        const std::size_t number = image_number(file);
        if (number > truth.size())
            throw Error(fmt::format("{}: image {}: {} has only {} lines", uri.text, file,
                                    truth_file->string(), truth.size()));
        const auto wnid = wnids.find(truth[number - 1]);
        if (wnid == wnids.end())
            throw Error(fmt::format("{}:{}: class number {} is not in {}", truth_file->string(),
                                    number, truth[number - 1], table_file->string()));
        const auto place = std::ranges::lower_bound(list.classes.names, wnid->second);
        list.labels.push_back(place - list.classes.names.begin());
    }
    return list;
}

fs::path require_folder(const DatasetUri& uri, const fs::path& folder) {
    if (!fs::is_directory(folder))
        throw Error(fmt::format("{}: expected the folder {}", uri.text, folder.string()));
    return folder;
}

// Right answers of each validation image, in the order of their numbers.
std::vector<std::vector<std::int64_t>> read_real_labels(const fs::path& path) {
    const std::string text = read_text(path);
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) throw Error(fmt::format("{}: expected a list of lists", path.string()));
    std::vector<std::vector<std::int64_t>> answers;
    for (const auto& item : json) {
        std::vector<std::int64_t> classes;
        if (!item.is_array())
            throw Error(fmt::format("{}: image {}: expected a list of class numbers", path.string(),
                                    answers.size() + 1));
        for (const auto& value : item) {
            if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kImageNetClasses)
                throw Error(fmt::format("{}: image {}: expected class numbers below {}",
                                        path.string(), answers.size() + 1, kImageNetClasses));
            classes.push_back(value.get<std::int64_t>());
        }
        answers.push_back(std::move(classes));
    }
    return answers;
}

// The numbers in real.json are positions in the full list of ids; part of a list would be wrong.
ClassList find_full_class_list(const DatasetUri& uri, const fs::path& images) {
    std::vector<std::vector<std::string>> candidates;
    for (const fs::path& folder : {fs::path(uri.path) / "train", images})
        if (fs::is_directory(folder)) candidates.push_back(list_folders(folder));
    if (const auto table = find_synset_table(uri))
        candidates.push_back(sorted_ids(class_synsets(*table)));
    for (std::vector<std::string>& names : candidates)
        if (names.size() == kImageNetClasses) return {std::move(names), false};
    ClassList numbered;
    numbered.numbered = true;
    for (std::size_t i = 0; i < kImageNetClasses; ++i) numbered.names.push_back(std::to_string(i));
    return numbered;
}

// imagenet:PATH?split=train|val. PATH/train has one folder per id; PATH/val has too, or it is flat
// and the devkit's ILSVRC2012_validation_ground_truth.txt and meta.mat (below PATH, or in
// ?devkit=FOLDER) say what is what.
DatasetPtr open_imagenet(const DatasetUri& uri, Split split) {
    const bool train = split == Split::any || split == Split::train;
    if (split == Split::test)
        throw UsageError(
            fmt::format("{}: the labels of the test part are not public; expected "
                        "train or val",
                        uri.text));
    const fs::path folder = require_folder(uri, fs::path(uri.path) / (train ? "train" : "val"));
    const bool flat = !train && list_folders(folder).empty();
    return make_file_dataset(folder.string(),
                             flat ? list_flat_validation(uri, folder) : list_image_folder(folder));
}

// imagenet-real:PATH?labels=real.json. "Are we done with ImageNet?" (Beyer et al. 2020): the
// validation images with all their right answers. Images that have none are not part of the set.
DatasetPtr open_imagenet_real(const DatasetUri& uri, Split) {
    const fs::path root = require_folder(uri, uri.path);
    const fs::path images = fs::is_directory(root / "val") ? root / "val" : root;
    const fs::path labels = uri.option("labels").value_or((root / "real.json").string());
    const auto answers = read_real_labels(labels);
    FileList list;
    list.root = images;
    list.classes = find_full_class_list(uri, images);
    for (std::string& file : list_images(images)) {
        const std::size_t number = image_number(file);
        if (number > answers.size())
            throw Error(fmt::format("{}: image {}: {} has only {} entries", uri.text, file,
                                    labels.string(), answers.size()));
        const std::vector<std::int64_t>& right = answers[number - 1];
        if (right.empty()) continue;
        list.files.push_back(std::move(file));
        list.labels.push_back(right.front());
        list.answers.push_back(right);
    }
    return make_file_dataset(images.string(), std::move(list));
}

// imagenet-v2:PATH. Recht et al. 2019: folders named by the class number, 0 to 999.
DatasetPtr open_imagenet_v2(const DatasetUri& uri, Split) {
    FileList list = list_image_folder(require_folder(uri, uri.path));
    std::vector<std::string> names;
    for (const std::int64_t label : list.labels)
        names.push_back(list.classes.names[std::size_t(label)]);
    IndexedLabels indexed = index_labels(names);
    if (!indexed.classes.numbered)
        throw Error(fmt::format("{}: expected folders named 0 to {}, found {}", uri.text,
                                kImageNetClasses - 1, display_name(list.classes.names.back())));
    list.labels = std::move(indexed.labels);
    list.classes = std::move(indexed.classes);
    return make_file_dataset(uri.path, std::move(list));
}

}  // namespace

std::vector<DataSource> imagenet_sources() {
    return {{.scheme = "imagenet",
             .form = "imagenet:PATH?split=train|val&devkit=FOLDER",
             .help = "ILSVRC 2012",
             .options = {"split", "devkit"},
             .open = open_imagenet},
            {.scheme = "imagenet-real",
             .form = "imagenet-real:PATH?labels=real.json&devkit=FOLDER",
             .help = "ImageNet's validation images with all their right answers",
             .options = {"labels", "devkit"},
             .open = open_imagenet_real},
            {.scheme = "imagenet-v2",
             .form = "imagenet-v2:PATH",
             .help = "ImageNet-V2, folders named by class number",
             .open = open_imagenet_v2}};
}

}  // namespace cait
