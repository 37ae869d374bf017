// One HTTP request for the rest of a file, by libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace cait {

struct HttpRequest {
    std::string address;
    std::uint64_t from = 0;  // first byte wanted
    // A connection that brings fewer bytes a second for so long is given up.
    std::uint64_t slowest = 1024;
    std::chrono::seconds stall{60};

    // Called once, before the first bytes: where in the file they belong (0 when the server sends
    // the whole file after all) and how long the file is, 0 if unknown.
    std::function<void(std::uint64_t start, std::uint64_t total)> begin;
    std::function<void(std::span<const std::byte>)> receive;
};

enum class HttpOutcome {
    complete,
    interrupted,    // worth another try
    too_slow,       // the same, but what it brought is no progress
    nothing_there,  // the server has no byte from there on (status 416)
    refused,        // no use trying again
};

struct HttpResult {
    HttpOutcome outcome = HttpOutcome::complete;
    std::string message;  // one line, unless complete
};

// The address without "user:password@", for messages: those end up in logs.
std::string without_credentials(std::string_view address);

// Follows redirections, but only to http and https. An exception from a callback ends the transfer
// and is thrown here.
HttpResult perform(const HttpRequest& request);

}  // namespace cait
