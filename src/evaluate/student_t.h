// Student's t distribution: how far the mean of a few measurements may be off.
#pragma once

namespace cait {

// The regularised incomplete beta function I_x(a, b); a, b > 0 and 0 <= x <= 1.
double incomplete_beta(double a, double b, double x);

// `df`: degrees of freedom, above 0.
double student_cdf(double t, double df);
double student_quantile(double probability, double df);  // 0 < probability < 1
double student_two_sided(double t, double df);           // P(|T| >= |t|)

}  // namespace cait
