#include "data/sentences/sentencepiece_model.h"

#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "cait/error.h"
#include "data/sentences/sentencepiece_vocabulary.h"
#include "unit/data/sentences/support.h"
#include "unit/data/support.h"

namespace cait::text_test {
namespace {

using data_test::error_of;
using testing::HasSubstr;

// Writes the wire format of protocol buffers.
std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += char(value | 0x80);
    return bytes + char(value);
}
std::string message(int field, const std::string& content) {
    return varint(std::uint64_t(field) << 3 | 2) + varint(content.size()) + content;
}
std::string integer(int field, std::uint64_t value) {
    return varint(std::uint64_t(field) << 3) + varint(value);
}
std::string number(int field, float value) {
    std::string bytes = varint(std::uint64_t(field) << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += char(bits >> shift);
    return bytes;
}
std::string piece(const std::string& text, int type = 1, float score = 0) {
    return message(1, message(1, text) + number(2, score) + integer(3, std::uint64_t(type)));
}
std::string specials() {
    return piece("<s>", 3) + piece("<pad>", 3) + piece("</s>", 3) + piece("<unk>", 2);
}
std::string trainer(const std::string& more = "", int method = 2) {
    return message(2, integer(3, std::uint64_t(method)) + more);
}
// A model of "▁", "a", "b", "ab" and "▁ab".
std::string small_model(const std::string& more = "") {
    return specials() + piece("\u2581", 1, -9) + piece("a", 1, -8) + piece("b", 1, -7) +
           piece("ab", 1, -1) + piece("\u2581ab", 1, -2) + more + trainer();
}

std::string refusal(const std::string& bytes) {
    return error_of([&] { read_vocabulary("sentencepiece", bytes, "m.model"); });
}

TEST(SentencePieceModel, IsReadFieldByField) {
    const SentencePieceModel model = parse_sentencepiece(small_model(), "m");
    EXPECT_EQ(model.method, SentencePieceModel::Method::bpe);
    EXPECT_EQ(model.pieces.size(), 9U);
    EXPECT_EQ(model.pieces[7], "ab");
    EXPECT_EQ(model.scores[7], -1);
    EXPECT_EQ(model.types[3], PieceType::unknown);
    EXPECT_TRUE(model.normalizer.add_dummy_prefix);
    const VocabularyPtr vocabulary = read_sentencepiece(small_model(), "m");
    EXPECT_EQ(vocabulary->encode("ab ba"), (Ids{8, 4, 6, 5}));
    EXPECT_EQ(vocabulary->decode(Ids{8, 4, 6, 5}), "ab ba");
    // Fields that later releases may add to the settings are read over.
    EXPECT_EQ(
        parse_sentencepiece(specials() + piece("a") + trainer(message(99, "x")), "m").pieces.size(),
        5U);
}

TEST(SentencePieceModel, RefusesWhatIsNoMessage) {
    EXPECT_THAT(refusal(""), HasSubstr("m.model: piece 0: expected <s>, found no more pieces"));
    EXPECT_THAT(refusal("hello"), HasSubstr("m.model: "));
    EXPECT_THAT(refusal(small_model() + "\x0a"), HasSubstr("truncated"));
    EXPECT_THAT(refusal(small_model() + std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
                HasSubstr("truncated: field 1"));
    EXPECT_THAT(refusal(small_model() + std::string(11, '\xff')), HasSubstr("at most ten bytes"));
    EXPECT_THAT(refusal(small_model() + message(17, "x")), HasSubstr("found a field 17"));
    EXPECT_THAT(refusal(small_model() + std::string("\0\0", 2)), HasSubstr("found number 0"));
    EXPECT_THAT(refusal(small_model() + "\x0b"), HasSubstr("unknown kind"));
    EXPECT_THAT(refusal(small_model() + integer(1, 5)),
                HasSubstr("pieces: the field is written as something else"));
    EXPECT_THAT(refusal(small_model() + trainer()), HasSubstr("expected field 2 once"));
}

TEST(SentencePieceModel, RefusesOtherNumbersOfTheSpecials) {
    // As spm_train numbers them by default.
    EXPECT_THAT(
        refusal(piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + piece("a") + trainer()),
        HasSubstr("m.model: piece 0: expected <s>, found '<unk>' (a model for translation is "
                  "learned with --bos_id=0"));
    EXPECT_THAT(refusal(piece("<s>", 1) + specials() + trainer()), HasSubstr("piece 0"));
    EXPECT_THAT(refusal(piece("<s>", 3) + piece("<pad>", 3)), HasSubstr("piece 2: expected </s>"));
}

TEST(SentencePieceModel, RefusesPiecesThatLie) {
    EXPECT_THAT(refusal(small_model(piece("ab"))),
                HasSubstr("m.model: piece 9 ('ab'): another piece has the same text"));
    EXPECT_THAT(refusal(small_model(piece("</s>"))), HasSubstr("piece 9 ('</s>')"));
    EXPECT_THAT(refusal(small_model(piece("<u>", 2))),
                HasSubstr("a second piece for what is unknown"));
    EXPECT_THAT(refusal(small_model(piece("<0x41>", 6))), HasSubstr("byte_fallback is off"));
    EXPECT_THAT(refusal(small_model(piece("c", 5))),
                HasSubstr("piece 9: type: expected 1 (normal)"));
    EXPECT_THAT(refusal(small_model(piece("c", 77))), HasSubstr("found 77"));
    EXPECT_THAT(refusal(small_model(piece(""))),
                HasSubstr("expected a text of 1 to 512 bytes, found 0"));
    EXPECT_THAT(refusal(small_model(piece(std::string(513, 'x')))), HasSubstr("found 513"));
    EXPECT_THAT(refusal(small_model(piece("\xff"))), HasSubstr("piece: expected UTF-8 text"));
    EXPECT_THAT(refusal(small_model(piece(std::string("a\0b", 3)))),
                HasSubstr("expected UTF-8 text"));
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(refusal(small_model(piece("c", 1, nothing))),
                HasSubstr("score: expected a finite number"));
    EXPECT_THAT(refusal(small_model(piece("c", 1, 1e30F))),
                HasSubstr("score: expected a number up to"));
    EXPECT_THAT(refusal(specials() + trainer()), HasSubstr("holds no pieces of text"));
    std::string many;
    for (int i = 0; i < 65; ++i) many += piece("user" + std::to_string(i), 4);
    EXPECT_THAT(refusal(small_model(many)), HasSubstr("expected at most 64 user defined pieces"));
}

TEST(SentencePieceModel, RefusesSettingsThatLie) {
    const std::string pieces = specials() + piece("a");
    EXPECT_THAT(refusal(pieces + trainer("", 3)),
                HasSubstr("model_type: expected 1 (unigram) or 2"));
    EXPECT_THAT(refusal(pieces + trainer(integer(35, 1))),
                HasSubstr("expected 256 pieces of bytes, found 0"));
    EXPECT_THAT(refusal(pieces + trainer(message(44, std::string(65, '?')))),
                HasSubstr("unk_surface"));
}

// What the library's trie would be led astray by: places outside it, circles, texts without an end.
TEST(SentencePieceModel, AMapOfCharactersThatLiesLeadsNowhere) {
    const auto with_map = [](const std::string& map) {
        return small_model() + message(3, message(2, map));
    };
    EXPECT_THAT(refusal(with_map("abc")),
                HasSubstr("precompiled_charsmap: expected a size and a trie"));
    EXPECT_THAT(refusal(with_map(std::string("\xff\xff\xff\x7f", 4) + "abcd")),
                HasSubstr("its trie says"));
    EXPECT_THAT(refusal(with_map(std::string("\x03\0\0\0", 4) + "abcdef")),
                HasSubstr("its trie says 3 bytes"));
    std::string growing("\x04\0\0\0\0\0\0\0", 8);
    EXPECT_THAT(refusal(with_map(growing + std::string(257, 'x'))),
                HasSubstr("expected replacements of at most 256 bytes"));
    // Every unit is any number at all.
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::string map("\0\x04\0\0", 4);
        std::uint32_t state = seed;
        for (int i = 0; i < 1024 + 60; ++i) {
            state = state * 1664525 + 1013904223;
            map += char(seed % 3 == 0 ? (state >> 24) & 0x81 : state >> 24);
        }
        const VocabularyPtr vocabulary =
            read_vocabulary("sentencepiece", with_map(map + '\0'), "m");
        EXPECT_THAT(vocabulary->encode("ab abba \u00e4 <s> ab"),
                    testing::Each(testing::AllOf(testing::Ge(kUnknown), testing::Lt(9))));
    }
}

// No prefix of a model is one, but for those that end between its pieces and say what is missing.
TEST(SentencePieceModel, EveryCutAndEveryChangedByteIsReadOrRefused) {
    const std::string whole = read_file(stored("unigram_rules.model"));
    std::size_t read = 0;
    for (std::size_t size = 0; size < whole.size(); size += 7) {
        try {
            read_vocabulary("sentencepiece", whole.substr(0, size), "m")
                ->encode("ab c, 7:30 Äpfel");
            ++read;
        } catch (const Error&) {
        }
    }
    EXPECT_GT(read, 0U);
    for (std::size_t at = 0; at < whole.size(); at += 3) {
        std::string bytes = whole;
        bytes[at] = char(~bytes[at]);
        try {
            const VocabularyPtr vocabulary = read_vocabulary("sentencepiece", bytes, "m");
            vocabulary->decode(vocabulary->encode("ab c, 7:30 Äpfel"));
        } catch (const Error&) {
        }
    }
}

}  // namespace
}  // namespace cait::text_test
