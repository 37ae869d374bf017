#include "data/paired_folders.h"

#include <fmt/format.h>

#include "cait/error.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
    std::error_code failure;
    return fs::is_directory(path, failure);
}

std::vector<std::string> part_names(Split split) {
    if (split == Split::val) return {"val", "valid"};
    return {std::string(name_of(split))};
}

}  // namespace

PairedFolders find_paired_folders(const DatasetUri& uri, Split split) {
    const fs::path root = uri.path;
    const std::string images = uri.option("images").value_or("images");
    const std::string labels = uri.option("labels").value_or("labels");
    if (split != Split::any) {
        for (const std::string& part : part_names(split)) {
            if (is_folder(root / part / images)) return {root / part, images, labels};
            if (is_folder(root / images / part) && is_folder(root / labels / part))
                return {root, images + "/" + part, labels + "/" + part};
        }
    }
    if (is_folder(root / images) && !uri.option("split")) return {root, images, labels};
    throw Error(fmt::format(
        "{}: expected the folders {} and {} in {}{}", uri.text, images, labels, root.string(),
        split == Split::any ? fmt::format(", or a split (?split=train)")
                            : fmt::format(" or in {}", (root / name_of(split)).string())));
}

std::vector<Split> paired_folder_parts(const fs::path& folder) {
    std::vector<Split> parts;
    for (const Split split : {Split::train, Split::val, Split::test})
        for (const std::string& name : part_names(split))
            if (is_folder(folder / name / "images") || is_folder(folder / "images" / name)) {
                parts.push_back(split);
                break;
            }
    return parts;
}

}  // namespace cait
