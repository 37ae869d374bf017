#include "data/check_class_names.h"

#include <fmt/format.h>

#include <string_view>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

namespace {

// A name of bytes that nobody could read otherwise: "gr\xfcn".
std::string escaped(std::string_view name) {
    constexpr std::size_t kMost = 100;
    std::string text = "'";
    for (const char c : name.substr(0, kMost)) {
        const auto code = static_cast<unsigned char>(c);
        text += code < 0x20 || code >= 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
    }
    return text + (name.size() > kMost ? "...'" : "'");
}

}  // namespace

void check_class_names(const std::vector<std::string>& names, const std::string& source) {
    for (const std::string& name : names)
        if (!is_utf8(name))
            throw Error(
                fmt::format("{}: class {}: expected a name in UTF-8: model files hold "
                            "nothing else",
                            source, escaped(name)));
}

}  // namespace cait
