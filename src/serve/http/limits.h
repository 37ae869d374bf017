// What a client may take of the server before it has been answered.
#pragma once

#include <chrono>
#include <cstddef>

namespace cait::serve {

struct Limits {
    // Bytes of request line and fields; as many again of all that chunks say beside their size, and
    // of the fields after the last one.
    std::size_t head = 16 * 1024;
    std::size_t fields = 200;
    std::size_t body = std::size_t{64} << 20;  // bytes, as sent and after decompression
    std::size_t chunks = 65'536;               // of a body that comes in chunks
    std::size_t connections = 12'000;
    std::chrono::milliseconds idle{75'000};  // between two requests; clients reuse after 60 s
    std::chrono::milliseconds head_time{10'000};
    // A body, and reading an answer, may take this and a second for each block of this many bytes,
    // but no longer than `longest`: much has to move faster than little.
    std::chrono::milliseconds slack{10'000};
    std::size_t slowest = 16 * 1024;
    std::chrono::milliseconds longest{120'000};
};

}  // namespace cait::serve
