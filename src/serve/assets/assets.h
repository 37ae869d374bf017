// Files that the server hands out as they are: the page at / and its parts, and the description of
// the interface. They lie in this folder and are put into the program when it is built
// (cmake/Assets.cmake); a new one is served under its name.
#pragma once

#include <span>
#include <string_view>

namespace cait::serve {

struct Asset {
    std::string_view path;  // "/page.js"; index.html is "/"
    std::string_view type;  // "text/javascript"
    std::string_view content;
};

std::span<const Asset> assets();

}  // namespace cait::serve
