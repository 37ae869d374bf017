#include "weights/printable.h"

#include <fmt/format.h>

#include <iterator>

namespace cait {

std::string printable(std::string_view text, std::size_t most) {
    std::string result;
    for (const char c : text.substr(0, most)) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code >= 0x7f)
            fmt::format_to(std::back_inserter(result), "\\x{:02x}", code);
        else
            result += c;
    }
    if (text.size() > most) result += "...";
    return result;
}

}  // namespace cait
