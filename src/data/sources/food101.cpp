// Food-101 (Bossard et al. 2014): images/CLASS/NUMBER.jpg, with the parts as lists in meta/.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/text_lines.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// food101:PATH?split=train|test: meta/train.txt (75,750 images) and meta/test.txt (25,250), classes
// and their order from meta/classes.txt.
DatasetPtr open_food101(const DatasetUri& uri, Split split) {
    const fs::path root = find_root(uri, "food-101", "meta/classes.txt");
    const fs::path part = root / "meta" / (is_training(split) ? "train.txt" : "test.txt");
    FileList list;
    list.root = root / "images";
    list.classes.names = read_class_file(root / "meta" / "classes.txt");
    std::unordered_map<std::string, std::int64_t> label_of;
    for (const std::string& name : list.classes.names)
        label_of.emplace(name, std::int64_t(label_of.size()));
    for (const std::string& line : read_lines(part)) {  // "apple_pie/1005649"
        const auto label = label_of.find(line.substr(0, line.find('/')));
        if (label == label_of.end() || line.find('/') == std::string::npos)
            throw Error(
                fmt::format("{}:{}: expected CLASS/IMAGE with a class of classes.txt, found {}",
                            part.string(), list.files.size() + 1, display_name(line, 80)));
        list.files.push_back(line + ".jpg");
        list.labels.push_back(label->second);
    }
    return make_file_dataset(part.string(), std::move(list));
}

}  // namespace

std::vector<DataSource> food101_sources() {
    return {{.scheme = "food101",
             .form = "food101:PATH?split=train|test",
             .help = "Food-101 by meta/train.txt and test.txt",
             .options = {"split"},
             .open = open_food101,
             .val_is_test = true}};
}

}  // namespace cait
