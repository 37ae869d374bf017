// Caltech-UCSD Birds (CUB-200-2011, Wah et al. 2011): images/CLASS/FILE.jpg, with numbers, classes
// and parts in four lists.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// "1 what belongs to it" per line, by the number.
using Numbered = std::map<std::int64_t, std::string>;

Numbered read_numbered(const fs::path& path) {
    Numbered entries;
    std::size_t line_number = 0;
    for (const std::string& line : read_lines(path)) {
        ++line_number;
        auto [word, rest] = first_word(line);
        const auto number = plain_number(word);
        if (!number || rest.empty())
            throw Error(fmt::format("{}:{}: expected a number and what belongs to it, found {}",
                                    path.string(), line_number, display_name(line, 80)));
        if (!entries.emplace(*number, std::move(rest)).second)
            throw Error(fmt::format("{}:{}: number {} stands here a second time", path.string(),
                                    line_number, *number));
    }
    return entries;
}

const std::string& entry_of(const Numbered& entries, std::int64_t image, const fs::path& path) {
    const auto found = entries.find(image);
    if (found == entries.end())
        throw Error(fmt::format("{}: expected a line for image {}", path.string(), image));
    return found->second;
}

// cub200:PATH?split=train|test: the 5,994 and 5,794 images that train_test_split.txt marks with 1
// and 0. Classes as classes.txt names and orders them ("001.Black_footed_Albatross").
DatasetPtr open_cub200(const DatasetUri& uri, Split split) {
    const fs::path root = find_root(uri, "CUB_200_2011", "train_test_split.txt");
    const fs::path labels_path = root / "image_class_labels.txt",
                   parts_path = root / "train_test_split.txt";
    const Numbered labels = read_numbered(labels_path), parts = read_numbered(parts_path);
    FileList list;
    list.root = root / "images";
    std::map<std::string, std::int64_t> label_of;  // by the class's number
    for (auto& [number, name] : read_numbered(root / "classes.txt")) {
        label_of.emplace(std::to_string(number), std::int64_t(label_of.size()));
        list.classes.names.push_back(name);
    }
    for (const auto& [image, file] : read_numbered(root / "images.txt")) {
        const std::string& part = entry_of(parts, image, parts_path);
        if (part != "0" && part != "1")
            throw Error(fmt::format("{}: image {}: expected 1 (train) or 0 (test), found {}",
                                    parts_path.string(), image, display_name(part, 40)));
        if ((part == "1") != is_training(split)) continue;
        const std::string& number = entry_of(labels, image, labels_path);
        const auto label = label_of.find(number);
        if (label == label_of.end())
            throw Error(fmt::format("{}: image {}: class {} is not in classes.txt",
                                    labels_path.string(), image, display_name(number, 40)));
        list.files.push_back(file);
        list.labels.push_back(label->second);
    }
    return make_file_dataset(uri.text, std::move(list));
}

}  // namespace

std::vector<DataSource> cub200_sources() {
    return {{.scheme = "cub200",
             .form = "cub200:PATH?split=train|test",
             .help = "CUB-200-2011, birds, by train_test_split.txt",
             .options = {"split"},
             .open = open_cub200,
             .val_is_test = true}};
}

}  // namespace cait
