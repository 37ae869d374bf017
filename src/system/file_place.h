// Which file is meant: a path that a user gave, whose links are followed, or a name below an open
// folder, in which no link is. What reads and writes files takes either.
#pragma once

#include <sys/types.h>

#include <concepts>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "cait/error.h"
#include "system/folder.h"

namespace cait {

// "runs/x/last.safetensors: expected a regular file, found a symbolic link; links in this folder
// are not followed".
class LinkRefused : public Error {
public:
    LinkRefused(const std::filesystem::path& path, std::string_view expected);
};

class FilePlace {
public:
    // Implicit: most files are just paths.
    template <std::convertible_to<std::filesystem::path> Path>
    FilePlace(const Path& path) : name_(path) {}
    FilePlace(FolderPtr folder, std::filesystem::path name)
        : folder_(std::move(folder)), name_(std::move(name)) {}

    std::filesystem::path path() const { return folder_ ? folder_->path() / name_ : name_; }
    std::string string() const { return path().string(); }
    const FolderPtr& folder() const { return folder_; }  // null for a path
    const std::filesystem::path& name() const { return name_; }

    // What lies there: S_IFREG and so on, of a name below a folder also S_IFLNK; nothing where
    // nothing does.
    std::optional<mode_t> mode() const;
    bool exists() const { return mode().has_value(); }

    // A descriptor, or -1 with errno. For core/ alone, as open_below() is.
    int open(int flags, mode_t mode = 0) const;
    // Throws by errno after open(): LinkRefused, or Error "FILE: cannot ACTION: …".
    [[noreturn]] void fail(const char* action) const;

private:
    FolderPtr folder_;
    std::filesystem::path name_;
};

}  // namespace cait
