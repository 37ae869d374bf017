#include "data/sentences/encoded_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "cait/error.h"

namespace cait {

namespace {

// Stretches of pairs are cut at a time by all threads, and then put together in their order.
constexpr std::size_t kStretch = 4096;

struct CutPair {
    std::vector<std::int64_t> source, target;
};

std::vector<std::int64_t> cut_line(const std::string& line, const Vocabulary& vocabulary,
                                   const Dataset& dataset, std::size_t index) {
    try {
        return vocabulary.encode(line);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", dataset.name(index), error.what()));
    }
}

// The pairs first, first + 1, … Where several fail, the first is told.
void cut_stretch(const Dataset& dataset, const Vocabulary& vocabulary, std::size_t first,
                 std::span<CutPair> pairs, std::size_t threads) {
    std::vector<std::exception_ptr> errors(pairs.size());
    const auto work = [&](std::size_t worker) {
        for (std::size_t i = worker; i < pairs.size(); i += threads) {
            try {
                const SentencePair text = dataset.sentences(first + i);
                pairs[i].source = cut_line(text.source, vocabulary, dataset, first + i);
                pairs[i].target = cut_line(text.target, vocabulary, dataset, first + i);
            } catch (...) {
                errors[i] = std::current_exception();
                return;
            }
        }
    };
    {
        std::vector<std::jthread> others;
        std::size_t started = 1;
        try {
            for (; started < threads; ++started) others.emplace_back(work, started);
        } catch (const std::system_error&) {
            // This one does their work.
        }
        for (std::size_t worker = started; worker < threads; ++worker) work(worker);
        work(0);
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace

EncodedPairs::EncodedPairs(const Dataset& dataset, const Vocabulary& vocabulary, int threads)
    : name_(dataset.source()), memory_(name_) {
    if (!dataset.has_sentences())
        throw Error(
            fmt::format("{}: expected sentences and their translations, as text:FOLDER has "
                        "them; found images",
                        name_));
    std::vector<CutPair> cut(std::min(kStretch, dataset.size()));
    for (std::size_t begin = 0; begin < dataset.size(); begin += kStretch) {
        const std::span<CutPair> pairs =
            std::span(cut).first(std::min(kStretch, dataset.size() - begin));
        cut_stretch(dataset, vocabulary, begin, pairs, std::size_t(std::max(threads, 1)));
        for (const CutPair& pair : pairs) {
            const std::size_t count = pair.source.size() + pair.target.size();
            // A list that grows is there twice for a moment.
            memory_.add(2 * (sizeof(lengths_[0]) + sizeof(first_[0]) + count * sizeof(pieces_[0])));
            lengths_.push_back(
                {std::int32_t(pair.source.size() + 1), std::int32_t(pair.target.size() + 1)});
            first_.push_back(pieces_.size());
            for (const auto* side : {&pair.source, &pair.target})
                for (const std::int64_t id : *side) pieces_.push_back(std::int32_t(id));
        }
    }
}

std::span<const std::int32_t> EncodedPairs::source(std::size_t index) const {
    const auto count = std::size_t(lengths_.at(index).source - 1);
    return std::span(pieces_).subspan(std::size_t(first_[index]), count);
}

std::span<const std::int32_t> EncodedPairs::target(std::size_t index) const {
    const PairLength& length = lengths_.at(index);
    return std::span(pieces_).subspan(std::size_t(first_[index]) + std::size_t(length.source - 1),
                                      std::size_t(length.target - 1));
}

EncodedPairsPtr encode_pairs(const DatasetPtr& dataset, const Vocabulary& vocabulary, int threads) {
    return std::make_shared<EncodedPairs>(*dataset, vocabulary, threads);
}

}  // namespace cait
