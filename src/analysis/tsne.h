// t-SNE (van der Maaten & Hinton 2008): points in a plane whose neighbours are those of the
// vectors. Exact: all pairs are looked at, no tree approximates them, so it is for thousands of
// points, not for millions (figure 2.5 of Touvron's thesis).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evaluate/vectors.h"
#include "system/cpu_limit.h"

namespace cait {

namespace kernels {
class ThreadPool;
}

inline constexpr std::size_t kMostTsnePoints = 5000;

// A place in the plane.
using PlanePoint = std::array<double, 2>;

// How the points are moved; the numbers are scikit-learn's.
struct TsneOptions {
    double perplexity = 30;  // about this many neighbours count for each point
    std::size_t iterations = 1000;
    std::size_t exploring = 250;  // of them, with exaggeration
    double rate = 0;              // of descent; 0: a 48th of the number of points, at least 50
    int threads = default_threads();
    std::function<void(std::size_t done, std::size_t total)> progress = {};
};

struct Tsne {
    std::vector<PlanePoint> points;
    double divergence = 0;  // Kullback-Leibler, of what is in the plane from what should be
    std::size_t iterations = 0;
};

// Starts from the first two principal components, so nothing is random; neither the number of
// threads nor the processor's vectors change the order of a sum. Throws Error, opening with
// `source`, for values that are not finite or more than kMostTsnePoints vectors, UsageError where
// the perplexity does not fit their number.
Tsne tsne(const Vectors& vectors, const std::string& source, const TsneOptions& options);

// The parts of it, for tests and for callers with a start of their own.

// (rows, rows): how near every two vectors are, symmetric, 0 on the diagonal, 1 in all. The width
// of each vector's neighbourhood is searched so that its distribution has the perplexity.
std::vector<float> tsne_affinities(const Vectors& vectors, double perplexity, int threads);

class TsnePlane {
public:
    // `affinities` must outlive it.
    TsnePlane(std::span<const float> affinities, std::vector<PlanePoint> start, int threads);
    ~TsnePlane();
    TsnePlane(const TsnePlane&) = delete;
    TsnePlane& operator=(const TsnePlane&) = delete;

    // Of the divergence with affinities that are `exaggeration` times as large.
    std::vector<PlanePoint> gradient(double exaggeration) const;
    double divergence() const;
    // Two phases: exaggerated by 12, then as it is, each until the divergence falls no more.
    // Returns the number of iterations.
    std::size_t optimise(const TsneOptions& options);

    const std::vector<PlanePoint>& points() const { return points_; }

private:
    class Phase;
    void for_shares(const std::function<void(std::size_t begin, std::size_t end)>& work) const;

    std::span<const float> affinities_;
    std::vector<PlanePoint> points_;
    std::unique_ptr<kernels::ThreadPool> pool_;
};

}  // namespace cait
