#include "evaluate/translate/piece_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/piece_ids.h"
#include "cait/error.h"
#include "kernels/dispatch.h"
#include "kernels/operand.h"

namespace cait {

namespace {

using kernels::Index;
using kernels::LogitRow;
using kernels::RankedLogit;

constexpr Index kColumnCut = 96;           // that a packed matrix can be cut at, see ProductArgs
constexpr Index kRowsTogether = 128;       // of a block of logits, which then fits a cache
constexpr Index kBlockLogits = 128 * 192;  // of it, about
constexpr Index kMeanLogits = Index{1} << 21;  // of several models at a time, a few rows' worth

[[noreturn]] void throw_not_finite(const TextEngine& engine) {
    throw Error(fmt::format("{}: expected finite logits, found others", engine.name()));
}

Index columns_of_block(Index rows) {
    const Index columns = kBlockLogits / std::clamp<Index>(rows, 1, kRowsTogether);
    return std::clamp<Index>(columns / kColumnCut, 1, 16) * kColumnCut;
}

Index mean_ld(Index vocabulary) { return kernels::round_up(vocabulary, 16); }

// Rows from `row` on of a left-hand side.
kernels::Lhs from_row(kernels::Lhs lhs, Index row) {
    lhs.data =
        static_cast<const std::byte*>(lhs.data) + row * lhs.row_step * kernels::size_of(lhs.format);
    return lhs;
}

// Without kPad, the largest first, of equals the one with the lower number.
void write_best(std::vector<RankedLogit>& ranked, double log_sum, std::span<NextPiece> best) {
    std::ranges::stable_sort(ranked, std::greater<>(), &RankedLogit::value);
    std::size_t count = 0;
    for (const RankedLogit& one : ranked)
        if (one.index != kPad && count < best.size())
            best[count++] = {one.index, double(one.value) - log_sum};
}

}  // namespace

void PieceRanking::rank(std::span<const Decoded> models, Index rows, std::size_t most,
                        NextPieces& next) {
    const Index vocabulary = models.front().engine->network().vocabulary;
    next.most = std::min(most, std::size_t(vocabulary) - 1);
    next.best.resize(std::size_t(rows) * next.most);
    next.end.resize(std::size_t(rows));
    const EngineShare& share = models.front().engine->share();
    const kernels::UsePool use(*share.pool);
    if (models.size() == 1)
        rank_one(models.front(), rows, next);
    else
        rank_mean(models, rows, next);
}

kernels::Lhs PieceRanking::stage(const Decoded& model, Index rows) {
    const Index dim = model.engine->network().dim;
    const kernels::Format format = model.engine->format();
    return kernels::staged(format, kernels::rows_of(model.x, dim), rows, dim,
                           staged_.grow(kernels::lhs_bytes(format, rows, dim)));
}

// Each worker has some of the columns. What it finds of a row goes into the worker's own LogitRow.
void PieceRanking::rank_one(const Decoded& model, Index rows, NextPieces& next) {
    const TextEngine& engine = *model.engine;
    const Index vocabulary = engine.network().vocabulary, dim = engine.network().dim;
    const Index columns = columns_of_block(rows);
    const Index blocks = (vocabulary + columns - 1) / columns;
    const int workers = int(std::min<Index>(blocks, engine.share().threads));
    const std::size_t kept = next.most + 1;  // kPad may be among them
    found_.assign(std::size_t(workers * rows), LogitRow());
    ranked_.resize(found_.size() * kept);
    for (std::size_t i = 0; i < found_.size(); ++i)
        found_[i] = {.best = ranked_.data() + i * kept, .most = Index(kept)};
    struct Memory {
        float* logits;
        std::byte* scratch;
    };
    const kernels::PerWorker memory(parts_, workers, [&](kernels::Arena& arena) {
        return Memory{arena.floats(std::min(rows, kRowsTogether) * columns),
                      arena.take(kernels::product_scratch(dim))};
    });
    const kernels::Lhs x = stage(model, rows);
    const kernels::KernelTable& kernels = kernels::best_kernels();
    const kernels::ProductKernels& products = kernels::products(engine.format());
    kernels::run_workers(workers, [&](int worker) {
        const kernels::Share share = kernels::share_of(blocks, worker, workers);
        const Memory m = memory(worker);
        for (Index block = share.begin; block < share.end; ++block) {
            const Index column = block * columns, width = std::min(columns, vocabulary - column);
            for (Index row = 0; row < rows; row += kRowsTogether) {
                const Index count = std::min(kRowsTogether, rows - row);
                products.multiply({.m = count,
                                   .n = width,
                                   .k = dim,
                                   .a = from_row(x, row),
                                   .b = engine.table(),
                                   .column_begin = column,
                                   .c = m.logits,
                                   .c_ld = columns,
                                   .scratch = m.scratch});
                for (Index i = 0; i < count; ++i) {
                    const float* logits = m.logits + i * columns;
                    kernels.rank_logits(logits, width, column,
                                        found_[std::size_t(worker * rows + row + i)]);
                    if (column <= kEnd && kEnd < column + width)
                        next.end[std::size_t(row + i)] = double(logits[kEnd - column]);
                }
            }
        }
    });
    std::vector<RankedLogit> all;
    for (Index row = 0; row < rows; ++row) {
        all.clear();
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        const auto part = [&](int worker) -> const LogitRow& {
            return found_[std::size_t(worker * rows + row)];
        };
        for (int worker = 0; worker < workers; ++worker) {
            if (!part(worker).finite) throw_not_finite(engine);
            top = std::max(top, double(part(worker).top));
            all.insert(all.end(), part(worker).best, part(worker).best + part(worker).found);
        }
        for (int worker = 0; worker < workers; ++worker)
            sum += part(worker).sum * std::exp(double(part(worker).top) - top);
        const double log_sum = top + std::log(sum);
        write_best(all, log_sum,
                   std::span(next.best).subspan(std::size_t(row) * next.most, next.most));
        next.end[std::size_t(row)] -= log_sum;
    }
}

void PieceRanking::add_probabilities(const Decoded& model, Index rows, bool is_first) {
    const TextEngine& engine = *model.engine;
    const Index vocabulary = engine.network().vocabulary, dim = engine.network().dim;
    const Index ld = mean_ld(vocabulary), columns = columns_of_block(rows);
    const Index blocks = (vocabulary + columns - 1) / columns;
    float* const logits = (is_first ? mean_ : logits_).floats();
    const int threads = engine.share().threads;
    const int workers = int(std::min<Index>(blocks, threads));
    const kernels::PerWorker memory(parts_, workers, [&](kernels::Arena& arena) {
        return arena.take(kernels::product_scratch(dim));
    });
    const kernels::Lhs x = stage(model, rows);
    kernels::run_workers(workers, [&](int worker) {
        const kernels::Share share = kernels::share_of(blocks, worker, workers);
        const Index begin = share.begin * columns, end = std::min(vocabulary, share.end * columns);
        kernels::products(engine.format())
            .multiply({.m = rows,
                       .n = end - begin,
                       .k = dim,
                       .a = x,
                       .b = engine.table(),
                       .column_begin = begin,
                       .c = logits + begin,
                       .c_ld = ld,
                       .scratch = memory(worker)});
    });
    found_.assign(std::size_t(rows), LogitRow());
    const kernels::KernelTable& kernels = kernels::best_kernels();
    const int by_rows = int(std::min<Index>(rows, threads));
    kernels::run_workers(by_rows, [&](int worker) {
        const kernels::Share share = kernels::share_of(rows, worker, by_rows);
        for (Index row = share.begin; row < share.end; ++row) {
            float* const at = logits + row * ld;
            kernels.rank_logits(at, vocabulary, 0, found_[std::size_t(row)]);
            kernels.softmax(at, 1, vocabulary, ld, kernels::Format::f32);
            if (!is_first) kernels.add(at, vocabulary, mean_.floats() + row * ld);
        }
    });
    for (const LogitRow& row : found_)
        if (!row.finite) throw_not_finite(engine);
}

// A softmax needs the sum over all columns before it can be averaged with others: the probabilities
// of some rows at a time are written.
void PieceRanking::rank_mean(std::span<const Decoded> models, Index rows, NextPieces& next) {
    const Index vocabulary = models.front().engine->network().vocabulary;
    const Index together = std::clamp<Index>(kMeanLogits / vocabulary, 1, rows);
    const Index ld = mean_ld(vocabulary);
    logits_.grow(together * ld * Index(sizeof(float)));
    mean_.grow(together * ld * Index(sizeof(float)));
    ranked_.resize(next.most + 1);
    const auto log_mean = [&](double sum) {
        return std::log(std::max(sum, double(std::numeric_limits<float>::min())) /
                        double(models.size()));
    };
    for (Index first = 0; first < rows; first += together) {
        const Index count = std::min(together, rows - first);
        for (const auto& [engine, x] : models)
            add_probabilities({engine, x + first * engine->network().dim}, count,
                              engine == models.front().engine);
        for (Index row = 0; row < count; ++row) {
            const float* const sums = mean_.floats() + row * ld;
            LogitRow best{.best = ranked_.data(), .most = Index(ranked_.size())};
            kernels::best_kernels().rank_logits(sums, vocabulary, 0, best);
            std::vector<RankedLogit> all(best.best, best.best + best.found);
            const auto to = std::size_t(first + row);
            const auto written = std::span(next.best).subspan(to * next.most, next.most);
            write_best(all, 0, written);
            for (NextPiece& one : written) one.log_probability = log_mean(one.log_probability);
            next.end[to] = log_mean(double(sums[kEnd]));
        }
    }
}

std::uint64_t PieceRanking::bytes() const {
    return std::uint64_t(staged_.size() + parts_.size() + logits_.size() + mean_.size()) +
           found_.size() * sizeof(LogitRow) + ranked_.size() * sizeof(RankedLogit);
}

}  // namespace cait
