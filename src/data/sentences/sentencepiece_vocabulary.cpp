#include "data/sentences/sentencepiece_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "cait/error.h"
#include "data/sentences/sentencepiece_model.h"
#include "data/sentences/sentencepiece_segmenter.h"
#include "data/sentences/text_normalizer.h"

namespace cait {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

ProtectedTexts user_defined_texts(const SentencePieceModel& model) {
    ProtectedTexts texts;
    for (std::size_t i = 0; i < model.pieces.size(); ++i)
        if (model.types[i] == PieceType::user_defined) texts.push_back(model.pieces[i]);
    std::ranges::stable_sort(texts, std::ranges::greater(), &std::string::size);
    return texts;
}

void replace_spaces(std::string_view piece, std::string& text) {
    for (std::size_t at = piece.find(kSpacePiece); at != std::string_view::npos;
         at = piece.find(kSpacePiece)) {
        text += piece.substr(0, at);
        text += ' ';
        piece.remove_prefix(at + kSpacePiece.size());
    }
    text += piece;
}

// Bytes that stood for a character without a piece.
void add_bytes(std::string& bytes, std::string& text) {
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = utf8_length(bytes, at);
        text += length == 0 ? kReplacement : std::string_view(bytes).substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    bytes.clear();
}

class SentencePieceVocabulary final : public Vocabulary {
public:
    SentencePieceVocabulary(std::string_view bytes, const std::string& where)
        : bytes_(bytes),
          model_(parse_sentencepiece(bytes, where)),
          user_defined_(user_defined_texts(model_)),
          normalizer_(model_.normalizer, user_defined_, where),
          denormalizer_(model_.denormalizer, {}, where),
          segmenter_(model_.method == SentencePieceModel::Method::bpe
                         ? make_bpe_segmenter(model_, user_defined_)
                         : make_unigram_segmenter(model_)) {
        if (model_.byte_fallback)
            for (std::size_t i = 0; i < model_.pieces.size(); ++i)
                if (model_.types[i] == PieceType::byte)
                    byte_ids_.emplace(model_.pieces[i], std::int64_t(i));
        denormalizes_ = !model_.denormalizer.characters.empty();
        // The segmenter needs neither; they may be most of the model.
        model_.normalizer.characters.clear();
        model_.denormalizer.characters.clear();
    }

    std::int64_t size() const override { return std::int64_t(model_.pieces.size()); }

    std::vector<std::int64_t> encode(std::string_view line) const override {
        check_sentence(line, "line");
        const std::string text = normalizer_.apply(line);
        std::vector<std::int64_t> ids;
        for (const FoundPiece& found : segmenter_->cut(text)) {
            if (found.id != kUnknown)
                ids.push_back(found.id);
            else if (model_.byte_fallback)
                for (const char byte : found.text)
                    ids.push_back(
                        byte_ids_.at(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
            else if (ids.empty() || ids.back() != kUnknown)
                ids.push_back(kUnknown);  // one for a whole run of them
        }
        return ids;
    }

    std::string decode(std::span<const std::int64_t> pieces) const override {
        std::string text, bytes;
        const bool drops_space =
            model_.normalizer.add_dummy_prefix || model_.normalizer.remove_extra_whitespaces;
        bool at_start = true, dropped = false;
        for (const std::int64_t id : pieces) {
            const std::string_view piece = at(id);
            const PieceType type = model_.types[std::size_t(id)];
            if (type == PieceType::byte) {
                bytes += char(byte_value(piece));
                continue;
            }
            add_bytes(bytes, text);
            if (dropped || !text.empty()) at_start = false;
            dropped = add_piece(piece, type, at_start && drops_space, text);
        }
        add_bytes(bytes, text);
        return denormalizes_ ? denormalizer_.apply(text) : text;
    }

    std::string tokens(std::span<const std::int64_t> pieces) const override {
        return decode(pieces);
    }
    std::string piece(std::int64_t id) const override { return at(id); }
    std::string kind() const override { return std::string(kSentencePieceKind); }
    std::string bytes() const override { return bytes_; }

private:
    const std::string& at(std::int64_t id) const {
        if (id < 0 || id >= size())
            throw Error(
                fmt::format("expected the number of a piece below {}, found {}", size(), id));
        return model_.pieces[std::size_t(id)];
    }

    static unsigned byte_value(std::string_view piece) {  // of "<0x41>"
        return unsigned(std::stoul(std::string(piece.substr(3, 2)), nullptr, 16));
    }

    // Whether this was the one space that was put before the text. Where all extra space goes, all
    // of it at the start goes.
    bool add_piece(std::string_view piece, PieceType type, bool drop_space,
                   std::string& text) const {
        if (type == PieceType::control) return false;
        if (type == PieceType::unknown) {
            text += model_.unknown_surface;
            return false;
        }
        const bool drops = drop_space && piece.starts_with(kSpacePiece);
        if (drops) piece.remove_prefix(kSpacePiece.size());
        replace_spaces(piece, text);
        return drops && !model_.normalizer.remove_extra_whitespaces;
    }

    std::string bytes_;
    SentencePieceModel model_;
    ProtectedTexts user_defined_;
    TextNormalizer normalizer_, denormalizer_;
    std::unique_ptr<SentencePieceSegmenter> segmenter_;
    std::unordered_map<std::string, std::int64_t> byte_ids_;
    bool denormalizes_ = false;
};

}  // namespace

VocabularyPtr read_sentencepiece(std::string_view bytes, const std::string& where) {
    return std::make_shared<SentencePieceVocabulary>(bytes, where);
}

}  // namespace cait
