// Packs a right-hand side as bfloat16 pairs in tiles, and left-hand sides as rows: see Layout and
// Lhs in kernels/product.h.
#include "kernels/isa/isa.h"
#include "kernels/isa/pairs.h"
#include "kernels/isa/quantize.h"

namespace cait::kernels::CAIT_KERNEL_ISA {

namespace {

constexpr Index kPairs = 16;  // a tile holds 16 pairs along k and 16 columns

// kWidth elements from `from`, of which the first `count` exist (perhaps none).
template <class T>
[[gnu::always_inline]] inline Vec load_some(const T* from, Index count) {
    if (count >= kWidth) return load(from);
    return count <= 0 ? set(0.0F) : load_part(from, count);
}

template <class T>
class TilePacker {
public:
    TilePacker(const PackSource& source, std::uint32_t* packed)
        : s_(source), from_(static_cast<const T*>(source.data)), to_(packed) {}

    void run() {
        for (Index column = 0; column < s_.columns; column += 32)
            for (Index k = 0; k < s_.rows; k += 32, to_ += 2 * kPairs * 16)
                for (int half = 0; half < 2; ++half) {
                    std::uint32_t* tile = to_ + half * kPairs * 16;
                    if (s_.column_step == 1)
                        upright(k, column + half * 16, tile);
                    else
                        transposed(k, column + half * 16, tile);
                }
    }

private:
    // Rows of the source lie along the columns: two of them are interleaved.
    void upright(Index k, Index column, std::uint32_t* tile) {
        for (Index pair = 0; pair < kPairs; ++pair)
            for (Index c = 0; c < 16; c += kWidth)
                put(tile + pair * 16 + c, interleave(row_part(k + 2 * pair, column + c),
                                                     row_part(k + 2 * pair + 1, column + c)));
    }
    Vec row_part(Index k, Index column) const {
        if (k >= s_.rows) return set(0.0F);
        const float scale = s_.row_scale == nullptr ? s_.scale : s_.scale * s_.row_scale[k];
        return load_some(from_ + k * s_.row_step + column, s_.columns - column) * set(scale);
    }

    // Rows of the source lie along k: squares of pairs are turned.
    void transposed(Index k, Index column, std::uint32_t* tile) {
        for (Index c = 0; c < 16; c += kWidth)
            for (Index pair = 0; pair < kPairs; pair += kWidth) {
                BitVec square[kWidth];
                for (int i = 0; i < kWidth; ++i)
                    square[i] = neighbours(column_part(k + 2 * pair, column + c + i),
                                           column_part(k + 2 * pair + kWidth, column + c + i));
                transpose(square);
                for (int i = 0; i < kWidth; ++i) put(tile + (pair + i) * 16 + c, square[i]);
            }
    }
    Vec column_part(Index k, Index column) const {
        if (column >= s_.columns) return set(0.0F);
        const Index left = s_.rows - k;
        const Vec x = load_some(from_ + column * s_.column_step + k, left) * set(s_.scale);
        return s_.row_scale == nullptr ? x : x * load_some(s_.row_scale + k, left);
    }

    static void put(std::uint32_t* to, BitVec pairs) { std::memcpy(to, &pairs, sizeof pairs); }

    const PackSource& s_;
    const T* from_;
    std::uint32_t* to_;
};

template <class From, class To>
void stage_as(const Rows& from, Index rows, Index columns, float scale, const MutableRows& to) {
    const Index padded = lhs_ld(to.format, columns);
    for (Index r = 0; r < rows; ++r) {
        const From* x = static_cast<const From*>(from.data) + r * from.ld;
        To* y = static_cast<To*>(to.data) + r * to.ld;
        Index c = 0;
        for (; c + kWidth <= columns; c += kWidth) store(y + c, load(x + c) * set(scale));
        if (c == padded) continue;
        const Vec rest = load_some(x + c, columns - c) * set(scale);
        store_part(y + c, rest, columns - c);
        for (c = columns; c < padded; ++c) y[c] = To{};
    }
}

template <class From>
void stage_as_bytes(const Rows& from, Index rows, Index columns, float scale,
                    const MutableRows& to) {
    for (Index r = 0; r < rows; ++r) {
        const From* x = static_cast<const From*>(from.data) + r * from.ld;
        quantize_row(
            columns, static_cast<std::uint8_t*>(to.data) + r * to.ld,
            to.ld, [&](Index c, Index count) __attribute__((always_inline)) {
                return load_some(x + c, count) * set(scale);
            });
    }
}

}  // namespace

Index tile_bytes(Index rows, Index columns) {
    return round_up(rows, 32) * round_up(columns, 32) * 2;
}

void pack_tiles(const PackSource& source, void* packed) {
    with_type(source.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        TilePacker<T>(source, static_cast<std::uint32_t*>(packed)).run();
    });
}

void stage(const Rows& from, Index rows, Index columns, float scale, const MutableRows& to) {
    with_type(from.format, [&](auto* from_type) {
        if (to.format == Format::s8)
            return stage_as_bytes<std::remove_pointer_t<decltype(from_type)>>(from, rows, columns,
                                                                              scale, to);
        with_type(to.format, [&](auto* to_type) {
            stage_as<std::remove_pointer_t<decltype(from_type)>,
                     std::remove_pointer_t<decltype(to_type)>>(from, rows, columns, scale, to);
        });
    });
}

void stage_transposed(const Rows& from, Index rows, Index columns, BFloat16* to) {
    const Index ld = lhs_ld(Format::bf16, rows);
    with_type(from.format, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        const auto* x = static_cast<const T*>(from.data);
        const auto part = [&](Index row, Index column) {
            return row < rows ? load_some(x + row * from.ld + column, columns - column) : set(0.0F);
        };
        for (Index column = 0; column < columns; column += kWidth)
            for (Index row = 0; row < ld; row += 2 * kWidth) {
                BitVec square[kWidth];
                for (int i = 0; i < kWidth; ++i)
                    square[i] =
                        interleave(part(row + 2 * i, column), part(row + 2 * i + 1, column));
                transpose(square);
                const Index left = columns - column;
                for (int i = 0; i < kWidth && i < left; ++i)
                    std::memcpy(to + (column + i) * ld + row, &square[i], sizeof square[i]);
            }
    });
}

}  // namespace cait::kernels::CAIT_KERNEL_ISA
