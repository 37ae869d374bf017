#include "image/codec/image_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace cait {

std::string_view extension_of(std::string_view name) {
    const std::size_t slash = name.find_last_of('/');
    if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
    const std::size_t dot = name.find_last_of('.');
    return dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
}

bool is_image_name(std::string_view name) {
    constexpr std::array<std::string_view, 4> kExtensions{"jpg", "jpeg", "png", "webp"};
    const std::string_view extension = extension_of(name);
    return std::ranges::any_of(kExtensions, [&](std::string_view known) {
        return equals_ignoring_case(extension, known);
    });
}

}  // namespace cait
