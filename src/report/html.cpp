#include "report/html.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "image/codec/encode.h"

namespace cait {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string_view entity_of(char c) {
    switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\'': return "&#39;";
        default: return {};
    }
}

bool is_control(char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

}  // namespace

std::string html_text(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(text, i);
        if (length == 0 || is_control(text[i]))
            result += kReplacement;
        else if (const std::string_view entity = entity_of(text[i]); !entity.empty())
            result += entity;
        else
            result += text.substr(i, length);
        i += length == 0 ? 1 : length;
    }
    return result;
}

std::string cut_text(std::string_view text, std::size_t most) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++characters) {
        if (characters == most) return std::string(text.substr(0, i)) + "…";
        const std::size_t length = utf8_length(text, i);
        i += length == 0 ? 1 : length;
    }
    return std::string(text);
}

std::string png_uri(const Image& image) {
    return "data:image/png;base64," + base64(encode_png(image));
}

}  // namespace cait
