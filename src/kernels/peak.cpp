#include "kernels/peak.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "kernels/dispatch.h"
#include "kernels/parallel.h"

namespace cait::kernels {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// work(worker) returns the units that it did. Units per second of the best run.
double best_rate(int threads, double seconds, const std::function<double(int)>& work) {
    std::vector<double> done(std::size_t(threads), 0.0);
    double best = 0;
    const Clock::time_point start = Clock::now();
    do {
        const Clock::time_point begin = Clock::now();
        run_workers(threads, [&](int worker) { done[std::size_t(worker)] = work(worker); });
        best = std::max(best, std::accumulate(done.begin(), done.end(), 0.0) /
                                  std::max(seconds_since(begin), 1e-9));
    } while (seconds_since(start) < seconds);
    return best;
}

using Arithmetic = double (*)(Index rounds, float* sink);

Arithmetic arithmetic_of(const PeakKind& kind) {
    if (kind.format == Format::f32) return best_kernels().multiply_adds;
    const bool tiles = kind.isa == Isa::amx;
    if (kind.format == Format::s8)
        return tiles ? int8_tile_products : best_kernels().multiply_bytes;
    return tiles ? bf16_tile_products : bf16_dot_products;
}

// Pages are touched first by the thread that uses them, which places them near it.
std::vector<std::unique_ptr<std::byte[]>> blocks_of(int threads, std::size_t bytes_each) {
    std::vector<std::unique_ptr<std::byte[]>> blocks;
    for (int i = 0; i < threads; ++i)
        blocks.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes_each));
    run_workers(threads,
                [&](int worker) { std::memset(blocks[std::size_t(worker)].get(), 1, bytes_each); });
    return blocks;
}

typedef std::uint64_t Lanes __attribute__((vector_size(16)));
constexpr std::size_t kStep = 8 * sizeof(Lanes);  // 128 bytes: two cache lines

std::size_t bytes_each(int threads, std::size_t bytes) {
    return std::max(bytes / std::size_t(threads) / kStep, std::size_t{1}) * kStep;
}

std::uint64_t read_all(const std::byte* from, std::size_t bytes) {
    Lanes sums[8] = {};
    for (std::size_t i = 0; i < bytes; i += kStep)
        for (std::size_t lane = 0; lane < 8; ++lane) {
            Lanes value;
            std::memcpy(&value, from + i + lane * sizeof value, sizeof value);
            sums[lane] += value;
        }
    for (std::size_t lane = 1; lane < 8; ++lane) sums[0] += sums[lane];
    return sums[0][0] + sums[0][1];
}

}  // namespace

std::vector<PeakKind> peak_kinds() {
    const Isa vectors = has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::portable;
    std::vector<PeakKind> kinds{{Format::f32, vectors}};
    if (has_avx512_bf16()) kinds.push_back({Format::bf16, Isa::avx512_bf16});
    if (has_amx()) kinds.push_back({Format::bf16, Isa::amx});
    kinds.push_back({Format::s8, std::min(used_isa(), Isa::avx512_vnni)});
    if (has_amx()) kinds.push_back({Format::s8, Isa::amx});
    return kinds;
}

double measure_peak(const PeakKind& kind, int threads, double seconds) {
    const Arithmetic run = arithmetic_of(kind);
    std::vector<float> sinks(std::size_t(threads), 0.0F);
    // Short enough for some runs between a neighbour's time slices, long enough to hide the start
    // of the threads.
    constexpr double kRunSeconds = 0.004;
    Index rounds = 1000;
    for (double took = 0; took < kRunSeconds;) {
        const Clock::time_point start = Clock::now();
        run(rounds, sinks.data());
        took = seconds_since(start);
        if (took < kRunSeconds) rounds *= 2;
    }
    return best_rate(threads, seconds,
                     [&](int worker) { return run(rounds, &sinks[std::size_t(worker)]); }) *
           1e-9;
}

double measure_read(int threads, std::size_t bytes, double seconds) {
    const std::size_t each = bytes_each(threads, bytes);
    const auto blocks = blocks_of(threads, each);
    std::vector<std::uint64_t> sinks(std::size_t(threads), 0);
    return best_rate(threads, seconds,
                     [&](int worker) {
                         const auto i = std::size_t(worker);
                         sinks[i] += read_all(blocks[i].get(), each);
                         return double(each);
                     }) *
           1e-9;
}

double measure_copy(int threads, std::size_t bytes, double seconds) {
    const std::size_t each = bytes_each(threads, bytes / 2);
    const auto from = blocks_of(threads, each);
    const auto to = blocks_of(threads, each);
    return best_rate(threads, seconds,
                     [&](int worker) {
                         const auto i = std::size_t(worker);
                         std::memcpy(to[i].get(), from[i].get(), each);
                         return 2.0 * double(each);
                     }) *
           1e-9;
}

}  // namespace cait::kernels
