#include "data/open_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/display_name.h"
#include "base/suggest.h"
#include "cait/error.h"
#include "data/check_class_names.h"
#include "data/levels.h"
#include "data/sources/cifar.h"
#include "data/sources/csv_dataset.h"
#include "data/sources/cub200.h"
#include "data/sources/flowers102.h"
#include "data/sources/food101.h"
#include "data/sources/idx.h"
#include "data/sources/image_folder.h"
#include "data/sources/imagenet.h"
#include "data/sources/inaturalist.h"
#include "data/sources/oxford_pets.h"
#include "data/sources/stanford_cars.h"
#include "data/sources/tar_shards.h"
#include "data/sources/tiny_imagenet.h"

namespace cait {

namespace {

struct Scheme {
    DatasetScheme text;
    std::vector<std::string> options;
    DatasetPtr (*open)(const DatasetUri&, Split);
    bool needs_path = true;
    // What Split::val opens is the part that the authors call test: there is no other.
    bool val_is_test = false;
    bool has_trainval = false;  // ?split=trainval: the training and validation parts together
};

const std::vector<Scheme>& schemes() {
    static const std::vector<Scheme> kSchemes{
        {{"folder", "folder:PATH?split=train|val|test",
          "one folder per class, images at any depth below it; where PATH has train/ and val/ or "
          "test/, split chooses"},
         {"split"},
         open_image_folder},
        {{"csv", "csv:FILE?path=COLUMN&label=COLUMN&levels=COLUMN,COLUMN&root=FOLDER",
          "a table with a header row; relative paths start at root, else at the file's folder"},
         {"path", "label", "levels", "root"},
         open_csv_dataset},
        {{"tar", "tar:PATH/{000..009}.tar",
          "WebDataset shards: key.jpg with key.cls; `cait data pack` writes shard-000000.tar and "
          "on"},
         {},
         open_tar_shards},
        {{"cifar10", "cifar10:PATH?split=train|test", "CIFAR-10, binary version"},
         {"split"},
         open_cifar10,
         true,
         true},
        {{"cifar100", "cifar100:PATH?labels=fine|coarse&split=train|test",
          "CIFAR-100, binary version"},
         {"split", "labels"},
         open_cifar100,
         true,
         true},
        {{"mnist", "mnist:PATH?split=train|test", "MNIST, IDX files, also gzipped"},
         {"split"},
         open_mnist,
         false,
         true},
        {{"fashion-mnist", "fashion-mnist:PATH?split=train|test",
          "Fashion-MNIST; without PATH the files of Debian's package"},
         {"split"},
         open_fashion_mnist,
         false,
         true},
        {{"idx", "idx:PATH?labels=FILE&split=train|test", "IDX files of images and labels"},
         {"split", "labels"},
         open_idx,
         true,
         true},
        {{"imagenet", "imagenet:PATH?split=train|val&devkit=FOLDER", "ILSVRC 2012"},
         {"split", "devkit"},
         open_imagenet},
        {{"imagenet-real", "imagenet-real:PATH?labels=real.json&devkit=FOLDER",
          "ImageNet's validation images with all their right answers"},
         {"labels", "devkit"},
         open_imagenet_real},
        {{"imagenet-v2", "imagenet-v2:PATH", "ImageNet-V2, folders named by class number"},
         {},
         open_imagenet_v2},
        {{"inaturalist", "inaturalist:PATH?json=train2018.json&level=genus&split=train|val",
          "iNaturalist; level is one of the seven taxonomic ones"},
         {"split", "json"},
         open_inaturalist},
        {{"flowers102", "flowers102:PATH?split=train|val|trainval|test",
          "Oxford Flowers-102 by its own setid.mat: test is tstid, 6,149 images"},
         {"split"},
         open_flowers102,
         true,
         false,
         true},
        {{"stanford-cars", "stanford-cars:PATH?split=train|test",
          "Stanford Cars with the devkit's .mat files"},
         {"split"},
         open_stanford_cars,
         true,
         true},
        {{"food101", "food101:PATH?split=train|test", "Food-101 by meta/train.txt and test.txt"},
         {"split"},
         open_food101,
         true,
         true},
        {{"oxford-pets", "oxford-pets:PATH?split=trainval|test",
          "Oxford-IIIT Pets by annotations/trainval.txt and test.txt: 37 breeds"},
         {"split"},
         open_oxford_pets,
         true,
         true,
         true},
        {{"cub200", "cub200:PATH?split=train|test", "CUB-200-2011, birds, by train_test_split.txt"},
         {"split"},
         open_cub200,
         true,
         true},
        {{"tiny-imagenet", "tiny-imagenet:PATH?split=train|val&labels=ids|words",
          "Tiny ImageNet; classes are WordNet ids, or what words.txt calls them"},
         {"split", "labels"},
         open_tiny_imagenet},
    };
    return kSchemes;
}

const Scheme& find_scheme(const DatasetUri& uri) {
    std::vector<std::string> names;
    for (const Scheme& scheme : schemes()) {
        if (scheme.text.name == uri.scheme) return scheme;
        names.push_back(scheme.text.name);
    }
    throw UsageError(fmt::format("data set {}: unknown scheme; did you mean '{}'? There are {}",
                                 display_name(uri.text), nearest_names(uri.scheme, names, 1)[0],
                                 fmt::join(names, ", ")));
}

}  // namespace

std::vector<DatasetScheme> dataset_schemes() {
    std::vector<DatasetScheme> texts;
    for (const Scheme& scheme : schemes()) texts.push_back(scheme.text);
    return texts;
}

bool has_part(std::string_view text, Split part) {
    const DatasetUri uri = parse_dataset_uri(text);
    const Scheme& scheme = find_scheme(uri);
    const bool divided = std::ranges::find(scheme.options, "split") != scheme.options.end();
    if (!divided || uri.option("split") || uri.option("json")) return false;
    if (uri.scheme == "folder") {
        const std::vector<Split> splits = folder_splits(uri.path);
        return std::ranges::find(splits, part) != splits.end();
    }
    return uri.path.empty() || std::filesystem::is_directory(uri.path);
}

bool validates_on_test(std::string_view text) {
    const DatasetUri uri = parse_dataset_uri(text);
    const Split split = uri.split(Split::val);
    return split == Split::test || (split == Split::val && find_scheme(uri).val_is_test);
}

DatasetPtr open_dataset(std::string_view text, Split hint) {
    const DatasetUri uri = parse_dataset_uri(text);
    const Scheme& scheme = find_scheme(uri);
    std::vector<std::string> options = scheme.options;
    for (const char* common : {"classes", "level", "parents"}) options.emplace_back(common);
    uri.check_options(options);
    if (scheme.needs_path && uri.path.empty())
        throw UsageError(
            fmt::format("data set {}: expected {}", display_name(text), scheme.text.form));
    const Split split = uri.split(hint);
    if (split == Split::trainval && !scheme.has_trainval)
        throw UsageError(
            fmt::format("{}: split: expected {}, found 'trainval'", uri.text, scheme.text.form));
    DatasetPtr dataset = scheme.open(uri, split);
    if (const auto table = uri.option("parents"))
        dataset = with_parents(std::move(dataset), *table);
    if (const auto level = uri.option("level")) dataset = at_level(std::move(dataset), *level);
    check_class_names(dataset->classes(), dataset->source());
    if (const auto file = uri.option("classes"))
        return with_classes(std::move(dataset), read_class_file(*file));
    return dataset;
}

std::vector<std::string> dataset_parts(std::string_view text) {
    const DatasetUri uri = parse_dataset_uri(text);
    std::vector<std::string> names;
    if (uri.scheme == "folder" && !uri.path.empty() && !uri.option("split"))
        for (const Split split : folder_splits(uri.path))
            names.push_back(
                fmt::format("{}{}split={}", text, uri.options.empty() ? '?' : '&', name_of(split)));
    if (names.empty()) names.emplace_back(text);
    return names;
}

}  // namespace cait
