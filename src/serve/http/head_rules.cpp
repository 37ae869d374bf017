#include "serve/http/head_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace cait::serve {

namespace {

[[noreturn]] void refuse(const char* text) { throw HttpError(400, text); }

// A reader of the first of two and a reader of the last would disagree.
constexpr std::array<std::string_view, 9> kSingle = {"host",
                                                     "content-length",
                                                     "transfer-encoding",
                                                     "content-type",
                                                     "authorization",
                                                     "content-encoding",
                                                     "expect",
                                                     "inference-header-content-length",
                                                     "accept-encoding"};

bool is_chunked(std::string_view value) { return equals_ignoring_case(value, "chunked"); }

std::size_t parse_length(std::string_view text) {
    std::size_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool digits = !text.empty() && end == text.data() + text.size() &&
                        std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
    if (!digits || problem != std::errc()) refuse("Content-Length: expected one number");
    return value;
}

}  // namespace

std::size_t HeadScan::end_of(std::string_view head) {
    for (; seen_ < head.size(); ++seen_) {
        if (head[seen_] != '\n') continue;
        if (seen_ == 0 || head[seen_ - 1] != '\r')
            refuse("head: expected lines that end in CR LF, found LF alone");
        if (seen_ >= 3 && head[seen_ - 2] == '\n') return seen_ + 1;
        if (seen_ + 1 == head.size()) return 0;  // what follows decides
        if (head[seen_ + 1] == ' ' || head[seen_ + 1] == '\t')
            refuse("head: a field that goes on in the next line is not accepted");
    }
    return 0;
}

HeadFacts check_fields(const Request& head, bool version_1_0) {
    for (const std::string_view name : kSingle)
        if (std::ranges::count(head.fields, name, &Field::name) > 1)
            refuse("head: a field that may stand there once is given twice");
    const bool target_ok =
        head.target.starts_with('/') &&
        std::ranges::all_of(head.target, [](char c) { return c > ' ' && c < 127; });
    if (!target_ok) refuse("target: expected a path that begins with '/'");
    if (!version_1_0 && head.field("host") == nullptr) refuse("Host: missing");
    HeadFacts facts;
    const std::string* length = head.field("content-length");
    const std::string* encoding = head.field("transfer-encoding");
    if (length != nullptr && encoding != nullptr)
        refuse("head: Content-Length and Transfer-Encoding exclude each other");
    if (encoding != nullptr) {
        if (version_1_0 || !is_chunked(*encoding)) refuse("Transfer-Encoding: expected chunked");
        facts.chunked = true;
    }
    if (length != nullptr) facts.content_length = parse_length(*length);
    return facts;
}

}  // namespace cait::serve
