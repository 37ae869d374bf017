// The words of a target: its path cut at the slashes, its parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cait::serve {

// "%20" → " ". Throws HttpError(400) for what is no such form, and for bytes that are no UTF-8 text
// or control a terminal.
std::string percent_decoded(std::string_view text, bool plus_is_space = false);

// "/v2/models/a%2Fb" → "v2", "models", "a/b".
std::vector<std::string> path_words(std::string_view path);

// "?top=3&attention=1". A name that is given twice is an HttpError(400).
class Parameters {
public:
    explicit Parameters(std::string_view target);

    const std::string* find(std::string_view name) const;
    // Throws HttpError(400) unless it is a number of that range.
    std::size_t number(std::string_view name, std::size_t otherwise, std::size_t least,
                       std::size_t most) const;
    // The same for a decimal number, and for one up to 1.
    double decimal(std::string_view name, double otherwise, double least, double most) const;
    double fraction(std::string_view name, double otherwise, double least) const {
        return decimal(name, otherwise, least, 1);
    }
    bool flag(std::string_view name) const;  // 0, 1, false, true; without one: false
    // Throws HttpError(400), naming those that there are, for any other.
    void allow(const std::vector<std::string_view>& names) const;

private:
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace cait::serve
