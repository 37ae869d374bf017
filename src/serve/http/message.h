// What a client asks and what it is answered, without a word about sockets: handlers and their
// tests know these alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "serve/http/query.h"

namespace cait::serve {

class Charge;
struct Route;

using Clock = std::chrono::steady_clock;

struct Field {
    std::string name;  // in lower case
    std::string value;
};

struct Request {
    std::string method;
    std::string target;  // as it was sent: path and query
    std::vector<Field> fields;
    std::string body;
    std::string peer;  // address of the client
    Clock::time_point arrived = Clock::now();
    // Becomes true when the client has left: nobody waits for the answer any more.
    std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
    // Where its path leads, once its head has been checked, with what stands in the places of {…}.
    const Route* route = nullptr;
    std::vector<std::string> words{};
    mutable std::optional<Parameters> parsed_parameters{};  // by parameters()
    // What it takes of the server's memory, its body first of all. Nothing: nobody counts.
    std::shared_ptr<Charge> memory{};

    const std::string* field(std::string_view name) const {
        for (const Field& one : fields)
            if (one.name == name) return &one.value;
        return nullptr;
    }
    std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
    // Of the query, which is parsed once, at the first call. Throws HttpError(400).
    const Parameters& parameters() const {
        if (!parsed_parameters) parsed_parameters.emplace(target);
        return *parsed_parameters;
    }
    // Charges what reading it will take, before that is allocated. Throws HttpError (Charge::hold).
    void need(std::uint64_t bytes, std::string_view what) const;
};

struct Response {
    int status = 200;
    std::string type = "application/json";
    std::string body{};
    std::vector<Field> fields{};       // beside those that every answer has
    std::shared_ptr<Charge> memory{};  // that is given back once the answer has been read
};

// An answer as it goes over the wire, without its body.
std::string response_head(const Response& response, bool keep_alive);

// May be called from any thread; only the first call counts.
using Reply = std::function<void(Response)>;

// An answer other than 200, thrown where it is found.
class HttpError : public Error {
public:
    HttpError(int status, const std::string& text) : Error(text), status_(status) {}
    int status() const noexcept { return status_; }

private:
    int status_;
};

// {"error": "text"}, the form that clients of the protocol expect of every status but 200.
Response error_response(int status, std::string_view text);

std::string_view reason_phrase(int status);

}  // namespace cait::serve
