// XML as annotations are written in it: elements with text or with elements in them. Attributes,
// comments and processing instructions are passed over; document types, which bring entities of
// their own, are refused.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

struct XmlElement {
    std::string name;
    std::string text;  // of its own, without blanks at the ends; not of the elements in it
    std::size_t line = 0;
    std::vector<XmlElement> children;

    const XmlElement* child(std::string_view name) const;  // the first; nullptr: it has none
    std::string text_of(std::string_view name) const;      // of that child; empty: it has none
};

inline constexpr std::size_t kLargestXml = std::size_t{16} << 20;  // bytes of a file
inline constexpr std::size_t kDeepestXml = 32;
inline constexpr std::size_t kMostXmlElements = 500'000;

// The outermost element. Throws Error "FILE:LINE: …" for what is not well-formed or beyond the
// limits.
XmlElement read_xml(std::string_view text, const std::string& file);

}  // namespace cait
