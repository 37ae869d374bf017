#include "system/read_only_below.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace cait {

namespace {

namespace fs = std::filesystem;

thread_local FolderPtr only_below;

bool is_same_folder(const fs::path& path, const Folder& folder) {
    struct stat a {
    }, b{};
    return ::stat(path.c_str(), &a) == 0 && ::fstat(folder.descriptor(), &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

ReadOnlyBelow::ReadOnlyBelow(FolderPtr folder)
    : before_(std::exchange(only_below, std::move(folder))) {}
ReadOnlyBelow::~ReadOnlyBelow() { only_below = std::move(before_); }

FilePlace ReadOnlyBelow::within(const FilePlace& place) {
    if (!only_below) return place;
    // What the name says must not depend on how it spells the folder.
    fs::path rest = fs::absolute(place.path()).lexically_normal(), name;
    do {
        if (rest == rest.parent_path())
            throw Error(fmt::format("{}: expected a file below {}", place.string(),
                                    only_below->path().string()));
        name = name.empty() ? rest.filename() : rest.filename() / name;
        rest = rest.parent_path();
    } while (!is_same_folder(rest, *only_below));
    return {only_below, name};
}

}  // namespace cait
