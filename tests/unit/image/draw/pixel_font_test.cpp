// Every printable character has a picture of its own.
#include "image/draw/pixel_font.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cait {
namespace {

std::string picture(char32_t c) {
    std::string text;
    for (int y = 0; y < kGlyphHeight; ++y)
        for (int x = 0; x < kGlyphWidth; ++x) text += glyph_pixel(c, x, y) ? '#' : '.';
    return text;
}

TEST(PixelFont, NoTwoCharactersLookAlike) {
    std::set<std::string> pictures{picture(kNoCharacter)};
    for (char32_t c = U' '; c <= U'~'; ++c)
        EXPECT_TRUE(pictures.insert(picture(c)).second) << char(c);
    EXPECT_EQ(picture(U' ').find('#'), std::string::npos);
}

TEST(PixelFont, WhatItLacksIsABox) {
    for (const char32_t c : {U'\n', U'\x7f', U'é', U'猫', kNoCharacter})
        EXPECT_EQ(picture(c), picture(kNoCharacter));
}

TEST(PixelFont, LettersStandOnTheLine) {
    constexpr int kLine = kGlyphHeight - 2;
    for (const char32_t c : std::u32string(U"ABCXYZabcxz0123456789"))
        EXPECT_TRUE(picture(c).substr(kLine * kGlyphWidth, kGlyphWidth).find('#') !=
                    std::string::npos)
            << char(c);
    for (const char32_t c : std::u32string(U"gjpqy"))
        EXPECT_TRUE(picture(c).substr((kLine + 1) * kGlyphWidth).find('#') != std::string::npos)
            << char(c);
}

TEST(PixelFont, Utf8IsTakenCharacterByCharacter) {
    std::string_view text = "aé猫𝄞\xff\xc3";
    std::u32string characters;
    while (!text.empty()) characters += next_character(text);
    EXPECT_EQ(characters, std::u32string({U'a', U'é', U'猫', U'𝄞', kNoCharacter, kNoCharacter}));
    std::string_view cut = "\xe7\x8c";  // the first two of three bytes
    EXPECT_EQ(next_character(cut), kNoCharacter);
    EXPECT_EQ(cut.size(), 1U);
}

}  // namespace
}  // namespace cait
