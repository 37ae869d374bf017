#include "serve/protocol/translate_request.h"

#include <fmt/format.h>

#include "base/display_name.h"
#include "serve/http/message.h"
#include "serve/protocol/tensor_json.h"

namespace cait::serve {

namespace {

using nlohmann::json;

std::size_t count_in(const json& value, const char* name, std::size_t most) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
        value.get<std::uint64_t>() > most)
        throw HttpError(400, fmt::format("{}: expected 1 to {}", name, most));
    return value.get<std::size_t>();
}

double penalty_in(const json& value) {
    const double penalty = value.is_number() ? value.get<double>() : -1;
    if (!(penalty >= 0 && penalty <= ServedTranslator::kMostPenalty))
        throw HttpError(
            400, fmt::format("length_penalty: expected 0 to {:g}", ServedTranslator::kMostPenalty));
    return penalty;
}

void check_number_of_lines(std::size_t lines) {
    constexpr std::size_t kMost = ServedTranslator::kMostLines;
    if (lines > kMost)
        throw HttpError(
            413, fmt::format("text: expected at most {} lines in a request, found more", kMost));
}

std::vector<std::string> lines_in(json& text) {
    if (text.is_string()) return lines_of(text.get_ref<const std::string&>());
    if (!text.is_array()) throw HttpError(400, "text: expected a text or a list of texts");
    check_number_of_lines(text.size());
    std::vector<std::string> lines;
    for (json& line : text) {
        if (!line.is_string()) throw HttpError(400, "text: expected a list of texts");
        lines.push_back(std::move(line.get_ref<std::string&>()));
    }
    return lines;
}

}  // namespace

bool read_wish(TranslateWish& wish, std::string_view name, const json& value) {
    if (name == "beam") {
        wish.beam = count_in(value, "beam", ServedTranslator::kMostBeam);
    } else if (name == "best") {
        wish.best = count_in(value, "best", ServedTranslator::kMostBeam);
    } else if (name == "length_penalty") {
        wish.length_penalty = penalty_in(value);
    } else if (name == "attention") {
        if (!value.is_boolean()) throw HttpError(400, "attention: expected true or false");
        wish.attention = value.get<bool>();
    } else {
        return false;
    }
    return true;
}

void check_wish(const TranslateWish& wish) {
    if (wish.best > wish.beam)
        throw HttpError(400, fmt::format("best: expected at most the beam, {}, found {}", wish.beam,
                                         wish.best));
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        check_number_of_lines(lines.size() + 1);
        lines.emplace_back(line);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

TranslateRequest translate_request_of(std::string_view text, const TranslateWish& otherwise) {
    json tree = parse_small_json(text);
    if (!tree.is_object()) throw HttpError(400, "request: expected an object");
    if (!tree.contains("text")) throw HttpError(400, "text: expected a text or a list of texts");
    TranslateRequest request{{}, otherwise};
    for (auto& [name, value] : tree.items()) {
        if (name == "text")
            request.lines = lines_in(value);
        else if (!read_wish(request.wish, name, value))
            throw HttpError(400, fmt::format("request: expected text, beam, best, length_penalty "
                                             "and attention, found {}",
                                             display_name(name)));
    }
    check_wish(request.wish);
    return request;
}

}  // namespace cait::serve
