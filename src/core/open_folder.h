// A folder that decides what may be read: files are opened from its descriptor, part by part, and
// no symbolic link is followed on the way. So a name that comes from somebody else reaches nothing
// outside, and nobody can exchange a part for a link between a check and the opening.
#pragma once

#include <filesystem>

#include "core/open_file.h"

namespace cait {

class OpenFolder {
public:
    // The way to the folder itself may contain links. Throws Error, naming it, where it is none.
    explicit OpenFolder(std::filesystem::path path);
    OpenFolder(const OpenFolder&) = delete;
    OpenFolder& operator=(const OpenFolder&) = delete;
    ~OpenFolder();

    const std::filesystem::path& path() const noexcept { return path_; }

    // A descriptor for reading, opened with `flags`. `file` may name the folder in any way, through
    // links too; from there on it is plain folders and a file. Throws Error, naming the file.
    int open(const std::filesystem::path& file, int flags) const;

private:
    std::filesystem::path path_;
    FileId id_;
    int fd_ = -1;
};

// While it lives, OpenFile in this thread opens files below one folder only, whoever asks: readers
// of data sets open files that other files name.
class ReadOnlyBelow {
public:
    explicit ReadOnlyBelow(const OpenFolder& folder);
    ReadOnlyBelow(const ReadOnlyBelow&) = delete;
    ReadOnlyBelow& operator=(const ReadOnlyBelow&) = delete;
    ~ReadOnlyBelow();

    static const OpenFolder* folder() noexcept;  // of this thread; nullptr: any file may be read

private:
    const OpenFolder* before_;
};

}  // namespace cait
