// How good translations are: BLEU and chrF of what the model writes, and how likely it finds what
// people wrote.
#pragma once

#include "evaluate/text_scores.h"
#include "evaluate/translate/bleu.h"
#include "evaluate/translate/chrf.h"

namespace cait {

class TranslationScores final : public Measure {
public:
    // A translation as plain text and as the words that tokenised BLEU counts, and its reference.
    struct Pair {
        std::string text, reference;
        std::string tokens, reference_tokens;
    };
    void add_translation(const Pair& pair);
    void set_pieces(const TextScores& pieces) { pieces_ = pieces; }
    // Sentences are no images with classes: throws Error.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;

    std::size_t classes() const override { return 0; }
    std::uint64_t images() const override { return sentences_; }
    std::string counted() const override { return "sentences"; }

    double bleu() const;            // sacreBLEU's, from 0 to 100
    double chrf() const;            // likewise
    double tokenised_bleu() const;  // without smoothing
    double split_bleu() const;      // the same after splitting compounds at hyphens
    const TextScores& pieces() const { return pieces_; }

    Scores scores() const override;
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override { return {}; }
    std::vector<ClassRow> class_rows() const override { return {}; }

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override;

private:
    std::uint64_t sentences_ = 0;
    BleuCounts plain_, tokenised_, split_;
    ChrfCounts characters_;
    TextScores pieces_;
};

}  // namespace cait
