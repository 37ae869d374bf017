// Fetches one file over HTTP(S): goes on where an earlier attempt stopped, tries again when the
// connection breaks, and gives the file its name only when size and checksum are right.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/digest.h"

namespace cait {

struct Checksum {
    DigestKind kind = DigestKind::md5;
    std::string hex;
    bool operator==(const Checksum&) const = default;
};

// What is known about a file before it is there.
struct ExpectedFile {
    std::optional<std::uint64_t> size;
    std::optional<Checksum> checksum;
};

struct DownloadOptions {
    int retries = 4;                        // in a row without a single new byte
    std::chrono::milliseconds pause{1000};  // before the first retry; doubles with each
    std::chrono::seconds stall{30};         // a connection that is silent for so long is given up
    // Bytes so far and in all; 0 in all while that is not known.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

enum class Downloaded {
    fetched,
    resumed,  // continued what an earlier run had left
    present,  // was there already, complete
};

// An unfinished download lies beside `target` with ".part" at the end of its name. Throws Error
// with the address and what went wrong; what is there of the file then stays for the next run,
// unless it is wrong.
Downloaded download(const std::string& address, const ExpectedFile& expected,
                    const std::filesystem::path& target, const DownloadOptions& options = {});

}  // namespace cait
