#include "evaluate/translate/bench_translate.h"

#include <algorithm>
#include <chrono>

#include "base/philox.h"
#include "base/piece_ids.h"
#include "evaluate/translate/piece_translator.h"
#include "models/catalogue.h"
#include "system/own_memory.h"

namespace cait {

namespace {

using BenchClock = std::chrono::steady_clock;

double milliseconds_since(BenchClock::time_point start) {
    return std::chrono::duration<double, std::milli>(BenchClock::now() - start).count();
}

std::vector<std::vector<std::int64_t>> made_up_sentences(const PieceTranslator& translator,
                                                         std::size_t count) {
    const std::int64_t length = std::min(kBenchPieces, translator.longest());
    const std::int64_t words = std::max<std::int64_t>(1, translator.vocabulary() - kSpecialPieces);
    RandomStream random(0, "bench sentences");
    std::vector<std::vector<std::int64_t>> sentences(count);
    for (auto& sentence : sentences) {
        while (std::int64_t(sentence.size()) + 1 < length)
            sentence.push_back(
                kSpecialPieces +
                std::min(words - 1, std::int64_t(double(random.uniform()) * double(words))));
        sentence.push_back(kEnd);
    }
    return sentences;
}

}  // namespace

TranslateBenchResult bench_translate(const Model& model, const BenchCase& with,
                                     const BenchEffort& effort) {
    TranslateBenchResult result{.model = model.spec().name, .with = with};
    const BenchClock::time_point start = BenchClock::now();
    const PieceTranslator translator(std::span(&model, 1),
                                     {.precision = with.precision, .threads = with.threads});
    result.start_ms = milliseconds_since(start);
    const auto sentences = made_up_sentences(translator, with.batch);
    const TranslateOptions options{
        .longest = kBenchPieces,
        .pieces = std::max<std::size_t>(1, with.batch) * std::size_t(kBenchPieces)};
    result.beam = options.beam;
    const auto run = [&] {
        std::size_t pieces = 0;
        for (const auto& found : translator.translate(sentences, options))
            pieces += found.front().pieces.size();
        return pieces;
    };
    const BenchClock::time_point first = BenchClock::now();
    const std::size_t pieces = run();
    result.first_ms = milliseconds_since(first);
    std::vector<double> times;
    double total = 0;
    constexpr std::size_t kLeastRuns = 3;
    while (effort.runs > 0 ? times.size() < effort.runs
                           : times.size() < kLeastRuns || total < 1000 * effort.seconds) {
        const BenchClock::time_point one = BenchClock::now();
        run();
        times.push_back(milliseconds_since(one));
        total += times.back();
    }
    std::ranges::sort(times);
    const auto at = [&](double share) {
        return times[std::min(times.size() - 1, std::size_t(share * double(times.size())))];
    };
    result.runs = times.size();
    result.mean_ms = total / double(times.size());
    result.p50_ms = at(0.5);
    result.p99_ms = at(0.99);
    result.sentences_per_second = 1000 * double(with.batch) / result.mean_ms;
    result.pieces_per_second = 1000 * double(pieces) / result.mean_ms;
    constexpr double kMebi = 1024 * 1024;
    result.kept_mib = double(translator.kept_bytes()) / kMebi;
    result.peak_mib = double(own_memory("VmHWM")) / kMebi;
    return result;
}

}  // namespace cait
