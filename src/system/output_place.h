// Where an output really goes. Links are followed, so that a file behind one is replaced and the
// link stays; what is not a regular file is never replaced.
#pragma once

#include <filesystem>

namespace cait {

struct OutputPlace {
    std::filesystem::path path;  // links resolved; there need not be a file yet
    bool direct = false;         // a device, a pipe or /dev/stdout: written to as it is
    int descriptor = -1;  // of this process, where the name means one (/dev/stdout, /dev/fd/3)
};

// Throws Error for a folder, a disk or a socket, and for links without end.
OutputPlace output_place(const std::filesystem::path& path);

}  // namespace cait
