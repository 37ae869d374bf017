// The colours of pages and charts, for light and for dark surroundings.
#pragma once

#include <array>
#include <string>

#include "image/ops/crop.h"

namespace cait {

struct Theme {
    Colour page, card, ink, dim, rule;
    std::array<Colour, 5> series;  // s1 to s5; the last one is for what is of less interest
};

inline constexpr Theme kLightTheme{{0xf7, 0xf7, 0xf5},
                                   {0xff, 0xff, 0xff},
                                   {0x1d, 0x1f, 0x21},
                                   {0x62, 0x67, 0x6d},
                                   {0xe3, 0xe3, 0xdf},
                                   {{{0x2f, 0x6f, 0xc4},
                                     {0xd9, 0x69, 0x2b},
                                     {0x2a, 0x8f, 0x72},
                                     {0x86, 0x58, 0xb5},
                                     {0x9a, 0x9f, 0xa5}}}};
inline constexpr Theme kDarkTheme{{0x14, 0x16, 0x18},
                                  {0x1c, 0x1f, 0x22},
                                  {0xe6, 0xe7, 0xe8},
                                  {0x9a, 0xa0, 0xa6},
                                  {0x2e, 0x32, 0x36},
                                  {{{0x5a, 0x97, 0xe6},
                                    {0xe5, 0x8a, 0x52},
                                    {0x46, 0xb3, 0x94},
                                    {0xac, 0x85, 0xd8},
                                    {0x7a, 0x80, 0x87}}}};

std::string css_colour(const Colour& colour);  // "#2f6fc4"

// "--page: #f7f7f5; --card: …": what the style of a page refers to.
std::string theme_variables(const Theme& theme);

}  // namespace cait
