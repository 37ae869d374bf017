// The roof of int8 products: what dot_quads() does when it waits for nothing.
#include "kernels/isa/isa.h"
#include "kernels/isa/quads.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// The same value, which the compiler takes for a new one: it would multiply equal ones once.
[[gnu::always_inline]] inline void renew(BitVec& v) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));  // NOLINT(hicpp-no-assembler): emits nothing
#else
    asm volatile("" : "+w"(v));  // NOLINT(hicpp-no-assembler)
#endif
}
template <class Quad>
[[gnu::always_inline]] inline void renew(Quad& quad) {
    renew(quad.even);
    renew(quad.odd);
}

}  // namespace

double multiply_bytes(Index rounds, float* sink) {
    constexpr int kSums = kLeftBytes == 4 ? 12 : 8;  // as registers allow
    IntVec sums[kSums] = {};
    // Ones, unless the last result were negative, which the compiler does not know.
    std::uint8_t ones[4];
    std::memset(ones, *sink < 0 ? 2 : 1, sizeof ones);
    std::byte memory[kLeftBytes];
    const LeftQuad a = left_quad(left_block(ones, 4, 1, 4, memory).data);
    RightQuad b = right_quad(BitVec{} + 0x01010101U);
    for (Index round = 0; round < rounds; ++round)
        for (IntVec& one : sums) {
            renew(b);
            one = dot_quads(one, a, b);
        }
    BitVec total{};  // which may overflow
    for (const IntVec& one : sums) total += BitVec(one);
    double lanes = 0;
    for (int i = 0; i < kWidth; ++i) lanes += total[i];
    *sink = float(lanes);
    return 2.0 * 4 * kSums * kWidth * double(rounds);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
