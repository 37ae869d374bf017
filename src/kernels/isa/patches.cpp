// Gathers the patches under a convolution's kernel into the rows of a product's left-hand side.
#include "kernels/isa/isa.h"
#include "kernels/isa/quantize.h"
#include "kernels/isa/vec.h"
#include "kernels/isa/window.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

// Size to 2 * Size floats as the first Size and the last Size of them.
template <int Size>
[[gnu::always_inline]] inline void copy_ends(const float* from, Index count, float* to) {
    float first[Size], last[Size];
    std::memcpy(first, from, sizeof first);
    std::memcpy(last, from + count - Size, sizeof last);
    std::memcpy(to, first, sizeof first);
    std::memcpy(to + count - Size, last, sizeof last);
}

// The last register overlaps the one before it: no loop over what is left.
template <class T>
[[gnu::always_inline]] inline void copy_run(const float* from, Index count, T* to) {
    if (count >= kWidth) {
        Index i = 0;
        for (; i + kWidth <= count; i += kWidth) store(to + i, load(from + i));
        if (i < count) store(to + count - kWidth, load(from + count - kWidth));
        return;
    }
    if constexpr (sizeof(T) == sizeof(float)) {
        if (kWidth > 8 && count >= 8) return copy_ends<8>(from, count, to);
        if (count >= 4) return copy_ends<4>(from, count, to);  // the rows of a 7×7 kernel
        for (Index i = 0; i < count; ++i) to[i] = from[i];
    } else {
        store_part(to, load_part(from, count), count);
    }
}

[[gnu::always_inline]] inline void copy_run(const std::uint8_t* from, Index count,
                                            std::uint8_t* to) {
    std::memcpy(to, from, std::size_t(count));
}

// From values of type From to a left-hand side of type T.
template <class From, class T>
class Gather {
public:
    Gather(const PatchArgs& args, const From* image) : p_(args), image_(image) {}

    void run() {
        const Index k = p_.channels * p_.kernel_height * p_.kernel_width;
        const Index padded = lhs_ld(p_.to.format, k);
        T* to = static_cast<T*>(p_.to.data);
        Index row = p_.first / p_.out_width, column = p_.first % p_.out_width;
        for (Index i = 0; i < p_.count; ++i, to += p_.to.ld) {
            const Index top = row * p_.stride - p_.padding_top;
            const Index left = column * p_.stride - p_.padding_left;
            if (p_.channel_step == 1)
                channels_last(top, left, to);
            else
                planes(top, left, to);
            if constexpr (sizeof(T) == 1)
                end_row(to, k, p_.to.ld, p_.range.zero, p_.range.scale);
            else
                clear_run(to + k, padded - k);
            if (++column == p_.out_width) {
                column = 0;
                ++row;
            }
        }
    }

private:
    void clear_run(T* to, Index count) const {
        const int zero = sizeof(T) == 1 ? p_.range.zero : 0;
        if (count > 0) std::memset(to, zero, std::size_t(count) * sizeof(T));
    }

    // (ky, kx, c): what one row of the kernel sees lies in one run.
    void channels_last(Index top, Index left, T* to) {
        const Index channels = p_.channels, across = p_.kernel_width * channels;
        const Inside rows(top, p_.height, p_.kernel_height);
        const Inside columns(left, p_.width, p_.kernel_width);
        const Index width = columns.to - columns.from;
        clear_run(to, rows.from * across);
        for (Index ky = rows.from; ky < rows.to; ++ky) {
            const From* from =
                image_ + (top + ky) * p_.row_step + (left + columns.from) * p_.column_step;
            T* row = to + ky * across;
            clear_run(row, columns.from * channels);
            if (p_.column_step == channels)
                copy_run(from, width * channels, row + columns.from * channels);
            else
                for (Index i = 0; i < width; ++i)
                    copy_run(from + i * p_.column_step, channels,
                             row + (columns.from + i) * channels);
            clear_run(row + columns.to * channels, (p_.kernel_width - columns.to) * channels);
        }
        clear_run(to + rows.to * across, (p_.kernel_height - rows.to) * across);
    }

    // (c, ky, kx), from planes of one channel each.
    void planes(Index top, Index left, T* to) {
        const Index across = p_.kernel_width, area = p_.kernel_height * across;
        const Inside rows(top, p_.height, p_.kernel_height), columns(left, p_.width, across);
        const bool whole = columns.to - columns.from == across;
        for (Index c = 0; c < p_.channels; ++c, to += area) {
            const From* plane = image_ + c * p_.channel_step + left;
            clear_run(to, rows.from * across);
            for (Index ky = rows.from; ky < rows.to; ++ky) {
                const From* from = plane + (top + ky) * p_.row_step;
                T* row = to + ky * across;
                if (!whole) clear_run(row, across);
                copy_run(from + columns.from, columns.to - columns.from, row + columns.from);
            }
            clear_run(to + rows.to * across, (p_.kernel_height - rows.to) * across);
        }
    }

    const PatchArgs& p_;
    const From* image_;
};

}  // namespace

void gather_patches(const PatchArgs& args) {
    if (args.to.format == Format::s8)
        return Gather<std::uint8_t, std::uint8_t>(args, args.quantized).run();
    with_type(args.to.format, [&](auto* type) {
        Gather<float, std::remove_pointer_t<decltype(type)>>(args, args.image).run();
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
