// Activations of a register, for epilogues of products and for loops of their own. What is rounded
// to bfloat16 afterwards (T) may come from shorter polynomials.
#pragma once

#include "kernels/isa/vec.h"
#include "kernels/product.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

constexpr float kInverseRootTwoPi = 0.39894228F;

template <class T>
[[gnu::always_inline]] inline Vec exponential_for(Vec x) {
    if constexpr (sizeof(T) == sizeof(float))
        return exponential(x);
    else
        return short_exponential(x);
}

// GELU in its exact form x Φ(x).
template <class T>
[[gnu::always_inline]] inline Vec distribution_for(Vec x) {
    if constexpr (sizeof(T) == sizeof(float))
        return normal_distribution(x);
    else
        return short_normal_distribution(x);
}
template <class T>
[[gnu::always_inline]] inline Vec gelu_of(Vec x) {
    return x * distribution_for<T>(x);
}
struct GeluBoth {
    Vec y;
    Vec slope;
};
template <class T>
[[gnu::always_inline]] inline GeluBoth gelu_both(Vec x) {
    const Vec distribution = distribution_for<T>(x);
    const Vec bell = exponential_for<T>(x * x * set(-0.5F));
    return {x * distribution, distribution + x * bell * set(kInverseRootTwoPi)};
}

template <class T>
[[gnu::always_inline]] inline Vec sigmoid_of(Vec x) {
    const Vec below = set(1.0F) + exponential_for<T>(min(set(88.0F), -x));
    return sizeof(T) == sizeof(float) ? reciprocal(below) : short_reciprocal(below);
}

template <class T, Epilogue::Activation Kind>
[[gnu::always_inline]] inline Vec activated(Vec x) {
    using enum Epilogue::Activation;
    if constexpr (Kind == gelu) return gelu_of<T>(x);
    if constexpr (Kind == relu) return max(set(0.0F), x);  // in this order a NaN stays one
    if constexpr (Kind == silu) return x * sigmoid_of<T>(x);
    if constexpr (Kind == sigmoid) return sigmoid_of<T>(x);
    return x;
}

// Calls work with the kind as a constant of its type; gelu_backward is not among them.
template <class Work>
[[gnu::always_inline]] inline void with_activation(Epilogue::Activation kind, const Work& work) {
    using enum Epilogue::Activation;
    switch (kind) {
        case gelu: return work(std::integral_constant<Epilogue::Activation, gelu>());
        case relu: return work(std::integral_constant<Epilogue::Activation, relu>());
        case silu: return work(std::integral_constant<Epilogue::Activation, silu>());
        case sigmoid: return work(std::integral_constant<Epilogue::Activation, sigmoid>());
        default: return work(std::integral_constant<Epilogue::Activation, none>());
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
