// Images inside JSON.
#pragma once

#include <string>
#include <string_view>

namespace cait::serve {

// Throws HttpError(400), opening with `what`, for anything but base64 with its padding.
std::string base64_decoded(std::string_view text, std::string_view what);

}  // namespace cait::serve
