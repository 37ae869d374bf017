#include "serve/engine/translation_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "serve/http/message.h"

namespace cait::serve {

TranslationWork::TranslationWork(const ServedTranslator& of, const TranslateWish& wish,
                                 std::vector<std::string> lines)
    : of_(of), wish_(wish), lines_(std::move(lines)), found_(lines_.size()) {
    constexpr std::size_t kMost = ServedTranslator::kMostLines;
    if (lines_.empty()) throw HttpError(400, "text: expected a line, found none");
    if (lines_.size() > kMost)
        throw HttpError(413, fmt::format("text: expected at most {} lines in a request, found {}",
                                         kMost, lines_.size()));
    std::size_t all = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const std::string name = lines_.size() == 1 ? "text" : fmt::format("line {}", i + 1);
        pieces_.push_back(of_.pieces_of(lines_[i], name));
        all += pieces_.back();
        if (all > ServedTranslator::kMostPieces)
            throw HttpError(413, fmt::format("{}: expected at most {} pieces in all lines of a "
                                             "request, found {} or more",
                                             name, ServedTranslator::kMostPieces, all));
    }
}

std::size_t TranslationWork::units() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < lines(); ++i) all += units(i);
    return all;
}

// Of each piece its text, twice, and its score; of each translation the attention.
std::uint64_t TranslationWork::result_bytes() const {
    constexpr std::uint64_t kTranslation = 512, kPiece = 128;
    std::uint64_t bytes = 0;
    for (const std::size_t source : pieces_) {
        const std::uint64_t target = of_.most_pieces(source);
        bytes += wish_.best * (kTranslation + kPiece * target);
        if (wish_.attention)
            bytes += wish_.best * (sizeof(float) * target * source + kPiece * source);
    }
    return bytes;
}

// The longest of them, which take most.
std::uint64_t TranslationWork::bytes_to_translate(std::size_t units_together) const {
    std::vector<std::size_t> longest = pieces_;
    std::ranges::sort(longest, std::greater{});
    std::size_t count = 0, together = 0;
    while (count < longest.size() && together < units_together)
        together += of_.units(longest[count++], wish_);
    return of_.translator().bytes_to_translate(count, longest.front(), of_.options(wish_));
}

void TranslationWork::translate(std::span<const Part> parts, const std::function<bool()>& stop) {
    std::vector<std::string> lines;
    for (const Part& part : parts) {
        const auto begin = part.of->lines_.begin() + std::ptrdiff_t(part.first);
        lines.insert(lines.end(), begin, begin + std::ptrdiff_t(part.count));
    }
    const TranslationWork& first = *parts.front().of;
    TranslateOptions options = first.of_.options(first.wish_);
    options.stop = stop;
    std::vector<std::vector<Translation>> all = first.of_.translator().translate(lines, options);
    first.of_.charge_memory();
    auto from = all.begin();
    for (const Part& part : parts) {
        const auto to = part.of->found_.begin() + std::ptrdiff_t(part.first);
        std::move(from, from + std::ptrdiff_t(part.count), to);
        from += std::ptrdiff_t(part.count);
    }
}

}  // namespace cait::serve
