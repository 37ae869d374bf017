// A limit on what a thread may read: files below one folder, reached without links. For readers of
// data sets, which open files that other files name, where those come from somebody else.
#pragma once

#include "system/file_place.h"

namespace cait {

class ReadOnlyBelow {
public:
    // While it lives, OpenFile in this thread opens only what lies below the folder, for all
    // callers.
    explicit ReadOnlyBelow(FolderPtr folder);
    ReadOnlyBelow(const ReadOnlyBelow&) = delete;
    ReadOnlyBelow& operator=(const ReadOnlyBelow&) = delete;
    ~ReadOnlyBelow();

    // The place as a name below this thread's folder, or as it is without one. The way to
    // the folder may lead through links. Throws Error, naming the file, for what lies elsewhere.
    static FilePlace within(const FilePlace& place);

private:
    FolderPtr before_;
};

}  // namespace cait
