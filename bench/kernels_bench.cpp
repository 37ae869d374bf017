// How much of the processor the matrix products use: GFLOP/s for the shapes of CaiT XXS, S and M at
// 224 pixels and of the 32-pixel model, and the share of the bare peak that was measured in the
// same run, for every number format and instruction set that this machine has. `./dev bench
// kernels`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/operand.h"
#include "kernels/parallel.h"
#include "kernels/peak.h"
#include "kernels/workspace.h"
#include "system/cpu_limit.h"
#include "system/machine.h"

namespace cait::kernels {
namespace {

using Clock = std::chrono::steady_clock;

// c [m, n] += or = a [m, k] · b [k, n], on operands that stay in a core's second-level cache.
struct ShapeCase {
    std::string model, name;
    Index m, n, k;
    bool weight_gradient = false;  // a is read transposed, sums are added to
};

std::vector<ShapeCase> shapes() {
    std::vector<ShapeCase> cases;
    const auto add = [&](const std::string& model, Index dim, Index tokens) {
        constexpr Index kRows = 256, kSlice = 192;  // as the branches cut them
        cases.push_back({model, "qkv", kRows, 3 * dim, dim});
        cases.push_back({model, "proj", kRows, dim, dim});
        cases.push_back({model, "fc1 slice", kRows, kSlice, dim});
        cases.push_back({model, "fc2 slice", kRows, dim, kSlice});
        cases.push_back({model, "dW of qkv", 3 * dim, dim, kRows, true});
        cases.push_back({model, "q·kᵀ", tokens, tokens, 48});
        cases.push_back({model, "map·v", tokens, 48, tokens});
    };
    add("32 px", 192, 64);
    add("XXS 224", 192, 196);
    add("S 224", 384, 196);
    add("M 224", 768, 196);
    return cases;
}

struct Way {
    std::string name;
    const KernelTable* table;
    const ProductKernels* products;
    double (*peak)(Index rounds, float* sink);
};

std::vector<Way> ways() {
    std::vector<Way> result;
    for (const KernelTable* table : runnable_kernels()) {
        const std::string name = table->name;
        result.push_back({"int8, " + name, table, &table->quads, table->multiply_bytes});
        if (name.ends_with("vnni")) continue;  // nothing else is its own
        if (name != "avx512_bf16") {
            result.push_back({"f32, " + name, table, &table->f32, table->multiply_adds});
            result.push_back(
                {"bf16 rounded, " + name, table, &table->rounded, table->multiply_adds});
            continue;
        }
        result.push_back({"bf16 pairs, " + name, table, &table->pairs, bf16_dot_products});
        if (!processor_has(Isa::amx)) continue;
        result.push_back({"bf16 tiles, amx", table, &table->tiles, bf16_tile_products});
        result.push_back({"int8 tiles, amx", table, &table->byte_tiles, int8_tile_products});
    }
    return result;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// work(worker, rounds) returns the operations that it did. 1e9 of them a second, in one run of some
// milliseconds by all threads.
class Rate {
public:
    Rate(int threads, std::function<double(int, Index)> work)
        : threads_(threads), work_(std::move(work)), done_(std::size_t(threads), 0.0) {
        while (quickest_of(3) < kRunSeconds) rounds_ *= 2;
    }
    double run() {
        const Clock::time_point start = Clock::now();
        run_workers(threads_,
                    [&](int worker) { done_[std::size_t(worker)] = work_(worker, rounds_); });
        took_ = seconds_since(start);
        return std::accumulate(done_.begin(), done_.end(), 0.0) / took_ * 1e-9;
    }

private:
    // One run alone may have waited for the processor and look long.
    double quickest_of(int runs) {
        double least = 1e9;
        for (int i = 0; i < runs; ++i) {
            run();
            least = std::min(least, took_);
        }
        return least;
    }

    static constexpr double kRunSeconds = 0.005;
    int threads_;
    std::function<double(int, Index)> work_;
    std::vector<double> done_;
    Index rounds_ = 1;
    double took_ = 0;
};

// One thread's operands.
struct Operands {
    Buffer source, left, right, sums, scratch;
    Lhs a;
    PackedView b;

    Operands(const Way& way, const ShapeCase& s)
        : source((s.m * s.k + s.k * s.n) * 4),
          left(lhs_bytes(way.products->format, s.m, s.k)),
          right(way.products->packed_bytes(s.k, s.n)),
          sums(s.m * s.n * 4),
          scratch(product_scratch(s.k)) {
        std::minstd_rand generator(1);
        std::uniform_real_distribution<float> uniform(-1, 1);
        float* values = source.floats();
        std::generate_n(values, s.m * s.k + s.k * s.n, [&] { return uniform(generator); });
        std::fill_n(sums.floats(), s.m * s.n, 0.0F);
        const bool across = s.weight_gradient;
        if (way.products->format == Format::f32) {
            a = {values, Format::f32, across ? 1 : s.k, across ? s.m : Index{1}};
        } else {
            const MutableRows to{left.data(), way.products->format,
                                 lhs_ld(way.products->format, s.k)};
            if (across)
                way.table->stage_transposed(rows_of(values, s.m), s.k, s.m,
                                            reinterpret_cast<BFloat16*>(left.data()));
            else
                way.table->stage(rows_of(values, s.k), s.m, s.k, 1, to);
            a = lhs_of(to);
        }
        way.products->pack(
            {.data = values + s.m * s.k, .rows = s.k, .columns = s.n, .row_step = s.n},
            right.data());
        b = {right.data(), way.products->format, way.products->layout, s.k, s.n};
    }
};

Rate peak_of(const Way& way, int threads) {
    auto sinks = std::make_shared<std::vector<float>>(std::size_t(threads) * 16, 0.0F);
    return {threads, [&way, sinks](int worker, Index rounds) {
                return way.peak(rounds * 100, &(*sinks)[std::size_t(worker) * 16]);
            }};
}

Rate rate_of(const Way& way, const ShapeCase& s, int threads) {
    auto operands = std::make_shared<std::vector<Operands>>();
    for (int i = 0; i < threads; ++i) operands->emplace_back(way, s);
    return {threads, [&way, s, operands](int worker, Index rounds) {
                const Operands& own = (*operands)[std::size_t(worker)];
                const ProductArgs args{.m = s.m,
                                       .n = s.n,
                                       .k = s.k,
                                       .a = own.a,
                                       .b = own.b,
                                       .c = own.sums.floats(),
                                       .c_ld = s.n,
                                       .accumulate = s.weight_gradient,
                                       .scratch = own.scratch.data()};
                for (Index round = 0; round < rounds; ++round) way.products->multiply(args);
                return 2.0 * double(s.m * s.n * s.k * rounds);
            }};
}

// A neighbour on the machine only ever takes time away, from the peak and from the product: the
// best run of each is what the processor can do.
void run(int threads, double seconds, const std::string& only) {
    fmt::print("{}\n\n", machine_line());
    fmt::print(
        "{} threads, runs of the bare peak and of the product in turns for {:g} s each: "
        "the best GFLOP/s, and its share of the best peak\n\n",
        threads, seconds);
    fmt::print(
        "| way | model | product | m × n × k | GFLOP/s | of peak |\n|---|---|---|---|---|---|\n");
    for (const Way& way : ways()) {
        if (way.name.find(only) == std::string::npos) continue;
        Rate peak = peak_of(way, threads);
        double roof = 0;
        std::vector<double> best;
        for (const ShapeCase& s : shapes()) {
            if (s.weight_gradient && !row_of(way.products->format).trains) {
                best.push_back(0);
                continue;
            }
            Rate rate = rate_of(way, s, threads);
            best.push_back(0);
            for (const Clock::time_point start = Clock::now(); seconds_since(start) < seconds;) {
                roof = std::max(roof, peak.run());
                best.back() = std::max(best.back(), rate.run());
            }
        }
        for (std::size_t i = 0; i < best.size(); ++i) {
            const ShapeCase s = shapes()[i];
            if (best[i] == 0) continue;  // was not measured
            fmt::print("| {} | {} | {} | {} × {} × {} | {:.0f} | {:.0f} % |\n", way.name, s.model,
                       s.name, s.m, s.n, s.k, best[i], 100 * best[i] / roof);
        }
        fmt::print("| {} | bare peak | | | {:.0f} | 100 % |\n", way.name, roof);
        std::fflush(stdout);
    }
}

}  // namespace
}  // namespace cait::kernels

int main(int argc, char** argv) {
    int threads = cait::default_threads();
    double seconds = 0.5;
    std::string only;
    CLI::App app("Measures the matrix products of this machine's kernels against its bare peak");
    app.add_option("--threads", threads)->check(CLI::PositiveNumber);
    app.add_option("--seconds", seconds, "For each shape")->check(CLI::PositiveNumber);
    app.add_option("--only", only, "Ways whose name contains this, as f32 or avx2");
    CLI11_PARSE(app, argc, argv);
    cait::kernels::run(threads, seconds, only);
}
