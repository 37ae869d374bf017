// The most probable pieces of a text by a unigram language model (Kudo 2018): the best way to each
// place, from front to back, in single precision as the library adds up.
#include <algorithm>
#include <limits>

#include "base/piece_ids.h"
#include "data/sentences/sentencepiece_segmenter.h"

namespace cait {

namespace {

constexpr float kUnknownPenalty = 10;

class UnigramSegmenter final : public SentencePieceSegmenter {
public:
    explicit UnigramSegmenter(const SentencePieceModel& model) : model_(model) {
        float least = std::numeric_limits<float>::max();
        for (std::size_t i = 0; i < model.pieces.size(); ++i) {
            if (model.types[i] == PieceType::normal) {
                least = std::min(least, model.scores[i]);
                highest_ = std::max(highest_, model.scores[i]);
            } else if (model.types[i] != PieceType::user_defined) {
                continue;
            }
            sorted_.push_back({model.pieces[i], std::int64_t(i)});
        }
        unknown_score_ = least - kUnknownPenalty;
        std::ranges::sort(sorted_, {}, &FoundPiece::text);
    }

    std::vector<FoundPiece> cut(std::string_view text) const override {
        std::vector<Arrival> best(text.size() + 1);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t character = leading_character(text.substr(at));
            const float here = best[at].score;
            if (!arrive_by_pieces(text, at, character, best))
                best[at + character].improve(double(unknown_score_ + here), at, kUnknown);
            at += character;
        }
        std::vector<FoundPiece> found;
        for (std::size_t end = text.size(); end > 0; end = best[end].from)
            found.push_back({text.substr(best[end].from, end - best[end].from), best[end].id});
        std::ranges::reverse(found);
        return found;
    }

private:
    // The best way to a place: its last piece and where that starts.
    struct Arrival {
        float score = 0;
        std::size_t from = 0;
        std::int64_t id = -1;  // nobody has come here yet

        void improve(double candidate, std::size_t start, std::int64_t piece) {
            if (id >= 0 && !(candidate > double(score))) return;
            score = float(candidate);
            from = start;
            id = piece;
        }
    };

    // All pieces that start at `at`, shortest first. Whether one of them is just the character.
    bool arrive_by_pieces(std::string_view text, std::size_t at, std::size_t character,
                          std::vector<Arrival>& best) const {
        bool single = false;
        const float here = best[at].score;
        auto first = sorted_.begin(),
             last = sorted_.end();  // those that begin with the text so far
        for (std::size_t length = 1; at + length <= text.size(); ++length) {
            // The next byte of a piece; one that ends before it comes first.
            const auto byte = [&](const FoundPiece& piece) {
                return piece.text.size() < length
                           ? -1
                           : int(static_cast<unsigned char>(piece.text[length - 1]));
            };
            const auto range = std::ranges::equal_range(
                first, last, int(static_cast<unsigned char>(text[at + length - 1])), {}, byte);
            first = range.begin();
            last = range.end();
            if (first == last) break;
            if (first->text.size() > length) continue;
            const auto id = std::size_t(first->id);
            // The sum of a user defined piece is not rounded before it is compared.
            const double score = model_.types[id] == PieceType::user_defined
                                     ? double(float(length) * highest_) - 0.1
                                     : double(model_.scores[id]);
            best[at + length].improve(score + double(here), at, first->id);
            single = single || length == character;
        }
        return single;
    }

    const SentencePieceModel& model_;
    std::vector<FoundPiece> sorted_;  // by their bytes
    float highest_ = std::numeric_limits<float>::min();
    float unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<SentencePieceSegmenter> make_unigram_segmenter(const SentencePieceModel& model) {
    return std::make_unique<UnigramSegmenter>(model);
}

}  // namespace cait
