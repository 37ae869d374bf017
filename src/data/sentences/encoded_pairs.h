// All sentence pairs of a data set as pieces, in memory: every epoch would cut the same text again
// otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sentences/vocabulary.h"
#include "system/counted_memory.h"

namespace cait {

// Pieces of a pair, the </s> of each side included.
struct PairLength {
    std::int32_t source = 0;
    std::int32_t target = 0;
    bool operator==(const PairLength&) const = default;
};

class EncodedPairs {
public:
    // Throws Error where the data set has no sentences, where a line is refused, or where the
    // budget of memory is too small.
    EncodedPairs(const Dataset& dataset, const Vocabulary& vocabulary, int threads);

    std::size_t size() const noexcept { return lengths_.size(); }
    std::span<const PairLength> lengths() const noexcept { return lengths_; }
    // Without </s>.
    std::span<const std::int32_t> source(std::size_t index) const;
    std::span<const std::int32_t> target(std::size_t index) const;
    const std::string& name() const noexcept { return name_; }  // of the data set, for messages

private:
    std::string name_;
    CountedMemory memory_;
    std::vector<PairLength> lengths_;
    std::vector<std::uint64_t> first_;  // of each pair, in pieces_
    std::vector<std::int32_t> pieces_;  // source, target, source, …
};

using EncodedPairsPtr = std::shared_ptr<const EncodedPairs>;

EncodedPairsPtr encode_pairs(const DatasetPtr& dataset, const Vocabulary& vocabulary,
                             int threads = 1);

}  // namespace cait
