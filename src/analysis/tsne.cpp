#include "analysis/tsne.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/principal.h"
#include "base/philox.h"
#include "cait/error.h"
#include "kernels/thread_pool.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr double kExaggeration = 12;
constexpr std::size_t kCheckEvery = 50;
constexpr std::size_t kPatience = 300;  // iterations without progress that end the second phase
constexpr double kLeastGradient = 1e-7;
constexpr double kStartSpread = 1e-4;

// Sums over all other points of one point: with n = 1 / (1 + distance²),
struct Forces {
    double pull[2] = {};  // Σ p n (here - there)
    double push[2] = {};  // Σ n² (here - there)
    double near = 0;      // Σ n
};

constexpr std::size_t kTsneLanes = 4;  // sums that are independent, so that they overlap

struct ForceLanes {
    double pull_x[kTsneLanes] = {}, pull_y[kTsneLanes] = {}, push_x[kTsneLanes] = {},
           push_y[kTsneLanes] = {}, near[kTsneLanes] = {};
};

inline void add_force(ForceLanes& sums, std::size_t lane, double p, double dx, double dy) {
    const double n = 1 / (1 + dx * dx + dy * dy);
    const double pull = p * n, push = n * n;
    sums.pull_x[lane] += pull * dx;
    sums.pull_y[lane] += pull * dy;
    sums.push_x[lane] += push * dx;
    sums.push_y[lane] += push * dy;
    sums.near[lane] += n;
}

// The point itself is among them: it pulls and pushes by nothing, and its n of 1 is taken away.
Forces forces_on(double x, double y, const float* p, const double* xs, const double* ys,
                 std::size_t count) {
    ForceLanes sums;
    std::size_t j = 0;
    for (; j + kTsneLanes <= count; j += kTsneLanes)
        for (std::size_t lane = 0; lane < kTsneLanes; ++lane)
            add_force(sums, lane, double(p[j + lane]), x - xs[j + lane], y - ys[j + lane]);
    for (; j < count; ++j) add_force(sums, 0, double(p[j]), x - xs[j], y - ys[j]);
    const auto total = [](const double* lanes) {
        return std::accumulate(lanes, lanes + kTsneLanes, 0.0);
    };
    return {{total(sums.pull_x), total(sums.pull_y)},
            {total(sums.push_x), total(sums.push_y)},
            total(sums.near) - 1};
}

// The coordinates apart, as the loops above read them.
struct Coordinates {
    std::vector<double> x, y;
    explicit Coordinates(const std::vector<PlanePoint>& points) {
        for (const PlanePoint& point : points) {
            x.push_back(point[0]);
            y.push_back(point[1]);
        }
    }
};

}  // namespace

TsnePlane::TsnePlane(std::span<const float> affinities, std::vector<PlanePoint> start, int threads)
    : affinities_(affinities),
      points_(std::move(start)),
      pool_(std::make_unique<kernels::ThreadPool>(std::max(1, threads))) {}

TsnePlane::~TsnePlane() = default;

void TsnePlane::for_shares(const std::function<void(std::size_t, std::size_t)>& work) const {
    pool_->run(pool_->threads(), [&](int worker) {
        const auto share =
            kernels::share_of(kernels::Index(points_.size()), worker, pool_->threads());
        work(std::size_t(share.begin), std::size_t(share.end));
    });
}

std::vector<PlanePoint> TsnePlane::gradient(double exaggeration) const {
    const std::size_t count = points_.size();
    const Coordinates at(points_);
    std::vector<Forces> forces(count);
    for_shares([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            forces[i] = forces_on(at.x[i], at.y[i], affinities_.data() + i * count, at.x.data(),
                                  at.y.data(), count);
    });
    double near = 0;
    for (const Forces& one : forces) near += one.near;
    std::vector<PlanePoint> result(count);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t axis = 0; axis < 2; ++axis)
            result[i][axis] =
                4 * (exaggeration * forces[i].pull[axis] - forces[i].push[axis] / near);
    return result;
}

// Σ p log(p / q) with q = n / Σ n, and the p add up to 1.
double TsnePlane::divergence() const {
    const std::size_t count = points_.size();
    std::vector<double> of_rows(count), near(count);
    for_shares([&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = 0; j < count; ++j) {
                if (j == i) continue;
                const double dx = points_[i][0] - points_[j][0], dy = points_[i][1] - points_[j][1];
                const double apart = 1 + dx * dx + dy * dy, p = affinities_[i * count + j];
                near[i] += 1 / apart;
                if (p > 0) of_rows[i] += p * std::log(p * apart);
            }
    });
    const double all = std::accumulate(near.begin(), near.end(), 0.0);
    return std::accumulate(of_rows.begin(), of_rows.end(), 0.0) + std::log(all);
}

