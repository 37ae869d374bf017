// Oxford-IIIT Pets (Parkhi et al. 2012): images/Breed_name_17.jpg, with the parts and the breeds'
// numbers as lists in annotations/.
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

constexpr const char* kTraining = "annotations/trainval.txt";
constexpr const char* kTest = "annotations/test.txt";

struct Entry {
    std::string image;  // "american_bulldog_10"
    std::int64_t breed = 0;
};

// "american_bulldog_10 2 2 1": image, breed, species, breed within the species. '#' opens comments.
std::vector<Entry> read_list(const fs::path& path) {
    std::vector<Entry> entries;
    std::size_t number = 0;
    for (const std::string& line : read_lines(path)) {
        ++number;
        if (line.starts_with('#')) continue;
        const std::vector<std::string> words = words_of(line);
        const auto breed = words.size() < 2 ? std::nullopt : plain_number(words[1]);
        if (!breed || *breed < 1 || words[0].find('_') == std::string::npos)
            throw Error(fmt::format("{}:{}: expected BREED_NUMBER and the breed's number, found {}",
                                    path.string(), number, display_name(line, 80)));
        entries.push_back({words[0], *breed});
    }
    return entries;
}

// Both lists name the breeds; one alone might lack some in a cut-down copy.
using Breeds = std::map<std::int64_t, std::string>;
void add_breeds(const fs::path& path, const std::vector<Entry>& entries, Breeds& breeds) {
    for (const Entry& entry : entries) {
        const std::string name = entry.image.substr(0, entry.image.rfind('_'));
        const auto [known, is_new] = breeds.emplace(entry.breed, name);
        if (!is_new && known->second != name)
            throw Error(fmt::format("{}: breed {} is called {} and {}", path.string(), entry.breed,
                                    display_name(known->second, 80), display_name(name, 80)));
    }
}

// oxford-pets:PATH?split=train|trainval|test: annotations/trainval.txt (3,680 images; the authors
// leave it undivided, so train means the same) and annotations/test.txt (3,669). The 37 classes are
// the breeds, in the order of their numbers.
DatasetPtr open_oxford_pets(const DatasetUri& uri, Split split) {
    const fs::path root = find_root(uri, "oxford-iiit-pet", kTraining);
    const std::vector<Entry> training = read_list(root / kTraining), test = read_list(root / kTest);
    Breeds breeds;
    add_breeds(root / kTraining, training, breeds);
    add_breeds(root / kTest, test, breeds);
    FileList list;
    list.root = root / "images";
    std::map<std::int64_t, std::int64_t> label_of;
    for (const auto& [number, name] : breeds) {
        label_of.emplace(number, std::int64_t(label_of.size()));
        list.classes.names.push_back(name);
    }
    for (const Entry& entry : is_training(split) ? training : test) {
        list.files.push_back(entry.image + ".jpg");
        list.labels.push_back(label_of.at(entry.breed));
    }
    return make_file_dataset((root / (is_training(split) ? kTraining : kTest)).string(),
                             std::move(list));
}

}  // namespace

std::vector<DataSource> oxford_pets_sources() {
    return {{.scheme = "oxford-pets",
             .form = "oxford-pets:PATH?split=trainval|test",
             .help = "Oxford-IIIT Pets by annotations/trainval.txt and test.txt: 37 breeds",
             .options = {"split"},
             .open = open_oxford_pets,
             .val_is_test = true,
             .has_trainval = true}};
}

}  // namespace cait
