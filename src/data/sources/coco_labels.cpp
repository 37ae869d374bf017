// COCO and what is annotated like it, as images with any number of classes: those of the things
// that are annotated in them. Boxes and masks are not read.
#include <fmt/format.h>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "data/formats/coco_lists.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

DatasetPtr open_coco_labels(const DatasetUri& uri, Split) {
    const auto given = uri.option("json");
    if (!given)
        throw UsageError(
            fmt::format("{}: expected ?json=FILE, which says what is in the images", uri.text));
    const fs::path json = fs::path(*given).is_absolute() || fs::exists(*given)
                              ? fs::path(*given)
                              : fs::path(uri.path) / *given;
    CocoLists lists = read_coco_lists(json, false);
    FileList list;
    list.root = uri.path;
    list.classes = std::move(lists.classes);
    for (CocoImage& image : lists.images) list.files.push_back(std::move(image.file));
    std::vector<std::vector<std::int64_t>> answers(list.files.size());
    for (const CocoAnnotation& annotation : lists.annotations)
        answers[annotation.image].push_back(annotation.category);
    list.set_answers(std::move(answers));
    return make_file_dataset(json.string(), std::move(list));
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
