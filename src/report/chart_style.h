// The colours of charts, light and dark, and the rules that use them: once for a page, whose charts
// follow its style, and once for a drawing that is a file of its own.
#pragma once

#include <cstddef>
#include <string>

namespace cait {

inline constexpr std::size_t kLineColours = 4;    // classes s1 … s4
inline constexpr std::size_t kCloudColours = 10;  // classes c0 … c9

std::string palette_variables();  // CSS: --s1 and its like, by the reader's system
std::string chart_rules();        // CSS that uses them

// <style> for a file of its own, with the colours in their places: not every program that shows SVG
// knows variables. Without a reader's system to ask it is light.
std::string drawing_style();

}  // namespace cait
