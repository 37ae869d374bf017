#include "data/sentences/text_statistics.h"

#include <algorithm>
#include <vector>

#include "data/text_lines.h"

namespace cait {

namespace {

class SideCount {
public:
    void add(const std::string& line) {
        words_.push_back(std::int64_t(words_of(line).size()));
        bytes_.push_back(std::int64_t(line.size()));
    }
    SideStatistics result() {
        SideStatistics side;
        for (const std::int64_t count : words_) side.all_words += count;
        for (const std::int64_t count : bytes_) side.all_bytes += count;
        side.words = range_of(words_);
        side.bytes = range_of(bytes_);
        return side;
    }

private:
    std::vector<std::int64_t> words_, bytes_;
};

}  // namespace

TextStatistics text_statistics(const Dataset& dataset) {
    SideCount source, target;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
        const SentencePair pair = dataset.sentences(i);
        source.add(pair.source);
        target.add(pair.target);
    }
    return {dataset.size(), source.result(), target.result()};
}

}  // namespace cait
