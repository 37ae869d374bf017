#include "serve/http/router.h"

#include <fmt/format.h>

#include "base/display_name.h"
#include "serve/http/query.h"

namespace cait::serve {

namespace {

bool is_place(std::string_view word) { return word.starts_with('{'); }

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& words) {
    if (pattern.size() != words.size()) return false;
    for (std::size_t i = 0; i < words.size(); ++i)
        if (is_place(pattern[i]) ? words[i].empty() : pattern[i] != words[i]) return false;
    return true;
}

bool takes(const Route& route, std::string_view method) {
    return route.method == method || (route.method == "GET" && method == "HEAD");
}

}  // namespace

Route& Router::add(std::string method, std::string_view pattern, Route::Handler handler) {
    routes_.push_back({std::move(method), path_words(pattern), std::move(handler)});
    return routes_.back();
}

std::string Router::methods(std::string_view path) const {
    const std::vector<std::string> words = path_words(path);
    std::string list;
    for (const Route& route : routes_)
        if (fits(route.pattern, words)) {
            list += (list.empty() ? "" : ", ") + route.method;
            if (route.method == "GET") list += ", HEAD";
        }
    return list;
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
    const std::vector<std::string> words = path_words(path);
    for (const Route& route : routes_) {
        if (!takes(route, method) || !fits(route.pattern, words)) continue;
        Found found{&route, {}};
        for (std::size_t i = 0; i < words.size(); ++i)
            if (is_place(route.pattern[i])) found.words.push_back(words[i]);
        return found;
    }
    const std::string others = methods(path);
    if (others.empty()) throw HttpError(404, fmt::format("{}: no such path", display_name(path)));
    throw HttpError(405, fmt::format("{}: expected {}, found {}", display_name(path), others,
                                     display_name(method)));
}

std::vector<std::pair<std::string, std::string>> Router::all() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Route& route : routes_)
        list.emplace_back(route.method, fmt::format("/{}", fmt::join(route.pattern, "/")));
    return list;
}

}  // namespace cait::serve
