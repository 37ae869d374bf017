// What a client may take of the server before it has been answered.
#pragma once

#include <chrono>
#include <cstddef>

namespace cait::serve {

struct Limits {
    std::size_t head = 16 * 1024;                 // bytes of request line and fields
    std::size_t body = std::size_t{64} << 20;     // bytes, as sent and after decompression
    std::size_t chunks = 65'536;                  // of a body that comes in chunks
    std::size_t bodies = std::size_t{512} << 20;  // bytes of all bodies that are being received
    std::size_t connections = 12'000;
    std::chrono::milliseconds idle{75'000};  // between two requests; clients reuse after 60 s
    std::chrono::milliseconds head_time{10'000};
    // A body, and reading an answer, may take this and a second for each so many bytes.
    std::chrono::milliseconds slack{10'000};
    std::size_t slowest = 16 * 1024;
};

}  // namespace cait::serve
