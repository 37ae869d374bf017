#include "image/text/typeface.h"

#include <fmt/format.h>
#include <ft2build.h>

#include "cait/error.h"
#include FT_FREETYPE_H
#include FT_OUTLINE_H

namespace cait {

namespace {

constexpr int kBoldPart = 26;                // strokes of bold letters grow by 1/26 of the em
constexpr std::size_t kMostPictures = 4096;  // then the store is emptied: names come in any script

void expect_success(FT_Error error, const char* what) {
    if (error != 0) throw Error(fmt::format("typeface: FreeType could not {}: {}", what, error));
}

}  // namespace

struct Typeface::Face {
    FT_Library library = nullptr;
    FT_Face face = nullptr;
    int size = 0;

    Face() {
        expect_success(FT_Init_FreeType(&library), "start");
        const std::span<const std::byte> bytes = typeface_bytes();
        const FT_Error error =
            FT_New_Memory_Face(library, reinterpret_cast<const FT_Byte*>(bytes.data()),
                               FT_Long(bytes.size()), 0, &face);
        if (error != 0) FT_Done_FreeType(library);
        expect_success(error, "read the typeface");
    }
    ~Face() { FT_Done_FreeType(library); }  // with its face
    Face(const Face&) = delete;
    Face& operator=(const Face&) = delete;
};

Typeface::Typeface() : face_(std::make_unique<Face>()) {}
Typeface::~Typeface() = default;

unsigned Typeface::glyph(char32_t character) const {
    const bool control = character < 0x20 || (character >= 0x7f && character < 0xa0);
    return control ? 0 : FT_Get_Char_Index(face_->face, FT_ULong(character));
}

int Typeface::advance(unsigned glyph) {
    const auto [place, is_new] = advances_.try_emplace(glyph, 0);
    if (is_new) {
        expect_success(FT_Load_Glyph(face_->face, glyph, FT_LOAD_NO_SCALE), "measure a letter");
        place->second = int(face_->face->glyph->advance.x);
    }
    return place->second;
}

int Typeface::kerning(unsigned left, unsigned right) const {
    FT_Vector between{};
    if (FT_Get_Kerning(face_->face, left, right, FT_KERNING_UNSCALED, &between) != 0) return 0;
    return int(between.x);
}

int Typeface::bold_advance() const { return kUnits / kBoldPart; }

const GlyphPicture& Typeface::picture(unsigned glyph, const Font& font, int phase) {
    const std::uint64_t key = std::uint64_t(glyph) << 32 | std::uint64_t(font.size) << 8 |
                              std::uint64_t(font.bold) << 7 | std::uint64_t(phase);
    if (const auto known = pictures_.find(key); known != pictures_.end()) return known->second;
    if (pictures_.size() >= kMostPictures) pictures_.clear();

    constexpr int kPixel = 64;  // FreeType's units
    FT_Face face = face_->face;
    if (face_->size != font.size) {
        expect_success(FT_Set_Pixel_Sizes(face, 0, FT_UInt(font.size)), "set the size");
        face_->size = font.size;
    }
    // Light hinting moves edges up and down only: lines of letters are sharp, and their widths
    // stay.
    expect_success(FT_Load_Glyph(face, glyph, FT_LOAD_NO_BITMAP | FT_LOAD_TARGET_LIGHT),
                   "load a letter");
    FT_GlyphSlot slot = face->glyph;
    if (font.bold) FT_Outline_EmboldenXY(&slot->outline, font.size * kPixel / kBoldPart, 0);
    FT_Outline_Translate(&slot->outline, phase * kPixel / kPhases, 0);
    expect_success(FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL), "draw a letter");

    const FT_Bitmap& bitmap = slot->bitmap;
    GlyphPicture picture{
        slot->bitmap_left, slot->bitmap_top, int(bitmap.width), int(bitmap.rows), {}};
    for (int y = 0; y < picture.height; ++y) {
        const unsigned char* row = bitmap.buffer + std::ptrdiff_t(y) * bitmap.pitch;
        picture.covered.insert(picture.covered.end(), row, row + picture.width);
    }
    return pictures_.emplace(key, std::move(picture)).first->second;
}

}  // namespace cait
