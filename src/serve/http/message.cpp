#include "serve/http/message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "serve/memory_account.h"

namespace cait::serve {

void Request::need(std::uint64_t bytes, std::string_view what) const {
    if (memory) memory->add(bytes, what);
}

Response error_response(int status, std::string_view text) {
    Response response{.status = status};
    // Messages quote what clients sent.
    response.body = nlohmann::json{{"error", printable(text, kLongestMessage)}}.dump();
    if (status == 503) response.fields.push_back({"Retry-After", "1"});
    if (status == 401) response.fields.push_back({"WWW-Authenticate", "Bearer"});
    return response;
}

std::string response_head(const Response& response, bool keep_alive) {
    std::string head = fmt::format(
        "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\nContent-Type: {}\r\n"
        "Content-Length: {}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
        "Connection: {}\r\n",
        response.status, reason_phrase(response.status), fmt::gmtime(std::time(nullptr)),
        response.type, response.body.size(), keep_alive ? "keep-alive" : "close");
    for (const Field& field : response.fields)
        head += fmt::format("{}: {}\r\n", field.name, field.value);
    return head + "\r\n";
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 413: return "Content Too Large";
        case 421: return "Misdirected Request";
        case 422: return "Unprocessable Content";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        default: return "Status";
    }
}

}  // namespace cait::serve
