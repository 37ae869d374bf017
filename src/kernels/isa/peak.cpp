// The roof of the products: multiply-adds that wait for nothing but each other.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

double multiply_adds(Index rounds, float* sink) {
    // Two units with a latency of 4 or 5 cycles need 10 sums at once; with both factors, 14 of
    // AVX2's 16 registers.
    constexpr int kSums = 12;
    Vec sums[kSums];
    // From memory: the compiler would compute sums that it knows the start of.
    for (int i = 0; i < kSums; ++i) sums[i] = set(*sink + 0.1F * float(i));
    const Vec factor = set(0.999F);
    const Vec addend = set(0.001F);  // every sum tends to 1
    for (Index round = 0; round < rounds; ++round)
        for (Vec& one : sums) one = one * factor + addend;
    Vec total = sums[0];
    for (int i = 1; i < kSums; ++i) total += sums[i];
    *sink = sum(total);
    return 2.0 * kSums * kWidth * double(rounds);
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
