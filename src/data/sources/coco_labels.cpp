// COCO and what is annotated like it, as images with any number of classes: those of the things
// that are annotated in them. Boxes and masks are not read.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/annotation_json.h"
#include "system/counted_memory.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

struct CocoLists {
    std::vector<std::pair<std::int64_t, std::string>> images, categories;  // id, name
    std::vector<std::pair<std::int64_t, std::int64_t>> annotations;        // image, category
};

CocoLists read_lists(const fs::path& json) {
    const std::string file = json.string(), text = read_annotation_file(json);
    CountedMemory memory(file);
    memory.add(text.size());
    CocoLists lists;
    const auto add = [&](const AnnotationEntry& entry, std::string_view field, auto& list) {
        std::string name = entry.text(field);
        require_field(entry.id >= 0, entry, "id", file);
        require_field(!name.empty(), entry, field, file);
        memory.add_text(name);
        list.emplace_back(entry.id, std::move(name));
    };
    parse_annotations(text, file, {.texts = {"file_name", "name"}}, [&](AnnotationEntry& entry) {
        if (entry.section == "images") add(entry, "file_name", lists.images);
        if (entry.section == "categories") add(entry, "name", lists.categories);
        if (entry.section != "annotations") return;
        require_field(entry.image_id >= 0, entry, "image_id", file);
        require_field(entry.category_id >= 0, entry, "category_id", file);
        memory.add(2 * sizeof(std::int64_t));
        lists.annotations.emplace_back(entry.image_id, entry.category_id);
    });
    return lists;
}

using Places = std::unordered_map<std::int64_t, std::size_t>;  // by id

Places places_of(const std::vector<std::pair<std::int64_t, std::string>>& entries, const char* what,
                 const std::string& file) {
    Places places;
    for (const auto& [id, name] : entries)
        if (!places.emplace(id, places.size()).second)
            throw Error(fmt::format("{}: {}: id {} stands there twice", file, what, id));
    return places;
}

std::size_t place_of(const Places& places, std::int64_t id, const char* what,
                     const std::string& file) {
    const auto found = places.find(id);
    if (found == places.end())
        throw Error(fmt::format("{}: annotations: expected an id of {}, found {}", file, what, id));
    return found->second;
}

// A list of strangers names files below the folder only.
void check_below(const std::string& name, const std::string& file) {
    const fs::path path = name;
    bool up = path.is_absolute();
    for (const fs::path& part : path) up = up || part == "..";
    if (up)
        throw Error(fmt::format("{}: images: expected a file_name below the folder, found {}", file,
                                display_name(name)));
}

DatasetPtr open_coco_labels(const DatasetUri& uri, Split) {
    const auto given = uri.option("json");
    if (!given)
        throw UsageError(
            fmt::format("{}: expected ?json=FILE, which says what is in the images", uri.text));
    const fs::path json = fs::path(*given).is_absolute() || fs::exists(*given)
                              ? fs::path(*given)
                              : fs::path(uri.path) / *given;
    const std::string file = json.string();
    CocoLists lists = read_lists(json);
    if (lists.categories.empty()) throw Error(fmt::format("{}: expected categories", file));

    const Places images = places_of(lists.images, "images", file);
    const Places categories = places_of(lists.categories, "categories", file);
    FileList list;
    list.root = uri.path;
    std::set<std::string> names;
    for (auto& [id, name] : lists.categories) {
        if (!names.insert(name).second)
            throw Error(
                fmt::format("{}: categories: {} stands there twice", file, display_name(name)));
        list.classes.names.push_back(std::move(name));
    }
    for (auto& [id, name] : lists.images) {
        check_below(name, file);
        list.files.push_back(std::move(name));
    }
    std::vector<std::vector<std::int64_t>> answers(list.files.size());
    for (const auto& [image, category] : lists.annotations)
        answers[place_of(images, image, "an image", file)].push_back(
            std::int64_t(place_of(categories, category, "a category", file)));
    list.set_answers(std::move(answers));
    return make_file_dataset(file, std::move(list));
}

}  // namespace

std::vector<DataSource> coco_labels_sources() {
    return {{.scheme = "coco-labels",
             .form = "coco-labels:FOLDER?json=FILE",
             .help = "images of any number of classes, as COCO's annotations have them",
             .options = {"json"},
             .open = open_coco_labels,
             .is_layout = true}};
}

}  // namespace cait
