// Values of a whole image as bytes with one scale.
#include "kernels/isa/quantize.h"

#include "kernels/isa/isa.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

[[gnu::always_inline]] inline Vec load_count(const float* from, Index count) {
    return count == kWidth ? load(from) : load_part(from, count);
}

}  // namespace

float greatest(const float* x, Index count) {
    Vec most = set(0.0F), finite = set(0.0F);
    for_registers(
        count, [&](Index i, Index lanes) __attribute__((always_inline)) {
            const Vec v = load_count(x + i, lanes);
            most = max(absolute(v), most);
            finite += v * set(0.0F);
        });
    return largest(most) + sum(finite);
}

void quantize(const float* x, Index rows, Index columns, const ByteRange& range,
              const MutableRows& to) {
    for (Index r = 0; r < rows; ++r, x += columns) {
        auto* bytes = static_cast<std::uint8_t*>(to.data) + r * to.ld;
        for_registers(
            columns, [&](Index c, Index count) __attribute__((always_inline)) {
                store_bytes(bytes + c, load_count(x + c, count) * set(range.inverse), range.zero,
                            count);
            });
        end_row(bytes, columns, to.ld, range.zero, range.scale);
    }
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
