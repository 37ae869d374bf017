// What happens when somebody shortens a file that is mapped. The system answers reading the missing
// part by SIGBUS, which would end the program without a word. With the guard installed such a page
// reads as zeros instead and the file is remembered; code that used mapped memory asks at the next
// safe point, and no result is written. Programs install the guard; the library alone never touches
// a signal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "cait/error.h"
#include "system/open_file.h"

namespace cait {

class FileChanged : public Error {
public:
    using Error::Error;
};

// Handles SIGBUS in mapped files; any other SIGBUS goes where it went before. Once per process.
void install_file_guard();

// Throws FileChanged, naming the file, when a mapped one was found changed: after a batch was read
// or computed, and before a reader's complaint about what it found is believed. One atomic load.
void check_mapped_files();

// The same before a step or a result counts. Looks at the size of every mapped file as well: a file
// that lost less than a page gives no signal.
void recheck_mapped_files();

// For a result that was complete before: changes so far no longer count, so that it can be saved.
void forgive_changed_files();

// Gives back the pages of a part of a mapped file; who reads it again gets the same from the file.
// Memory that is no mapped file is left alone, and false is returned.
bool release_mapped_pages(std::span<const std::byte> bytes);

// A mapped range as the guard knows it, from MappedFile.
class GuardedRange {
public:
    GuardedRange(std::span<const std::byte> bytes, const std::filesystem::path& path,
                 const FileId& id);
    GuardedRange(const GuardedRange&) = delete;
    GuardedRange& operator=(const GuardedRange&) = delete;
    ~GuardedRange();

private:
    std::size_t slot_;
};

}  // namespace cait
