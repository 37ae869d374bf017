// Text and pictures as they may stand in an HTML page. Names of classes and files come from data
// sets, so nothing goes into a page without passing through here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "image/image.h"

namespace cait {

// For text and for quoted attributes. Bytes that are no UTF-8, and control characters other than
// line ends and tabs, become U+FFFD.
std::string html_text(std::string_view text);

// The text, or its first `most` characters and "…"; of whole characters where it is UTF-8.
std::string cut_text(std::string_view text, std::size_t most);

// "data:image/png;base64,…": a picture that needs no file beside the page.
std::string png_uri(const Image& image);

}  // namespace cait
