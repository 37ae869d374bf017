#!/usr/bin/env python3
"""Prints the coefficients of the functions in src/kernels/isa/vec.h: polynomials for 2^r and quotients for the normal
distribution, each with its largest error before rounding to float32. Needs NumPy; takes about a minute."""

import math

import numpy as np


def smallest_largest_error(fit, error, points, steps):
    """Lawson's iteration: least squares whose weights grow where the error is large."""
    weights = np.full(points, 1 / points)
    best = (math.inf, None)
    for _ in range(steps):
        coefficients = fit(np.sqrt(weights))
        errors = np.abs(error(coefficients))
        if errors.max() < best[0]:
            best = (errors.max(), coefficients)
        weights *= np.sqrt(errors + 1e-3 * errors.max())
        weights /= weights.sum()
    return best


def least_squares(matrix, target, weights):
    scaled = matrix * weights[:, None]
    sizes = np.linalg.norm(scaled, axis=0)
    return np.linalg.lstsq(scaled / sizes, target * weights, rcond=1e-17)[0] / sizes


def power_of_two(degree):
    """2^r for |r| <= 1/2 as 1 + r (c1 + c2 r + …): the largest relative error."""
    r = np.cos(np.linspace(0, math.pi, 2001)) / 2
    matrix = np.stack([r**i / 2**r for i in range(1, degree + 1)], 1)
    target = 1 - 2**-r
    return smallest_largest_error(
        lambda weights: least_squares(matrix, target, weights), lambda c: matrix @ c - target, len(r), 400)


def normal_distribution(above, below, end, past):
    """Φ(x) - 1/2 as x P(x²) / (1 + x² Q(x²)) up to `end`, where it is to be about `past` too large: beyond, it is cut."""
    x = np.cos(np.linspace(0, math.pi / 2, 3001)[:-1]) * end
    u = x * x
    wanted = np.array([math.erf(v / math.sqrt(2)) / 2 for v in x]) + past * (x / end) ** 24
    matrix = np.stack([x * u**i for i in range(above + 1)] + [-wanted * u**i for i in range(1, below + 1)], 1)
    divisor = np.ones_like(x)

    def fit(weights):
        nonlocal divisor
        c = least_squares(matrix / divisor[:, None], wanted / divisor, weights)
        divisor = 1 + sum(c[above + i] * u**i for i in range(1, below + 1))
        return c

    def error(c):
        return x * sum(c[i] * u**i for i in range(above + 1)) / divisor - wanted

    return smallest_largest_error(fit, error, len(x), 3000)


if __name__ == "__main__":
    for name, (largest, coefficients) in {
        "exponential": power_of_two(6),
        "short_exponential": power_of_two(4),
        "normal_distribution": normal_distribution(5, 5, 5.5, 1.6e-7),
        "short_normal_distribution": normal_distribution(3, 3, 4.6, 3e-5),
    }.items():
        print(f"{name}: within {largest:.1e}:", *(f"{c:.8e}" for c in coefficients.astype(np.float32)))
