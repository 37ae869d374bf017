#include "evaluate/text_scores.h"

#include <cmath>

#include "cait/error.h"
#include "evaluate/byte_stream.h"
#include "evaluate/scores.h"

namespace cait {

namespace {

constexpr std::uint64_t kTextFormat = 0x3173'6563'6569'7074;  // "tpieces1"

}  // namespace

void TextScores::add_pieces(std::uint64_t sentences, std::uint64_t pieces, double loss) {
    sentences_ += sentences;
    pieces_ += pieces;
    loss_sum_ += loss;
}

std::int64_t TextScores::add(std::size_t /*index*/, std::span<const float> /*logits*/,
                             std::span<const std::int64_t> /*labels*/) {
    throw Error("metrics: expected pieces of sentences, found an image with classes");
}

double TextScores::loss() const { return pieces_ == 0 ? 0 : loss_sum_ / double(pieces_); }

double TextScores::perplexity() const { return std::exp(loss()); }

Scores TextScores::scores() const {
    return {make_score("perplexity", perplexity()), make_score("loss", loss())};
}

std::vector<ShownScore> TextScores::shown() const {
    std::vector<ShownScore> list;
    for (Score& score : scores()) list.push_back({std::move(score)});
    list[1].remark = "(mean over the pieces)";
    list.push_back({count_score("pieces", pieces_)});
    return list;
}

std::vector<std::byte> TextScores::pack() const {
    ByteWriter out;
    out.put(kTextFormat);
    out.put(sentences_);
    out.put(pieces_);
    out.put(loss_sum_);
    return out.take();
}

void TextScores::merge_packed(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kTextFormat) PackedReader::fail();
    const auto sentences = in.get<std::uint64_t>(), pieces = in.get<std::uint64_t>();
    const auto loss = in.get<double>();
    if (!in.empty()) PackedReader::fail();
    add_pieces(sentences, pieces, loss);
}

}  // namespace cait
