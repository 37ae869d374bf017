// Brings rows into the forms that products read, with the best kernels of this processor: a
// left-hand side upright or transposed, a right-hand side packed for one product.
#pragma once

#include <cstring>

#include "kernels/dispatch.h"

namespace cait::kernels {

inline Lhs lhs_of(const Rows& rows) {
    return {.data = rows.data,
            .format = rows.format,
            .row_step = rows.ld,
            .k_step = 1,
            .scale_at = rows.ld - row_of(rows.format).lhs_trailer};
}

// An epilogue that writes an operand of the next product leaves what lies behind its columns as it
// was. There has to be zero: beside the right-hand side's zeros, NaN would not vanish.
inline void clear_padding(const MutableRows& operand, Index rows, Index columns) {
    const Index padding = lhs_ld(operand.format, columns) - columns;
    if (padding == 0) return;
    const auto bytes = std::size_t(padding * size_of(operand.format));
    for (Index r = 0; r < rows; ++r) std::memset(operand.from(r, columns).data, 0, bytes);
}

// [rows, columns] for products of `format`: in place where that is possible, else in `memory`,
// which has room for lhs_bytes(format, rows, columns).
inline Lhs staged(Format format, const Rows& from, Index rows, Index columns, void* memory) {
    if (format == from.format && row_of(format).in_place) return lhs_of(from);
    const MutableRows to{memory, format, lhs_ld(format, columns)};
    best_kernels().stage(from, rows, columns, 1, to);
    return lhs_of(to);
}

// The transpose [columns, rows], in place or in `memory` of transposed_bytes(format, rows,
// columns).
inline Index transposed_bytes(Format format, Index rows, Index columns) {
    return row_of(format).in_place ? 0 : lhs_bytes(format, columns, rows);
}
inline Lhs staged_transposed(Format format, const Rows& from, Index rows, Index columns,
                             void* memory) {
    if (row_of(format).in_place) return {from.data, format, 1, from.ld};
    best_kernels().stage_transposed(from, rows, columns, static_cast<BFloat16*>(memory));
    return {memory, format, lhs_ld(format, rows), 1};
}

// from [rows, columns] as the right-hand side [k = rows, n = columns], or its transpose.
inline PackSource upright_source(const Rows& from, Index rows, Index columns, float scale = 1) {
    return {.data = from.data,
            .format = from.format,
            .rows = rows,
            .columns = columns,
            .row_step = from.ld,
            .scale = scale};
}
inline PackSource transposed_source(const Rows& from, Index rows, Index columns, float scale = 1) {
    return {.data = from.data,
            .format = from.format,
            .rows = columns,
            .columns = rows,
            .row_step = 1,
            .column_step = from.ld,
            .scale = scale};
}

}  // namespace cait::kernels
