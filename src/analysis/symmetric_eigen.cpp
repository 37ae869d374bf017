#include "analysis/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/philox.h"
#include "cait/error.h"
#include "kernels/thread_pool.h"

namespace cait {

namespace {

constexpr std::size_t kEigenLanes = 8;    // sums that are independent, so that they overlap
constexpr std::size_t kFewestRows = 192;  // below that a thread is not worth its wakening

struct Tridiagonal {
    std::vector<double> diagonal;  // (size)
    std::vector<double> beside;    // (size): [k] couples k and k + 1, the last is 0
    std::vector<double> factors;   // (size): reflector k is 1 - factor v v^T, v in row k beyond k
};

// row -= a * w + b * v, and the inner product of the result with x.
double update_and_multiply(double* row, double a, const double* w, double b, const double* v,
                           const double* x, std::size_t count) {
    double sums[kEigenLanes] = {};
    std::size_t j = 0;
    for (; j + kEigenLanes <= count; j += kEigenLanes)
        for (std::size_t lane = 0; lane < kEigenLanes; ++lane) {
            const double value = row[j + lane] - (a * w[j + lane] + b * v[j + lane]);
            row[j + lane] = value;
            sums[lane] += value * x[j + lane];
        }
    double sum = std::accumulate(sums, sums + kEigenLanes, 0.0);
    for (; j < count; ++j) {
        row[j] -= a * w[j] + b * v[j];
        sum += row[j] * x[j];
    }
    return sum;
}

// Turns row k beyond its diagonal into the reflector that leaves nothing of it but one value.
// Returns that value and the reflector's factor, which is 0 where there is nothing to do.
std::pair<double, double> make_reflector(std::span<double> row) {
    double rest = 0;
    for (const double value : row.subspan(1)) rest += value * value;
    if (rest == 0) return {row[0], 0.0};
    const double length = std::sqrt(rest + row[0] * row[0]);
    const double left = row[0] > 0 ? -length : length;
    row[0] -= left;
    return {left, 2 / (rest + row[0] * row[0])};
}

// The update of one step and the product that the next one needs go over the matrix together: it
// is larger than the caches.
Tridiagonal tridiagonal_form(std::vector<double>& matrix, std::size_t size,
                             const EigenOptions& options) {
    Tridiagonal result{std::vector<double>(size), std::vector<double>(size, 0.0),
                       std::vector<double>(size, 0.0)};
    std::vector<double> v(size, 0.0), w(size, 0.0), next(size, 0.0), product(size, 0.0);
    kernels::ThreadPool pool(options.threads);
    const kernels::UsePool use(pool);
    for (std::size_t k = 0; k < size; ++k) {
        double* row = matrix.data() + k * size;
        for (std::size_t j = k; j < size; ++j) row[j] -= v[k] * w[j] + w[k] * v[j];
        result.diagonal[k] = row[k];
        const std::size_t rest = size - k - 1;
        if (rest == 0) break;
        std::tie(result.beside[k], result.factors[k]) = make_reflector({row + k + 1, rest});
        const double factor = result.factors[k];
        for (std::size_t j = k + 1; j < size; ++j) next[j] = factor == 0 ? 0 : row[j];
        const int workers = int(std::clamp<std::size_t>(rest / kFewestRows, 1,
                                                        std::size_t(std::max(1, options.threads))));
        kernels::run_workers(workers, [&](int worker) {
            const auto share = kernels::share_of(kernels::Index(rest), worker, workers);
            for (auto at = std::size_t(share.begin); at < std::size_t(share.end); ++at) {
                const std::size_t i = k + 1 + at;
                product[i] = factor * update_and_multiply(matrix.data() + i * size + k + 1, v[i],
                                                          w.data() + k + 1, w[i], v.data() + k + 1,
                                                          next.data() + k + 1, rest);
            }
        });
        double along = 0;
        for (std::size_t j = k + 1; j < size; ++j) along += product[j] * next[j];
        for (std::size_t j = k + 1; j < size; ++j) {
            v[j] = next[j];
            w[j] = product[j] - factor / 2 * along * next[j];
        }
        if (options.progress) options.progress(k + 1, size);
    }
    return result;
}

// Implicit QL with Wilkinson's shifts.
std::vector<double> tridiagonal_values(const Tridiagonal& form) {
    constexpr int kMostSteps = 60;
    std::vector<double> d = form.diagonal, e = form.beside;
    const std::size_t size = d.size();
    for (std::size_t first = 0; first < size; ++first)
        for (int step = 0;; ++step) {
            std::size_t m = first;
            for (; m + 1 < size; ++m) {
                const double scale = std::fabs(d[m]) + std::fabs(d[m + 1]);
                if (std::fabs(e[m]) <= std::numeric_limits<double>::epsilon() * scale) break;
            }
            if (m == first) break;
            if (step == kMostSteps) throw Error("eigenvalues: expected QL steps to converge");
            double g = (d[first + 1] - d[first]) / (2 * e[first]);
            double r = std::sqrt(g * g + 1);
            g = d[m] - d[first] + e[first] / (g + std::copysign(r, g));
            double s = 1, c = 1, p = 0;
            bool split = false;
            for (std::size_t i = m; i-- > first;) {
                const double f = s * e[i], b = c * e[i];
                r = std::sqrt(f * f + g * g);
                e[i + 1] = r;
                if (r == 0) {
                    d[i + 1] -= p;
                    e[m] = 0;
                    split = true;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
            }
            if (split) continue;
            d[first] -= p;
            e[first] = g;
            e[m] = 0;
        }
    std::ranges::sort(d, std::greater<>());
    return d;
}

// x = (T - value)^-1 x, by elimination with row exchanges; a pivot of zero becomes a tiny one.
void solve_shifted(const Tridiagonal& form, double value, double tiny, std::vector<double>& x) {
    const std::size_t size = x.size();
    std::vector<double> a(size), b(size, 0.0), c(size, 0.0);  // diagonal and two above it
    a[0] = form.diagonal[0] - value;
    if (size > 1) b[0] = form.beside[0];
    for (std::size_t k = 0; k + 1 < size; ++k) {
        double low = form.beside[k], diagonal = form.diagonal[k + 1] - value,
               above = form.beside[k + 1], further = 0;
        if (std::fabs(low) > std::fabs(a[k])) {
            std::swap(a[k], low);
            std::swap(b[k], diagonal);
            std::swap(c[k], above);
            std::swap(x[k], x[k + 1]);
        }
        if (a[k] == 0) a[k] = tiny;
        const double factor = low / a[k];
        a[k + 1] = diagonal - factor * b[k];
        b[k + 1] = above - factor * c[k];
        c[k + 1] = further;
        x[k + 1] -= factor * x[k];
    }
    if (a[size - 1] == 0) a[size - 1] = tiny;
    for (std::size_t k = size; k-- > 0;) {
        if (k + 1 < size) x[k] -= b[k] * x[k + 1];
        if (k + 2 < size) x[k] -= c[k] * x[k + 2];
        x[k] /= a[k];
    }
}

double length_of(const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

// Inverse iteration on the tridiagonal form, at right angles to the vectors before.
std::vector<double> tridiagonal_vector(const Tridiagonal& form, double value, double scale,
                                       const std::vector<std::vector<double>>& before) {
    constexpr int kSteps = 4;
    const double tiny = std::max(scale, std::numeric_limits<double>::min()) *
                        std::numeric_limits<double>::epsilon();
    std::vector<double> x(form.diagonal.size());
    RandomStream random(before.size(), "eigenvector");
    for (double& one : x) one = double(random.uniform()) + 0.5;
    for (int step = 0; step < kSteps; ++step) {
        if (step > 0) solve_shifted(form, value, tiny, x);
        for (const std::vector<double>& other : before) {
            const double along = std::inner_product(x.begin(), x.end(), other.begin(), 0.0);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] -= along * other[i];
        }
        const double length = length_of(x);
        for (double& one : x) one /= length;
    }
    return x;
}

// Through the reflectors back to the matrix's own axes.
void turn_back(const std::vector<double>& matrix, const Tridiagonal& form, std::vector<double>& x) {
    const std::size_t size = x.size();
    for (std::size_t k = size; k-- > 0;) {
        if (form.factors[k] == 0) continue;
        const double* v = matrix.data() + k * size;
        double along = 0;
        for (std::size_t j = k + 1; j < size; ++j) along += v[j] * x[j];
        for (std::size_t j = k + 1; j < size; ++j) x[j] -= form.factors[k] * along * v[j];
    }
}

}  // namespace

Eigen symmetric_eigen(std::vector<double> matrix, std::size_t size, const EigenOptions& options) {
    if (!std::ranges::all_of(matrix, [](double value) { return std::isfinite(value); }))
        throw Error("eigenvalues: expected a matrix of finite values");
    if (size == 0) return {};
    const Tridiagonal form = tridiagonal_form(matrix, size, options);
    Eigen result{tridiagonal_values(form), {}};
    const double scale =
        std::max(std::fabs(result.values.front()), std::fabs(result.values.back()));
    std::vector<std::vector<double>> found;
    for (std::size_t i = 0; i < std::min(options.vectors, size); ++i)
        found.push_back(tridiagonal_vector(form, result.values[i], scale, found));
    for (std::vector<double>& x : found) {
        turn_back(matrix, form, x);
        result.vectors.insert(result.vectors.end(), x.begin(), x.end());
    }
    return result;
}

}  // namespace cait
