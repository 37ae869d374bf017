#include "image/text/text.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "base/utf8.h"

namespace cait {

namespace {

constexpr char32_t kNoCharacter = 0xfffd;

// One for the program: faces take time to open, and letters are drawn again and again.
class SharedTypeface {
public:
    SharedTypeface() : lock_(mutex()) {
        static Typeface typeface;
        typeface_ = &typeface;
    }
    Typeface* operator->() const { return typeface_; }

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    std::lock_guard<std::mutex> lock_;
    Typeface* typeface_;
};

// Takes one character off the front of a text that is not empty.
char32_t next_character(std::string_view& text) {
    const std::size_t length = utf8_length(text, 0);
    const auto first = static_cast<unsigned char>(text[0]);
    char32_t value = length == 0   ? kNoCharacter
                     : length == 1 ? first
                                   : first & (0xff >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
        value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
    text.remove_prefix(std::max<std::size_t>(length, 1));
    return value;
}

// Calls visit(glyph, pen) for each letter, with the pen in units of the font. Returns the pen
// behind the last one.
template <class Visit>
std::int64_t for_letters(const SharedTypeface& typeface, std::string_view text, bool bold,
                         const Visit& visit) {
    std::int64_t pen = 0;
    std::optional<unsigned> before;
    while (!text.empty()) {
        const unsigned glyph = typeface->glyph(next_character(text));
        if (before) pen += typeface->kerning(*before, glyph);
        visit(glyph, pen);
        pen += typeface->advance(glyph) + (bold ? typeface->bold_advance() : 0);
        before = glyph;
    }
    return pen;
}

std::int64_t pixels_up(std::int64_t units, int size) {
    return (units * size + Typeface::kUnits - 1) / Typeface::kUnits;
}

void paint(Image& canvas, const GlyphPicture& glyph, std::int64_t left, std::int64_t top,
           const Colour& colour) {
    const std::int64_t first_x = std::max<std::int64_t>(0, -left);
    const std::int64_t last_x = std::min<std::int64_t>(glyph.width, canvas.width - left);
    const std::int64_t first_y = std::max<std::int64_t>(0, -top);
    const std::int64_t last_y = std::min<std::int64_t>(glyph.height, canvas.height - top);
    for (std::int64_t y = first_y; y < last_y; ++y)
        for (std::int64_t x = first_x; x < last_x; ++x) {
            const int share = glyph.covered[std::size_t(y * glyph.width + x)];
            std::uint8_t* pixel = canvas.row(top + y) + (left + x) * canvas.channels;
            for (std::int64_t c = 0; c < canvas.channels; ++c)
                pixel[c] = std::uint8_t(
                    (pixel[c] * (255 - share) + colour[std::size_t(c)] * share + 127) / 255);
        }
}

// Where the characters of a text begin, and its end.
std::vector<std::size_t> character_starts(std::string_view text) {
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < text.size();
         at += std::max<std::size_t>(1, utf8_length(text, at)))
        starts.push_back(at);
    starts.push_back(text.size());
    return starts;
}

}  // namespace

std::int64_t text_width(std::string_view text, const Font& font) {
    const SharedTypeface typeface;
    return pixels_up(for_letters(typeface, text, font.bold, [](unsigned, std::int64_t) {}),
                     font.size);
}

// DejaVu's own numbers reach to accents on capitals of all scripts; these are for one line of
// Latin.
std::int64_t ascent(const Font& font) { return std::lround(0.96 * font.size); }
std::int64_t line_height(const Font& font) { return std::lround(1.28 * font.size); }

void draw_text(Image& canvas, std::int64_t left, std::int64_t top, std::string_view text,
               const Colour& colour, const Font& font) {
    constexpr std::int64_t kPhases = Typeface::kPhases;
    const std::int64_t base = top + ascent(font);
    const SharedTypeface typeface;
    for_letters(typeface, text, font.bold, [&](unsigned glyph, std::int64_t pen) {
        const std::int64_t steps = pen * font.size * kPhases / Typeface::kUnits;
        const std::int64_t x = left + steps / kPhases;
        if (x > canvas.width || x < -2 * font.size) return;
        const GlyphPicture& picture = typeface->picture(glyph, font, int(steps % kPhases));
        paint(canvas, picture, x + picture.left, base - picture.top, colour);
    });
}

std::string fit_text(std::string_view text, std::int64_t width, const Font& font) {
    if (text_width(text, font) <= width) return std::string(text);
    const std::vector<std::size_t> starts = character_starts(text);
    const std::size_t count = starts.size() - 1;
    const auto shortened = [&](std::size_t kept) {
        const std::size_t head = (kept + 1) / 2;
        return std::string(text.substr(0, starts[head])) + "…" +
               std::string(text.substr(starts[count - kept / 2]));
    };
    std::size_t low = 0, high = count;  // `low` characters fit, if any do; `high` do not
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        (text_width(shortened(middle), font) <= width ? low : high) = middle;
    }
    const std::string result = shortened(low);
    return text_width(result, font) <= width ? result : std::string();
}

std::vector<std::string> wrap_text(std::string_view text, std::int64_t width, const Font& font,
                                   std::size_t most) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        // As many words as fit, and at least one; everything where no other line may follow.
        std::size_t end = std::min(text.find(' ', 1), text.size());
        while (end < text.size()) {
            const std::size_t next = std::min(text.find(' ', end + 1), text.size());
            if (text_width(text.substr(0, next), font) > width) break;
            end = next;
        }
        if (lines.size() + 1 == most) end = text.size();
        lines.push_back(fit_text(text.substr(0, end), width, font));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace cait
