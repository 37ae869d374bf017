#include "serve/protocol/multipart.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

constexpr std::size_t kMostParts = 64, kLongestHead = 8192, kLongestBoundary = 70;

[[noreturn]] void refuse_part(const char* text) {
    throw HttpError(400, std::string("multipart: ") + text);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// "form-data; name=\"image\"; filename=\"a;b.jpg\"": the value of one parameter.
std::optional<std::string> parameter(std::string_view line, std::string_view name) {
    std::size_t at = line.find(';');
    while (at < line.size()) {
        ++at;
        while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
        const std::size_t equals = line.find('=', at);
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string key = lower_case(trimmed(line.substr(at, equals - at)));
        std::string value;
        at = equals + 1;
        if (at < line.size() && line[at] == '"') {
            for (++at; at < line.size() && line[at] != '"'; ++at) {
                if (line[at] == '\\' && at + 1 < line.size()) ++at;
                value += line[at];
            }
            at = line.find(';', std::min(at, line.size()));
        } else {
            const std::size_t end = std::min(line.find(';', at), line.size());
            value = trimmed(line.substr(at, end - at));
            at = end;
        }
        if (key == name) return value;
    }
    return std::nullopt;
}

FormPart part_of(std::string_view head, std::string_view content) {
    FormPart part{.name = {}, .content = content};
    bool found = false;
    while (!head.empty()) {
        const std::size_t end = std::min(head.find("\r\n"), head.size());
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(end + 2, head.size()));
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) refuse_part("a line of a part's head has no colon");
        if (lower_case(line.substr(0, colon)) != "content-disposition") continue;
        part.name = parameter(line, "name").value_or("");
        part.is_file = parameter(line, "filename").has_value();
        found = true;
    }
    if (!found) refuse_part("a part has no Content-Disposition");
    return part;
}

}  // namespace

bool is_multipart(std::string_view content_type) {
    return lower_case(trimmed(content_type.substr(0, content_type.find(';')))) ==
           "multipart/form-data";
}

std::vector<FormPart> parse_multipart(std::string_view content_type, std::string_view body) {
    const std::string boundary = parameter(content_type, "boundary").value_or("");
    if (boundary.empty() || boundary.size() > kLongestBoundary)
        refuse_part("expected a boundary of 1 to 70 characters");
    const std::string first = "--" + boundary, between = "\r\n--" + boundary;
    std::size_t at = body.starts_with(first) ? first.size() : body.find(between);
    if (at == std::string_view::npos) refuse_part("the boundary is not in the body");
    if (!body.starts_with(first)) at += between.size();
    std::vector<FormPart> parts;
    while (body.substr(at, 2) != "--") {
        if (body.substr(at, 2) != "\r\n") refuse_part("expected a line end after the boundary");
        if (parts.size() == kMostParts) refuse_part("too many parts");
        at += 2;
        const std::size_t head = body.find("\r\n\r\n", at);
        if (head == std::string_view::npos || head - at > kLongestHead)
            refuse_part("the head of a part has no end");
        const std::size_t begin = head + 4;
        // A part may be empty: its end then shares the line end of its head.
        const std::size_t end = body.find(between, begin - 2);
        if (end == std::string_view::npos) refuse_part("the last boundary is missing");
        parts.push_back(
            part_of(body.substr(at, head - at), body.substr(begin, std::max(end, begin) - begin)));
        at = end + between.size();
    }
    return parts;
}

}  // namespace cait::serve
