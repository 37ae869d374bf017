// The typeface of all pictures: DejaVu Sans, whose bytes are part of the program, drawn by
// FreeType. No font of the machine and none of a user's is ever read, so pictures look the same
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace cait {

struct Font {
    int size = 12;  // of the em square, in pixels
    bool bold = false;
    bool operator==(const Font&) const = default;
};

// A letter as shares of its pixels that it covers (0 to 255).
struct GlyphPicture {
    int left = 0, top = 0;  // of the pen, to the right, and of the base line, upwards
    int width = 0, height = 0;
    std::vector<std::uint8_t> covered;  // (height, width)
};

// Glyphs are numbered as in the font; 0 is the box in place of characters that it lacks. Lengths
// along a line are in units of the font (kUnits to the em), so that they do not depend on how a
// version of FreeType rounds. Used by one thread at a time.
class Typeface {
public:
    static constexpr int kUnits = 2048;
    static constexpr int kPhases = 4;  // places between two pixels that a letter may start at

    Typeface();
    ~Typeface();

    unsigned glyph(char32_t character) const;
    int advance(unsigned glyph);
    int kerning(unsigned left, unsigned right) const;
    int bold_advance() const;  // what a bold glyph is wider

    // Stays until the next call.
    const GlyphPicture& picture(unsigned glyph, const Font& font, int phase);

private:
    struct Face;
    std::unique_ptr<Face> face_;
    std::unordered_map<unsigned, int> advances_;
    std::unordered_map<std::uint64_t, GlyphPicture> pictures_;
};

// The file, as cmake/Assets.cmake put it into the program.
std::span<const std::byte> typeface_bytes();

}  // namespace cait
