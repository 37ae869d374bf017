// ImageFolder: one folder per class, images at any depth below it. Classes are the folders of the
// first level, ordered by the bytes of their names as torchvision orders them, so "10" comes before
// "2"; since classes are matched by name this order does not matter to anyone else.
#pragma once

#include "data/dataset.h"
#include "data/dataset_uri.h"
#include "data/sources/file_dataset.h"

namespace cait {

// folder:PATH. When PATH holds train/ and val/ (or test/), `split` says which of them is meant.
DatasetPtr open_image_folder(const DatasetUri& uri, Split split);

// The parts of a PATH that holds train/ and val/; none where it holds classes.
std::vector<Split> folder_splits(const std::filesystem::path& folder);

// The list behind it. Hidden files and folders (".ipynb_checkpoints") are passed over. Throws Error
// when there is no class folder or one of them holds no image.
FileList list_image_folder(const std::filesystem::path& root);

// Image files below `folder` at any depth, relative to it and in torchvision's order.
std::vector<std::string> list_images(const std::filesystem::path& folder);

// Names of the visible folders in `folder`, sorted by their bytes.
std::vector<std::string> list_folders(const std::filesystem::path& folder);

}  // namespace cait
