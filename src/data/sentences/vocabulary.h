// Cuts lines of text into numbered pieces and puts them together again. A vocabulary is immutable
// and may be used by any number of threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/piece_ids.h"
#include "data/sentence_pair.h"

namespace cait {

class Vocabulary {
public:
    virtual ~Vocabulary() = default;

    virtual std::int64_t size()
        const = 0;  // pieces, the four specials of base/piece_ids.h included
    // Without </s>. Never holds <s>, <pad> or </s>, whatever the line says. Throws Error for a line
    // that check_sentence() refuses.
    virtual std::vector<std::int64_t> encode(std::string_view line) const = 0;
    // Plain text; <s>, <pad> and </s> are left out, and what has no piece is shown as the
    // vocabulary does (SentencePiece: " ⁇ ", others: "<unk>"). Throws Error for a number that is no
    // piece.
    virtual std::string decode(std::span<const std::int64_t> pieces) const = 0;
    // Words as the model's training text had them: what tokenised BLEU compares. SentencePiece
    // learns from plain text, so it is the same there.
    virtual std::string tokens(std::span<const std::int64_t> pieces) const = 0;
    // As it is written: "▁Hund", "Hun@@".
    virtual std::string piece(std::int64_t id) const = 0;

    virtual std::string kind() const = 0;   // "sentencepiece", "bpe" or "words"
    virtual std::string bytes() const = 0;  // what read_vocabulary() reads
};

using VocabularyPtr = std::shared_ptr<const Vocabulary>;

inline constexpr std::size_t kLargestVocabulary = std::size_t{1} << 24;  // bytes
inline constexpr std::int64_t kMostPieces = std::int64_t{1} << 20;

// The bytes may be anybody's. Throws Error, opening with `where`, where they are not what the kind
// says: sizes, numbers of the specials, pieces that are there twice, bytes after the end.
VocabularyPtr read_vocabulary(std::string_view kind, std::string_view bytes,
                              const std::string& where);

// A file that a user names: a SentencePiece model, or fairseq's list of words ("WORD COUNT" lines).
VocabularyPtr read_vocabulary_file(const std::filesystem::path& path);

}  // namespace cait
