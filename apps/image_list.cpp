#include "image_list.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <iostream>
#include <utility>

#include "data/imagenet_classes.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"

namespace cait::app {

namespace {

constexpr LineLimits kPathLimits{.line = PATH_MAX};

void add_lines(std::vector<std::string> lines, std::vector<ListedImage>& images) {
    for (std::string& line : lines)
        if (!line.empty()) images.push_back({std::move(line), {}});
}

void add_folder(const std::filesystem::path& folder, std::vector<ListedImage>& images) {
    const std::vector<std::string> files = list_images(folder);
    if (files.empty())
        throw Error(fmt::format("{}: expected a folder with JPEG, PNG or WebP images, found none",
                                folder.string()));
    for (const std::string& file : files) {
        const std::filesystem::path above = std::filesystem::path(file).parent_path();
        std::optional<std::string> name;
        if (!above.empty()) name = above.filename().string();
        images.push_back({(folder / file).string(), name});
    }
}

bool is_pattern(const std::string& word) {
    return word.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(word);
}

void add_pattern(const std::string& word, std::vector<ListedImage>& images) {
    glob_t found{};
    const int status = ::glob(word.c_str(), GLOB_MARK, nullptr, &found);
    for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
        const std::string path = found.gl_pathv[i];
        if (!path.ends_with('/')) images.push_back({path, {}});
    }
    ::globfree(&found);
    if (status != 0)
        throw Error(fmt::format("{}: expected files that fit the pattern, found none", word));
}

}  // namespace

std::vector<ListedImage> list_files(const std::vector<std::string>& words) {
    std::vector<ListedImage> images;
    for (const std::string& word : words) {
        if (word == "-") {
            add_lines(read_lines(std::cin, "standard input", kPathLimits), images);
        } else if (std::filesystem::is_directory(word)) {
            add_folder(word, images);
        } else if (is_pattern(word)) {
            add_pattern(word, images);
        } else if (word.ends_with(".txt")) {
            add_lines(read_lines(word, kPathLimits), images);
        } else {
            images.push_back({word, {}});
        }
    }
    return images;
}

std::optional<std::string> class_of_folder(const Model& model, const std::string& folder) {
    const auto is_class = [&](const std::string& name) {
        return std::ranges::find(model.classes(), name) != model.classes().end();
    };
    if (is_class(folder)) return folder;
    if (const auto name = imagenet_name(folder); name && is_class(*name)) return name;
    return std::nullopt;
}

}  // namespace cait::app
