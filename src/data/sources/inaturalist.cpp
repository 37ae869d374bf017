// iNaturalist (2017 to 2021): a COCO-style json names the images, and the label may be any of the
// seven taxonomic levels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/annotation_json.h"
#include "data/levels.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 7> kLevels{"kingdom", "phylum", "class",  "order",
                                                  "family",  "genus",  "species"};

using Taxon = std::array<std::string, kLevels.size()>;

// A category's key for each level: the species is its name.
std::size_t level_of_key(std::string_view key) {
    if (key == "name") return kLevels.size() - 1;
    return std::size_t(std::ranges::find(kLevels.begin(), kLevels.end() - 1, key) -
                       kLevels.begin());
}

struct Entries {
    std::vector<std::pair<std::int64_t, std::string>> images;  // id, file name
    std::unordered_map<std::int64_t, std::int64_t> category_of_image;
    // By category, the name at each of kLevels; empty where it is not given.
    std::unordered_map<std::int64_t, Taxon> taxa;
};

void parse(const fs::path& path, Entries& entries) {
    const std::string file = path.string(), text = read_annotation_file(path);
    // categories.json is a bare list.
    const AnnotationOptions options{
        .texts = {"file_name", "name", "kingdom", "phylum", "class", "order", "family", "genus"},
        .bare_list = "categories"};
    parse_annotations(text, file, options, [&](AnnotationEntry& entry) {
        if (entry.section == "images") {
            require_field(entry.id >= 0, entry, "id", file);
            require_field(!entry.text("file_name").empty(), entry, "file_name", file);
            entries.images.emplace_back(entry.id, entry.text("file_name"));
        } else if (entry.section == "annotations") {
            require_field(entry.image_id >= 0, entry, "image_id", file);
            require_field(entry.category_id >= 0, entry, "category_id", file);
            entries.category_of_image[entry.image_id] = entry.category_id;
        } else if (entry.section == "categories") {
            require_field(entry.id >= 0, entry, "id", file);
            Taxon& known = entries.taxa[entry.id];  // a later file may know more
            for (const auto& [key, value] : entry.texts)
                if (const std::size_t level = level_of_key(key);
                    level < kLevels.size() && !value.empty())
                    known[level] = value;
        }
    });
}

fs::path find_json(const DatasetUri& uri, Split split) {
    if (const auto json = uri.option("json")) {
        const fs::path given = *json;
        return given.is_absolute() || fs::exists(given) ? given : fs::path(uri.path) / given;
    }
    const std::string prefix(name_of(split == Split::any ? Split::train : split));
    std::vector<fs::path> found;
    if (fs::is_directory(uri.path))
        for (const fs::directory_entry& entry : fs::directory_iterator(uri.path))
            if (entry.path().extension() == ".json" &&
                entry.path().filename().string().starts_with(prefix))
                found.push_back(entry.path());
    if (found.size() != 1)
        throw Error(
            fmt::format("{}: expected one {}*.json in {}, found {}; name it with ?json=FILE",
                        uri.text, prefix, uri.path, found.size()));
    return found.front();
}

// The categories that have images, in the order in which they come, and each image's place among
// them.
struct Used {
    std::vector<std::int64_t> categories;
    std::vector<std::int64_t> of_image;
};

Used used_categories(const Entries& entries, const fs::path& json) {
    Used used;
    std::unordered_map<std::int64_t, std::int64_t> places;
    for (const auto& [id, file] : entries.images) {
        const auto category = entries.category_of_image.find(id);
        if (category == entries.category_of_image.end())
            throw Error(
                fmt::format("{}: image {} has no annotation", json.string(), display_name(file)));
        const auto [place, is_new] =
            places.emplace(category->second, std::int64_t(used.categories.size()));
        if (is_new) used.categories.push_back(category->second);
        used.of_image.push_back(place->second);
    }
    return used;
}

// The first category that is not given at this level.
std::optional<std::int64_t> untold(const Entries& entries, const Used& used, std::size_t level) {
    for (const std::int64_t category : used.categories) {
        const auto taxon = entries.taxa.find(category);
        if (taxon == entries.taxa.end() || taxon->second[level].empty()) return category;
    }
    return std::nullopt;
}

// inaturalist:PATH?json=train2018.json&level=kingdom|phylum|class|order|family|genus|species. The
// json lies in PATH, as does categories.json where the levels are kept apart (2018). Without ?json=
// it is the one file in PATH that begins with the name of the split.
DatasetPtr open_inaturalist(const DatasetUri& uri, Split split) {
    const std::string chosen = uri.option("level").value_or("species");
    const std::string own = chosen == kOneClass || chosen == "one" ? "species" : chosen;
    if (std::ranges::find(kLevels, own) == kLevels.end())
        throw UsageError(fmt::format("{}: level: expected {}, found {}", uri.text,
                                     fmt::join(kLevels, ", "), display_name(own)));
    const fs::path json = find_json(uri, split);
    Entries entries;
    parse(json, entries);
    if (const fs::path extra = fs::path(uri.path) / "categories.json"; fs::exists(extra))
        parse(extra, entries);

    Used used = used_categories(entries, json);
    FileList list;
    list.root = uri.path;
    for (auto& [id, file] : entries.images) list.files.push_back(std::move(file));
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
        if (const auto category = untold(entries, used, level)) {
            if (kLevels[level] != own) continue;
            throw Error(fmt::format("{}: category {}: no {} here nor in categories.json",
                                    json.string(), *category, own));
        }
        std::vector<std::string> names;
        for (const std::int64_t category : used.categories)
            names.push_back(entries.taxa.at(category)[level]);
        IndexedLabels indexed = index_labels(names);
        if (kLevels[level] == own) {
            list.classes = indexed.classes;
            for (const std::int64_t group : used.of_image)
                list.labels.push_back(indexed.labels[std::size_t(group)]);
        }
        list.levels.push_back(
            {std::string(kLevels[level]), std::move(indexed.classes), std::move(indexed.labels)});
    }
    list.group_of = std::move(used.of_image);
    return make_file_dataset(json.string(), std::move(list));
}

}  // namespace

std::vector<DataSource> inaturalist_sources() {
    return {{.scheme = "inaturalist",
             .form = "inaturalist:PATH?json=train2018.json&level=genus&split=train|val",
             .help = "iNaturalist; level is one of the seven taxonomic ones",
             .options = {"split", "json"},
             .open = open_inaturalist,
             .part_option = "json"}};
}

}  // namespace cait
