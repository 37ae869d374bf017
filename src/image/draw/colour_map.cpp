#include "image/draw/colour_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace cait {

namespace {

// Stops at equal distances; between them colours are mixed.
constexpr Colour kHeat[] = {{4, 3, 24},    {68, 16, 104},  {143, 38, 100},
                            {213, 72, 66}, {249, 146, 38}, {252, 250, 180}};
constexpr Colour kCividis[] = {
    {0, 34, 78},     {0, 38, 86},     {0, 42, 95},     {0, 45, 104},    {0, 48, 112},
    {8, 51, 112},    {22, 55, 112},   {32, 58, 111},   {39, 62, 110},   {46, 65, 109},
    {52, 69, 108},   {58, 72, 108},   {63, 76, 108},   {68, 79, 108},   {73, 83, 108},
    {78, 86, 108},   {83, 90, 109},   {87, 93, 109},   {92, 97, 110},   {96, 100, 111},
    {101, 104, 112}, {105, 107, 113}, {109, 111, 114}, {114, 114, 116}, {118, 118, 118},
    {122, 122, 120}, {126, 125, 120}, {131, 129, 121}, {136, 133, 120}, {141, 136, 120},
    {146, 140, 120}, {150, 144, 119}, {155, 148, 118}, {160, 152, 117}, {165, 156, 116},
    {170, 160, 115}, {175, 164, 113}, {181, 168, 111}, {186, 172, 109}, {191, 176, 107},
    {196, 180, 104}, {201, 185, 101}, {207, 189, 98},  {212, 193, 95},  {218, 198, 91},
    {223, 202, 87},  {229, 207, 82},  {234, 211, 76},  {240, 216, 70},  {246, 221, 63},
    {252, 226, 54},  {254, 232, 56}};
constexpr Colour kSigned[] = {
    {5, 72, 140}, {103, 169, 207}, {247, 247, 247}, {239, 138, 98}, {165, 15, 21}};

Colour mixed(std::span<const Colour> stops, double value) {
    const double place = std::clamp(value, 0.0, 1.0) * double(stops.size() - 1);
    const std::size_t below = std::min(std::size_t(place), stops.size() - 2);
    const double share = place - double(below);
    Colour colour{};
    for (std::size_t c = 0; c < colour.size(); ++c)
        colour[c] = std::uint8_t(std::lround(double(stops[below][c]) * (1 - share) +
                                             double(stops[below + 1][c]) * share));
    return colour;
}

}  // namespace

Colour heat_colour(double value) { return mixed(kHeat, value); }
Colour cividis_colour(double value) { return mixed(kCividis, value); }
Colour signed_colour(double value) { return mixed(kSigned, (value + 1) / 2); }

}  // namespace cait
