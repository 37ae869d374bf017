// What a beam search asks of a model: how likely each piece is to come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cait {

struct NextPiece {
    std::int64_t piece = 0;
    double log_probability = 0;
};

// Of every slot of every sentence.
struct NextPieces {
    std::vector<NextPiece> best;  // [sentences, slots, most], the likeliest first, never kPad
    std::size_t most = 0;         // 0: a vocabulary of so few pieces has no more
    std::vector<double> end;      // [sentences, slots]: log-probability of kEnd
    // Where the decoder looked, [sentences, slots, places]; empty: nobody asked.
    std::vector<float> attention;
    std::size_t places = 0;  // of the sources, padding included

    std::span<const NextPiece> of(std::size_t row) const {
        return std::span(best).subspan(row * most, most);
    }
    std::span<const float> attention_of(std::size_t row) const {
        return std::span(attention).subspan(row * places, places);
    }
};

// Keeps what the model has seen of some sentences, each with the same number of slots, one for
// every hypothesis that is followed.
class StepScorer {
public:
    virtual ~StepScorer() = default;

    virtual std::int64_t vocabulary() const = 0;

    // `pieces` [sentences, slots] stand at `place`, the first of which is 0; what the slots saw
    // before was given in earlier calls. Returns what follows, `most` pieces of each slot; it stays
    // until the next call.
    virtual const NextPieces& step(std::int64_t place, std::span<const std::int64_t> pieces,
                                   std::size_t most) = 0;

    // Slot `to` goes on from what slot `from` of the same sentence has seen. No slot that is copied
    // from is copied to.
    struct Copy {
        std::size_t sentence = 0, from = 0, to = 0;
    };
    virtual void copy(std::span<const Copy> copies) = 0;

    // Forgets a sentence; the last one takes its number.
    virtual void drop(std::size_t sentence) = 0;
};

}  // namespace cait
