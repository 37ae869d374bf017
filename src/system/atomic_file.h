// The one way out: writes a file so that a crash, a full disk or kill -9 leaves either the old or
// the new one whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "system/descriptor.h"
#include "system/file_place.h"
#include "system/output_place.h"

namespace cait {

// Data goes to a temporary file NAME.tmp.N in the same folder; commit() does fsync, rename, fsync
// of the folder. Without commit() the destructor removes the temporary and the old file stays.
// After kill -9 it stays until somebody writes NAME again, who takes it over. A device or a pipe
// (OutputPlace::direct) is written to as it is, where a user has named it; below a folder
// (FilePlace) only regular files are replaced, and no link is followed.
class AtomicFile {
public:
    explicit AtomicFile(FilePlace place);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    // Throws FileChanged when the content may come from a mapped file that has changed.
    void commit();

private:
    void open_directly();
    void open_folder();
    void claim_temporary();
    mode_t mode() const;

    FilePlace place_;     // as given, for messages
    OutputPlace target_;  // of a path
    Descriptor folder_;   // that holds the file, and its name in there
    std::string name_;
    std::string temporary_;  // name in the same folder; empty where the file is written directly
    Descriptor file_;
};

// Removes temporary files in the folder whose writers are dead. Those of living ones are locked.
void clear_stale_temporaries(const Folder& folder);

}  // namespace cait
