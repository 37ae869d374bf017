// Fetches one file over HTTP(S): goes on where an earlier attempt stopped, tries again when the
// connection breaks, and gives the file its name only when size and checksum are right.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cait/error.h"
#include "system/digest.h"

namespace cait {

struct Checksum {
    DigestKind kind = DigestKind::md5;
    std::string hex;  // or the beginning of it, where no more was published
    bool operator==(const Checksum&) const = default;
};

// What is known about a file before it is there.
struct ExpectedFile {
    std::optional<std::uint64_t> size{};
    std::optional<Checksum> checksum{};
    std::function<void(const std::filesystem::path&)> check{};  // throws Error for another file
};

struct DownloadOptions {
    int retries = 4;                        // in a row without a single new byte
    std::chrono::milliseconds pause{1000};  // before the first retry; doubles with each
    // A connection that brings fewer bytes a second for so long is given up.
    std::uint64_t slowest = 1024;
    std::chrono::seconds stall{60};
    bool wait = false;  // for another program that fetches the same file, instead of an error
    // Bytes so far and in all; 0 in all while that is not known.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// The server could not be reached or does not have the file, as opposed to having a wrong one.
class Unreachable : public Error {
public:
    using Error::Error;
};

enum class Downloaded {
    fetched,
    resumed,  // continued what an earlier run had left
    present,  // was there already, complete
};

std::string_view text_of(Downloaded outcome);  // "fetched", "resumed", "already there"

// An unfinished download lies beside `target` with ".part" at the end of its name. Throws Error
// with the address (no password in it) and what went wrong; what is there of the file then stays
// for the next run, unless it is wrong.
Downloaded download(const std::string& address, const ExpectedFile& expected,
                    const std::filesystem::path& target, const DownloadOptions& options = {});

// The same from a file of this machine, which is copied.
Downloaded copy_in(const std::filesystem::path& source, const ExpectedFile& expected,
                   const std::filesystem::path& target, const DownloadOptions& options = {});

}  // namespace cait
