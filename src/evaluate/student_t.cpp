#include "evaluate/student_t.h"

#include <cmath>
#include <limits>

#include "cait/error.h"

namespace cait {

namespace {

// The continued fraction of I_x(a, b) by Lentz's method (DLMF 8.17.22); converges fast where
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr int kMostSteps = 10'000;
    constexpr double kTiny = 1e-300;
    const auto bounded = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
    double c = 1;
    double d = 1 / bounded(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int m = 1; m < kMostSteps; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / bounded(1 + even * d);
        c = bounded(1 + even / c);
        result *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / bounded(1 + odd * d);
        c = bounded(1 + odd / c);
        result *= d * c;
        if (std::fabs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
    }
    return result;
}

double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                  b * std::log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double df) {
    if (!(df > 0)) throw Error("Student's t: expected degrees of freedom above 0");
    return incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double student_cdf(double t, double df) {
    const double tail = student_two_sided(t, df) / 2;
    return t > 0 ? 1 - tail : tail;
}

// Bisection of the upper tail: hardly any call has to be fast, and it cannot fail.
double student_quantile(double probability, double df) {
    if (!(probability > 0 && probability < 1))
        throw Error("Student's t: expected a probability between 0 and 1");
    if (probability == 0.5) return 0;
    const double tail = 2 * std::fmin(probability, 1 - probability);
    double low = 0, high = 1;
    while (student_two_sided(high, df) > tail) high *= 2;
    for (int i = 0; i < 200 && low < high; ++i) {
        const double middle = (low + high) / 2;
        if (middle == low || middle == high) break;
        (student_two_sided(middle, df) > tail ? low : high) = middle;
    }
    return probability < 0.5 ? -high : high;
}

}  // namespace cait
