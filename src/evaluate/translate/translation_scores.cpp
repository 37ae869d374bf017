#include "evaluate/translate/translation_scores.h"

#include "cait/error.h"
#include "evaluate/byte_stream.h"
#include "evaluate/scores.h"
#include "evaluate/translate/tokenize_13a.h"

namespace cait {

namespace {

constexpr std::uint64_t kTranslationsFormat = 0x3173'6e61'7274'7874;  // "txtrans1"

// Sums of all kinds, one after the other.
template <class Visit>
void for_counts(BleuCounts& counts, const Visit& visit) {
    visit(counts.system_words);
    visit(counts.reference_words);
    for (std::size_t n = 0; n < BleuCounts::kOrders; ++n) {
        visit(counts.all[n]);
        visit(counts.right[n]);
    }
}
template <class Visit>
void for_counts(ChrfCounts& counts, const Visit& visit) {
    for (std::size_t n = 0; n < ChrfCounts::kOrders; ++n) {
        visit(counts.system[n]);
        visit(counts.reference[n]);
        visit(counts.right[n]);
    }
}

template <class Counts>
void put_counts(ByteWriter& out, Counts counts) {
    for_counts(counts, [&](std::uint64_t value) { out.put(value); });
}
template <class Counts>
Counts read_counts(PackedReader& in) {
    Counts counts;
    for_counts(counts, [&](std::uint64_t& value) { value = in.get<std::uint64_t>(); });
    return counts;
}

}  // namespace

void TranslationScores::add_translation(const Pair& pair) {
    ++sentences_;
    plain_.add(count_ngrams_13a(pair.text, pair.reference));
    tokenised_.add(count_ngrams(pair.tokens, pair.reference_tokens));
    split_.add(count_ngrams(split_compounds(pair.tokens), split_compounds(pair.reference_tokens)));
    characters_.add(count_characters(pair.text, pair.reference));
}

std::int64_t TranslationScores::add(std::size_t /*index*/, std::span<const float> /*logits*/,
                                    std::span<const std::int64_t> /*labels*/) {
    throw Error("metrics: expected translations, found an image with classes");
}

double TranslationScores::bleu() const { return cait::bleu(plain_, BleuSmoothing::exponential); }
double TranslationScores::chrf() const { return cait::chrf(characters_); }
double TranslationScores::tokenised_bleu() const {
    return cait::bleu(tokenised_, BleuSmoothing::none);
}
double TranslationScores::split_bleu() const { return cait::bleu(split_, BleuSmoothing::none); }

Scores TranslationScores::scores() const {
    return {make_score("bleu", bleu()),
            make_score("chrf", chrf()),
            make_score("perplexity", pieces_.perplexity()),
            make_score("loss", pieces_.loss()),
            make_score("bleu_tokenised", tokenised_bleu()),
            make_score("bleu_split", split_bleu())};
}

std::vector<ShownScore> TranslationScores::shown() const {
    std::vector<ShownScore> list;
    for (Score& score : scores()) list.push_back({std::move(score)});
    list[0].remark = std::string(kBleuSignature);
    list[1].remark = std::string(kChrfSignature);
    list[2].remark = "of a piece of the references";
    list.push_back({count_score("pieces", pieces_.pieces())});
    return list;
}

std::vector<std::byte> TranslationScores::pack() const {
    ByteWriter out;
    out.put(kTranslationsFormat);
    out.put(sentences_);
    for (const BleuCounts& counts : {plain_, tokenised_, split_}) put_counts(out, counts);
    put_counts(out, characters_);
    out.put(pieces_.images());
    out.put(pieces_.pieces());
    out.put(pieces_.loss() * double(pieces_.pieces()));
    return out.take();
}

void TranslationScores::merge_packed(std::span<const std::byte> bytes) {
    PackedReader in(bytes);
    if (in.get<std::uint64_t>() != kTranslationsFormat) PackedReader::fail();
    const auto sentences = in.get<std::uint64_t>();
    const auto plain = read_counts<BleuCounts>(in), tokenised = read_counts<BleuCounts>(in),
               split = read_counts<BleuCounts>(in);
    const auto characters = read_counts<ChrfCounts>(in);
    const auto scored = in.get<std::uint64_t>(), pieces = in.get<std::uint64_t>();
    const auto loss = in.get<double>();
    if (!in.empty()) PackedReader::fail();
    sentences_ += sentences;
    plain_.add(plain);
    tokenised_.add(tokenised);
    split_.add(split);
    characters_.add(characters);
    pieces_.add_pieces(scored, pieces, loss);
}

}  // namespace cait
