#include "data/sentences/sentencepiece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <unordered_set>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/sentences/protobuf_fields.h"
#include "data/sentences/vocabulary.h"

namespace cait {

namespace {

constexpr std::size_t kLongestPiece = 512;    // bytes; the library learns up to 16 characters
constexpr std::size_t kMostUserDefined = 64;  // what the library can tell apart at one place
constexpr std::size_t kLongestSurface = 64;   // bytes of what stands for an unknown piece
constexpr std::size_t kLargestCharacters = std::size_t{4} << 20;  // the library's own: 240 KB
constexpr float kLargestScore = 1e9F;

void read_piece(const ProtobufFields& outer, const std::string& where, SentencePieceModel& model) {
    ProtobufFields fields(outer.bytes("pieces"),
                          fmt::format("{}: piece {}", where, model.pieces.size()));
    std::string_view piece;
    float score = 0;
    std::int64_t type = std::int64_t(PieceType::normal);
    while (fields.next()) {
        switch (fields.number()) {
            case 1: piece = fields.text("piece"); break;
            case 2: score = fields.number32("score"); break;
            case 3: type = fields.integer("type"); break;
            default: break;
        }
    }
    if (piece.empty() || piece.size() > kLongestPiece)
        fields.fail(
            fmt::format("expected a text of 1 to {} bytes, found {}", kLongestPiece, piece.size()));
    if (std::abs(score) > kLargestScore)
        fields.fail(
            fmt::format("score: expected a number up to {:g}, found {:g}", kLargestScore, score));
    constexpr std::array kTypes = {PieceType::normal, PieceType::unknown, PieceType::control,
                                   PieceType::user_defined, PieceType::byte};
    if (std::ranges::find(kTypes, PieceType(type)) == kTypes.end())
        fields.fail(fmt::format(
            "type: expected 1 (normal), 2 (unknown), 3 (control), 4 (user defined) or 6 (byte), "
            "found {}",
            type));
    if (std::int64_t(model.pieces.size()) == kMostPieces)
        fields.fail(fmt::format("expected at most {} pieces, found more", kMostPieces));
    model.pieces.emplace_back(piece);
    model.scores.push_back(score);
    model.types.push_back(PieceType(type));
}

void read_trainer(ProtobufFields fields, SentencePieceModel& model) {
    while (fields.next()) {
        switch (fields.number()) {
            case 3: {
                const std::int64_t method = fields.integer("model_type");
                if (method != 1 && method != 2)
                    fields.fail(fmt::format("model_type: expected 1 (unigram) or 2 (BPE), found {}",
                                            method));
                model.method = SentencePieceModel::Method(method);
                break;
            }
            case 24:
                model.normalizer.whitespace_as_suffix = fields.flag("treat_whitespace_as_suffix");
                break;
            case 35: model.byte_fallback = fields.flag("byte_fallback"); break;
            case 44:
                model.unknown_surface = fields.text("unk_surface");
                if (model.unknown_surface.size() > kLongestSurface)
                    fields.fail(fmt::format("unk_surface: expected at most {} bytes, found {}",
                                            kLongestSurface, model.unknown_surface.size()));
                break;
            default: break;
        }
    }
}

void read_normalizer(ProtobufFields fields, SentencePieceNormalizer& to) {
    while (fields.next()) {
        switch (fields.number()) {
            case 2:
                to.characters = fields.bytes("precompiled_charsmap");
                if (to.characters.size() > kLargestCharacters)
                    fields.fail(
                        fmt::format("precompiled_charsmap: expected at most {} bytes, found {}",
                                    kLargestCharacters, to.characters.size()));
                break;
            case 3: to.add_dummy_prefix = fields.flag("add_dummy_prefix"); break;
            case 4: to.remove_extra_whitespaces = fields.flag("remove_extra_whitespaces"); break;
            case 5: to.escape_whitespaces = fields.flag("escape_whitespaces"); break;
            default: break;
        }
    }
}

void check_specials(const SentencePieceModel& model, const std::string& where) {
    struct Special {
        const char* text;
        PieceType type;
    };
    constexpr std::array<Special, kSpecialPieces> kSpecials = {{{"<s>", PieceType::control},
                                                                {"<pad>", PieceType::control},
                                                                {"</s>", PieceType::control},
                                                                {"<unk>", PieceType::unknown}}};
    for (std::size_t i = 0; i < kSpecials.size(); ++i)
        if (i >= model.pieces.size() || model.pieces[i] != kSpecials[i].text ||
            model.types[i] != kSpecials[i].type)
            throw Error(fmt::format(
                "{}: piece {}: expected {}, found {} (a model for translation is learned with "
                "--bos_id=0 --pad_id=1 --eos_id=2 --unk_id=3)",
                where, i, kSpecials[i].text,
                i < model.pieces.size() ? display_name(model.pieces[i]) : "no more pieces"));
}

// The byte that "<0x41>" stands for.
std::optional<unsigned> byte_of(std::string_view piece) {
    for (unsigned byte = 0; byte < 256; ++byte)
        if (piece == fmt::format("<0x{:02X}>", byte)) return byte;
    return std::nullopt;
}

void check_pieces(const SentencePieceModel& model, const std::string& where) {
    std::unordered_set<std::string_view> known;
    std::bitset<256> bytes;
    std::size_t user_defined = 0, normal = 0;
    const auto fail = [&](std::size_t i, const char* what) {
        throw Error(
            fmt::format("{}: piece {} ({}): {}", where, i, display_name(model.pieces[i]), what));
    };
    for (std::size_t i = 0; i < model.pieces.size(); ++i) {
        if (!known.insert(model.pieces[i]).second) fail(i, "another piece has the same text");
        switch (model.types[i]) {
            case PieceType::normal: ++normal; break;
            case PieceType::user_defined: ++user_defined; break;
            case PieceType::unknown:
                if (std::int64_t(i) != kUnknown) fail(i, "a second piece for what is unknown");
                break;
            case PieceType::byte: {
                const std::optional<unsigned> byte = byte_of(model.pieces[i]);
                if (!model.byte_fallback) fail(i, "a byte, but byte_fallback is off");
                if (!byte) fail(i, "expected a byte such as <0x41>");
                bytes.set(*byte);
                break;
            }
            case PieceType::control: break;
        }
    }
    if (model.byte_fallback && !bytes.all())
        throw Error(fmt::format("{}: byte_fallback: expected 256 pieces of bytes, found {}", where,
                                bytes.count()));
    if (user_defined > kMostUserDefined)
        throw Error(fmt::format("{}: expected at most {} user defined pieces, found {}", where,
                                kMostUserDefined, user_defined));
    if (normal == 0) throw Error(fmt::format("{}: holds no pieces of text", where));
}

}  // namespace

SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& where) {
    if (bytes.size() > kLargestVocabulary)
        throw Error(fmt::format("{}: expected a vocabulary of at most {} bytes, found {}", where,
                                kLargestVocabulary, bytes.size()));
    SentencePieceModel model;
    ProtobufFields fields(bytes, where);
    std::bitset<6> seen;
    while (fields.next()) {
        const std::uint32_t number = fields.number();
        if (number == 0 || number > 5)
            fields.fail(fmt::format("expected a SentencePiece model, found a field {}", number));
        if (number > 1 && seen.test(number))
            fields.fail(fmt::format("expected field {} once, found it again", number));
        seen.set(number);
        switch (number) {
            case 1: read_piece(fields, where, model); break;
            case 2:
                read_trainer({fields.bytes("trainer_spec"), where + ": trainer_spec"}, model);
                break;
            case 3:
                read_normalizer({fields.bytes("normalizer_spec"), where + ": normalizer_spec"},
                                model.normalizer);
                break;
            case 5:
                read_normalizer({fields.bytes("denormalizer_spec"), where + ": denormalizer_spec"},
                                model.denormalizer);
                break;
            default: break;  // samples that the library would test itself with
        }
    }
    check_specials(model, where);
    check_pieces(model, where);
    return model;
}

}  // namespace cait
