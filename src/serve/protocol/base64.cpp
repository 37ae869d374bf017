#include "serve/protocol/base64.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "serve/http/message.h"

namespace cait::serve {

std::string base64_decoded(std::string_view text, std::string_view what) {
    std::optional<std::string> bytes = from_base64(text);
    if (!bytes)
        throw HttpError(400, fmt::format("{}: expected base64, found something else", what));
    return std::move(*bytes);
}

}  // namespace cait::serve