// Gradient descent with momentum and a gain for each coordinate, which grows while the coordinate
// keeps its direction.
class TsnePlane::Phase {
public:
    Phase(TsnePlane& plane, double exaggeration, double momentum, double rate)
        : plane_(plane),
          exaggeration_(exaggeration),
          momentum_(momentum),
          rate_(rate > 0 ? rate : std::max(50.0, double(plane.points_.size()) / kExaggeration / 4)),
          moves_(plane.points_.size()),
          gains_(plane.points_.size(), PlanePoint{1, 1}) {}

    // Returns the length of the gradient.
    double step() {
        const std::vector<PlanePoint> gradient = plane_.gradient(exaggeration_);
        double squares = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i)
            for (std::size_t axis = 0; axis < 2; ++axis) {
                const double slope = gradient[i][axis];
                double &gain = gains_[i][axis], &move = moves_[i][axis];
                gain = std::max(0.01, move * slope < 0 ? gain + 0.2 : gain * 0.8);
                move = momentum_ * move - rate_ * gain * slope;
                plane_.points_[i][axis] += move;
                squares += slope * slope;
            }
        return std::sqrt(squares);
    }

private:
    TsnePlane& plane_;
    double exaggeration_, momentum_, rate_;
    std::vector<PlanePoint> moves_, gains_;
};

std::size_t TsnePlane::optimise(const TsneOptions& options) {
    std::size_t done = 0;
    for (const bool exploring : {true, false}) {
        const std::size_t end =
            exploring ? std::min(options.exploring, options.iterations) : options.iterations;
        const std::size_t patience = exploring ? options.exploring : kPatience;
        Phase phase(*this, exploring ? kExaggeration : 1, exploring ? 0.5 : 0.8, options.rate);
        double best = std::numeric_limits<double>::infinity();
        std::size_t best_at = done;
        while (done < end) {
            const double slope = phase.step();
            ++done;
            if (options.progress) options.progress(done, options.iterations);
            if (done % kCheckEvery != 0) continue;
            const double now = divergence();
            if (now < best) {
                best = now;
                best_at = done;
            } else if (done - best_at > patience) {
                break;
            }
            if (slope <= kLeastGradient) break;
        }
    }
    return done;
}

namespace {

void check(const Vectors& vectors, const std::string& source, const TsneOptions& options) {
    constexpr std::size_t kFewest = 4;
    if (vectors.rows < kFewest || vectors.rows > kMostTsnePoints)
        throw Error(fmt::format("{}: expected {} to {} images for t-SNE, found {}", source, kFewest,
                                kMostTsnePoints, vectors.rows));
    if (!(options.perplexity > 1 && options.perplexity < double(vectors.rows)))
        throw UsageError(
            fmt::format("{}: t-SNE's perplexity: expected more than 1 and less than the {} images, "
                        "found {:g}",
                        source, vectors.rows, options.perplexity));
}

// The first two principal components, small, so that nobody is torn from its neighbours. Where
// nothing varies, noise.
std::vector<PlanePoint> start_of(const Vectors& vectors, const std::string& source, int threads) {
    const Principal found =
        principal_components(vectors, source, {.threads = threads, .scores = 2});
    const double deviation =
        std::sqrt(found.variances[0] * double(vectors.rows - 1) / double(vectors.rows));
    std::vector<PlanePoint> points(vectors.rows);
    RandomStream random(0, "t-SNE start");
    for (std::size_t i = 0; i < vectors.rows; ++i)
        for (std::size_t axis = 0; axis < 2; ++axis)
            points[i][axis] = kStartSpread * (deviation > 0 ? found.scores[2 * i + axis] / deviation
                                                            : double(random.normal()));
    return points;
}

}  // namespace

Tsne tsne(const Vectors& vectors, const std::string& source, const TsneOptions& options) {
    check(vectors, source, options);
    const MemoryShare share = MemoryBudget::of_process().keep(
        vectors.rows * vectors.rows * sizeof(float), "t-SNE of " + source);
    std::vector<PlanePoint> start = start_of(vectors, source, options.threads);
    const std::vector<float> affinities =
        tsne_affinities(vectors, options.perplexity, options.threads);
    TsnePlane plane(affinities, std::move(start), options.threads);
    Tsne result;
    result.iterations = plane.optimise(options);
    result.divergence = plane.divergence();
    result.points = plane.points();
    return result;
}

}  // namespace cait
