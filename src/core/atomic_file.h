// The one way out: writes a file so that a crash, a full disk or kill -9 leaves either the old or
// the new one whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/output_place.h"

namespace cait {

// Data goes to a temporary file NAME.tmp.N in the same folder; commit() does fsync, rename, fsync
// of the folder. Without commit() the destructor removes the temporary and the old file stays.
// After kill -9 it stays until somebody writes NAME again, who takes it over. A device or a pipe
// (OutputPlace::direct) is written to as it is.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    // Throws FileChanged when the content may come from a mapped file that has changed.
    void commit();

private:
    void open_directly();
    void claim_temporary();

    std::filesystem::path path_;  // as given, for messages
    OutputPlace place_;
    std::filesystem::path temporary_;
    int fd_ = -1;
};

// Removes temporary files in `folder` whose writers are dead. Those of living ones are locked.
void clear_stale_temporaries(const std::filesystem::path& folder);

}  // namespace cait
