// An open folder whose content somebody else may have made. What lies below it is opened without
// following links, so that no name in it leads outside, not even one that is exchanged meanwhile.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "system/descriptor.h"

namespace cait {

// A descriptor of `name`, one component or several, below an open folder; -1 with errno otherwise:
// ELOOP where a component is a link, EXDEV for a name with ".." or a "/" in front. With O_PATH the
// last component may be a link, which is then what is opened. For core/ alone, which the three ways
// to a file (open_file.h, atomic_file.h, growing_file.h) build on.
int open_below(int folder, const std::filesystem::path& name, int flags, mode_t mode = 0);

class Folder;
using FolderPtr = std::shared_ptr<const Folder>;

class Folder {
public:
    // The way to the folder itself may lead through links: its user has named it. Throws Error when
    // it cannot be opened.
    static FolderPtr open(const std::filesystem::path& path);
    // The same for one that is made, with the folders above it, where it is not there yet.
    static FolderPtr make(const std::filesystem::path& path);
    // A folder in this one that is made where it is not there yet. Throws Error for a link.
    FolderPtr make_below(const std::string& name) const;

    const std::filesystem::path& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_.get(); }
    std::vector<std::string> names() const;  // of what lies in it, in alphabetical order

    Folder(std::filesystem::path path, Descriptor descriptor)
        : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

private:
    std::filesystem::path path_;  // as given, for messages
    Descriptor descriptor_;
};

}  // namespace cait
