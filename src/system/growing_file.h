// A file that grows while others read it, such as a log: the way out for what cannot be written
// whole at the end (atomic_file.h).
#pragma once

#include <optional>
#include <string_view>

#include "system/descriptor.h"
#include "system/file_place.h"

namespace cait {

class GrowingFile {
public:
    // Goes on at the end of the file, which is made where it is not there. Throws Error, naming the
    // file, for what is no regular file; a pipe is never waited for.
    explicit GrowingFile(FilePlace place);
    // A new file; nothing where the name is taken.
    static std::optional<GrowingFile> create(const FilePlace& place);

    void write(std::string_view text);  // in the file when it returns

    const FilePlace& place() const { return place_; }

private:
    GrowingFile(FilePlace place, Descriptor file)
        : place_(std::move(place)), file_(std::move(file)) {}

    FilePlace place_;
    Descriptor file_;
};

}  // namespace cait
