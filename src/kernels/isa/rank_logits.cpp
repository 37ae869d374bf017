// The largest of a row of logits and what their softmax divides by, in one pass: a vocabulary has
// tens of thousands of them for every piece of every hypothesis.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kRankBlock = 16 * kWidth;  // stays in the first-level cache between the two looks

// All registers of a block, what lies beyond it being so small that it does not count.
template <class Work>
[[gnu::always_inline]] inline void for_registers(const float* x, Index count, const Work& work) {
    const Index whole = count / kWidth * kWidth, left = count - whole;
    for (Index c = 0; c < whole; c += kWidth) work(load(x + c));
    if (left > 0) work(first_lanes(load_part(x + whole, left), left, set(-3e38F)));
}

void keep_largest(const float* x, Index count, Index first, LogitRow& row) {
    for (Index i = 0; i < count; ++i) {
        const float value = x[i];
        if (row.found == row.most && !(value > row.best[row.most - 1].value)) continue;
        Index at = row.found < row.most ? row.found++ : row.most - 1;
        for (; at > 0 && row.best[at - 1].value < value; --at) row.best[at] = row.best[at - 1];
        row.best[at] = {value, std::int32_t(first + i)};
    }
}

void rank_block(const float* x, Index count, Index first, LogitRow& row) {
    Vec tops = set(-3e38F), zeros = set(0.0F);
    for_registers(
        x, count, [&](Vec v) __attribute__((always_inline)) {
            tops = max(tops, v);
            zeros += v * set(0.0F);  // not a number where a value is not finite
        });
    if (!(sum(zeros) == 0)) row.finite = false;
    const float highest = largest(tops);
    if (row.sum == 0 || highest > row.top) {
        if (row.sum > 0) row.sum *= double(exponential(set(row.top - highest))[0]);
        row.top = highest;
    }
    const Vec top = set(row.top);
    Vec total = set(0.0F);
    for_registers(
        x, count, [&](Vec v) __attribute__((always_inline)) { total += exponential(v - top); });
    row.sum += double(sum(total));
    if (row.most > 0 && (row.found < row.most || highest > row.best[row.most - 1].value))
        keep_largest(x, count, first, row);
}

}  // namespace

void rank_logits(const float* x, Index count, Index first, LogitRow& row) {
    for (Index begin = 0; begin < count; begin += kRankBlock) {
        const Index size = count - begin < kRankBlock ? count - begin : kRankBlock;
        rank_block(x + begin, size, first + begin, row);
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
