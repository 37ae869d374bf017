// How likely a model finds the translations that people made: the cross-entropy of their pieces.
#pragma once

#include "evaluate/measure.h"

namespace cait {

// Sums alone: parts of it are merged exactly as far as doubles add up.
class TextScores final : public Measure {
public:
    // `pieces` of so many sentences, </s> included, and the sum of −log p over them.
    void add_pieces(std::uint64_t sentences, std::uint64_t pieces, double loss);
    // Sentences are no images with classes: throws Error.
    std::int64_t add(std::size_t index, std::span<const float> logits,
                     std::span<const std::int64_t> labels) override;

    std::size_t classes() const override { return 0; }
    std::uint64_t images() const override { return sentences_; }
    std::string counted() const override { return "sentences"; }
    std::uint64_t pieces() const { return pieces_; }

    double loss() const;        // mean over the pieces, natural logarithm
    double perplexity() const;  // of a piece: e to the loss

    Scores scores() const override;  // perplexity, loss
    std::vector<ShownScore> shown() const override;
    std::string class_header() const override { return {}; }
    std::vector<ClassRow> class_rows() const override { return {}; }

    std::vector<std::byte> pack() const override;
    void merge_packed(std::span<const std::byte> bytes) override;

private:
    std::uint64_t sentences_ = 0, pieces_ = 0;
    double loss_sum_ = 0;
};

}  // namespace cait
