// Which handler a method and a path lead to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/message.h"

namespace cait::serve {

// A request on its way to a handler.
struct Call {
    std::shared_ptr<Request> request;
    Reply reply;
    const std::vector<std::string>& words() const { return request->words; }
};

struct Route {
    using Handler = std::function<void(Call)>;

    std::string method;  // GET also answers HEAD
    std::vector<std::string> pattern;
    Handler handler;
    bool is_open = false;  // needs no token
    // What can be refused before the body is read; throws HttpError.
    std::function<void(const Request& head)> before_body{};
};

class Router {
public:
    // "/v2/models/{model}/infer"; a pattern that was added first goes first.
    Route& add(std::string method, std::string_view pattern, Route::Handler handler);

    struct Found {
        const Route* route;
        std::vector<std::string> words;
    };
    // Throws HttpError: 404 for an unknown path, 405 for another method, which names those that
    // there are.
    Found find(std::string_view method, std::string_view path) const;

    // Of a path that is known: "GET, HEAD"; otherwise empty.
    std::string methods(std::string_view path) const;
    std::vector<std::pair<std::string, std::string>> all() const;  // method and pattern

private:
    std::vector<Route> routes_;
};

}  // namespace cait::serve
