#include "serve/engine/served_translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

constexpr std::size_t kUsualPieces = 32;  // of a sentence, its end included
constexpr std::size_t kUsualBeam = TranslateWish{}.beam;

}  // namespace

ServedTranslator::ServedTranslator(const Model& model, const SessionOptions& session,
                                   std::shared_ptr<MemoryAccount> account)
    : translator_(model, session),
      pieces_(model.text() ? model.text()->kind : ""),
      outputs_{{"translation", {Shape::kBatch}, "BYTES"}, {"score", {Shape::kBatch}}},
      memory_(std::move(account)) {
    charge_memory();
}

std::size_t ServedTranslator::pieces_of(const std::string& line, const std::string& name) const {
    if (line.size() > kMostLineBytes)
        throw HttpError(413, fmt::format("{}: expected at most {} bytes, found {}", name,
                                         kMostLineBytes, line.size()));
    if (!is_utf8(line)) throw HttpError(400, name + ": expected UTF-8");
    if (line.find_first_of(std::string_view("\0\r\n", 3)) != std::string::npos)
        throw HttpError(400, name + ": expected one line without NUL");
    std::size_t pieces = 0;
    try {
        pieces = translator_.source_pieces(line);
    } catch (const Error& error) {
        throw HttpError(400, fmt::format("{}: {}", name, error.what()));
    }
    if (pieces > std::size_t(translator_.longest()))
        throw HttpError(413, fmt::format("{}: expected at most {} pieces, found {}: translate its "
                                         "sentences one by one",
                                         name, translator_.longest(), pieces));
    return pieces;
}

std::size_t ServedTranslator::units(std::size_t pieces, const TranslateWish& wish) const {
    constexpr std::size_t kUsual = kUsualPieces * kUsualBeam;
    return std::max<std::size_t>((pieces * wish.beam + kUsual - 1) / kUsual, 1);
}

std::size_t ServedTranslator::most_pieces(std::size_t pieces) const {
    constexpr std::size_t kMore = 50;  // TranslateOptions::longest
    return std::min(pieces + kMore, std::size_t(translator_.longest()));
}

TranslateOptions ServedTranslator::options(const TranslateWish& wish) const {
    return {.beam = wish.beam,
            .length_penalty = wish.length_penalty,
            .best = wish.best,
            .attention = wish.attention};
}

// As many pieces as it has, whatever the vocabulary makes of them.
std::string ServedTranslator::usual_line() const {
    const std::size_t most = std::min(kUsualPieces, std::size_t(translator_.longest()));
    std::string line;
    for (std::string longer = "a";
         longer.size() < kMostLineBytes && translator_.source_pieces(longer) <= most;
         longer += " a")
        line = longer;
    return line;
}

double ServedTranslator::measure(std::size_t units) const {
    const std::vector<std::string> lines(units, usual_line());
    TranslateOptions options = this->options({});
    options.longest = std::int64_t(kUsualPieces);
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        translator_.translate(lines, options);
        least = std::min(
            least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    charge_memory();
    return least;
}

void ServedTranslator::charge_memory() const noexcept { memory_.hold(translator_.kept_bytes()); }

}  // namespace cait::serve
