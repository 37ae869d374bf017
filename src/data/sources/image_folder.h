// ImageFolder: one folder per class, images at any depth below it. Classes are the folders of the
// first level, ordered by the bytes of their names as torchvision orders them, so "10" comes before
// "2"; since classes are matched by name this order does not matter to anyone else.
#pragma once

#include "data/file_dataset.h"

namespace cait {

// The list behind folder:PATH. Hidden files and folders (".ipynb_checkpoints") are passed over. Throws Error
// when there is no class folder or one of them holds no image.
FileList list_image_folder(const std::filesystem::path& root);

// Image files below `folder` at any depth, relative to it and in torchvision's order.
std::vector<std::string> list_images(const std::filesystem::path& folder);

// Names of the visible folders in `folder`, sorted by their bytes.
std::vector<std::string> list_folders(const std::filesystem::path& folder);

}  // namespace cait
