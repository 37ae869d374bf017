// Byte pair encoding (Sennrich et al. 2016) as SentencePiece does it: two neighbours become one
// where both together are a piece, the piece of the highest score first.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/piece_ids.h"
#include "data/sentences/sentencepiece_segmenter.h"

namespace cait {

namespace {

class BpeSegmenter final : public SentencePieceSegmenter {
public:
    BpeSegmenter(const SentencePieceModel& model, const ProtectedTexts& user_defined)
        : model_(model), user_defined_(user_defined) {
        for (std::size_t i = 0; i < model.pieces.size(); ++i)
            ids_.emplace(model.pieces[i], std::int64_t(i));
    }

    std::vector<FoundPiece> cut(std::string_view text) const override {
        Run run{*this, characters(text), {}};
        for (std::size_t i = 1; i < run.symbols.size(); ++i) run.offer(int(i) - 1, int(i));
        while (!run.pairs.empty()) run.merge_best();
        std::vector<FoundPiece> found;
        for (int i = run.symbols.empty() ? -1 : 0; i >= 0; i = run.symbols[std::size_t(i)].next) {
            const std::string_view piece = run.symbols[std::size_t(i)].text;
            const auto id = ids_.find(piece);
            found.push_back({piece, id == ids_.end() ? kUnknown : id->second});
        }
        return found;
    }

private:
    struct Symbol {
        std::string_view text;  // empty: it is part of the one before
        int before = -1;
        int next = -1;
        bool whole = false;  // a user defined piece, which is never part of another
    };
    struct Pair {
        float score = 0;
        int left = 0;
        int right = 0;
        std::size_t size = 0;  // bytes of both together when it was offered

        bool operator<(const Pair& other) const {
            return score < other.score || (score == other.score && left > other.left);
        }
    };

    // The work on one text.
    struct Run {
        const BpeSegmenter& owner;
        std::vector<Symbol> symbols;
        std::priority_queue<Pair> pairs;

        Symbol& at(int i) { return symbols[std::size_t(i)]; }

        void offer(int left, int right) {
            if (left < 0 || right < 0 || at(left).whole || at(right).whole) return;
            const std::string_view both(at(left).text.data(),
                                        at(left).text.size() + at(right).text.size());
            if (const auto id = owner.ids_.find(both);
                id != owner.ids_.end() && owner.joins(id->second))
                pairs.push(
                    {owner.model_.scores[std::size_t(id->second)], left, right, both.size()});
        }

        void merge_best() {
            const Pair best = pairs.top();
            pairs.pop();
            Symbol& left = at(best.left);
            Symbol& right = at(best.right);
            if (left.text.empty() || right.text.empty() ||
                left.text.size() + right.text.size() != best.size)
                return;  // one of them has become part of another since
            left.text = std::string_view(left.text.data(), best.size);
            left.next = right.next;
            if (right.next >= 0) at(right.next).before = best.left;
            right.text = {};
            offer(left.before, best.left);
            offer(best.left, left.next);
        }
    };

    bool joins(std::int64_t id) const {
        const PieceType type = model_.types[std::size_t(id)];
        return type == PieceType::normal || type == PieceType::user_defined;
    }

    std::vector<Symbol> characters(std::string_view text) const {
        std::vector<Symbol> symbols;
        while (!text.empty()) {
            std::size_t length = protected_length(user_defined_, text);
            const bool whole = length > 0;
            if (!whole) length = leading_character(text);
            const int index = int(symbols.size());
            symbols.push_back(
                {text.substr(0, length), index - 1, length < text.size() ? index + 1 : -1, whole});
            text.remove_prefix(length);
        }
        return symbols;
    }

    const SentencePieceModel& model_;
    const ProtectedTexts& user_defined_;
    std::unordered_map<std::string_view, std::int64_t> ids_;
};

}  // namespace

std::size_t leading_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return std::min(length, text.size());
}

std::unique_ptr<SentencePieceSegmenter> make_bpe_segmenter(const SentencePieceModel& model,
                                                           const ProtectedTexts& user_defined) {
    return std::make_unique<BpeSegmenter>(model, user_defined);
}

}  // namespace cait
