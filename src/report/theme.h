// The colours of pages and charts, for light and for dark surroundings, and the rules that use
// them: once for a page, whose charts follow its style, and once for a drawing that is a file of
// its own.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "image/ops/crop.h"

namespace cait {

inline constexpr std::size_t kLineColours = 4;    // styles s1 to s4
inline constexpr std::size_t kCloudColours = 10;  // styles c0 to c9: those four and six more

struct Theme {
    Colour page, card, ink, dim, rule, on;  // on: texts on a cell of the first colour
    std::array<Colour, kLineColours + 1> series;  // s1 to s5; the last is of less interest
    std::array<Colour, kCloudColours - kLineColours> more;

    const Colour& cloud(std::size_t i) const {
        return i < kLineColours ? series[i] : more[i - kLineColours];
    }
    // Of the first word like "s2" or "c7" in a style such as "line s2 dash"; otherwise `other`.
    Colour colour_of(std::string_view style, const Colour& other) const;
};

inline constexpr Theme kLightTheme{{0xf7, 0xf7, 0xf5},
                                   {0xff, 0xff, 0xff},
                                   {0x1d, 0x1f, 0x21},
                                   {0x62, 0x67, 0x6d},
                                   {0xe3, 0xe3, 0xdf},
                                   {0xff, 0xff, 0xff},
                                   {{{0x2f, 0x6f, 0xc4},
                                     {0xd9, 0x69, 0x2b},
                                     {0x2a, 0x8f, 0x72},
                                     {0x86, 0x58, 0xb5},
                                     {0x9a, 0x9f, 0xa5}}},
                                   {{{0xc2, 0x3b, 0x4b},
                                     {0x1b, 0x8b, 0xa6},
                                     {0xa3, 0x7a, 0x00},
                                     {0xc2, 0x52, 0x8f},
                                     {0x6b, 0x8a, 0x1e},
                                     {0x80, 0x58, 0x3d}}}};
inline constexpr Theme kDarkTheme{{0x14, 0x16, 0x18},
                                  {0x1c, 0x1f, 0x22},
                                  {0xe6, 0xe7, 0xe8},
                                  {0x9a, 0xa0, 0xa6},
                                  {0x2e, 0x32, 0x36},
                                  {0xff, 0xff, 0xff},
                                  {{{0x5a, 0x97, 0xe6},
                                    {0xe5, 0x8a, 0x52},
                                    {0x46, 0xb3, 0x94},
                                    {0xac, 0x85, 0xd8},
                                    {0x7a, 0x80, 0x87}}},
                                  {{{0xea, 0x74, 0x80},
                                    {0x45, 0xb5, 0xcf},
                                    {0xd1, 0xa7, 0x34},
                                    {0xe2, 0x83, 0xb6},
                                    {0x9d, 0xbb, 0x4f},
                                    {0xb9, 0x8a, 0x6a}}}};

std::string css_colour(const Colour& colour);  // "#2f6fc4"

std::string palette_variables();  // CSS: --s1 and its like, by the reader's system
std::string chart_rules();        // CSS that uses them

// The same rules with the colours in their places: not every program that shows SVG knows
// variables. Without a reader's system to ask it is light.
std::string drawing_rules();

}  // namespace cait
