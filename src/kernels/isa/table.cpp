// This instruction set's table.
#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace cait::kernels {

namespace {

namespace isa = CAIT_KERNEL_ISA;

#if defined(__AVX512BF16__)
constexpr auto kMultiplyTiles = isa::multiply_amx;
constexpr auto kMultiplyByteTiles = isa::multiply_amx_bytes;
#else
constexpr auto kMultiplyTiles = isa::multiply_plain_tiles;
constexpr auto kMultiplyByteTiles = isa::multiply_plain_byte_tiles;
#endif

constexpr KernelTable make_table(const char* name) {
    return {
        .name = name,
        .f32 = {Format::f32, Layout::panels, isa::panel_bytes, isa::pack_floats,
                isa::multiply_floats},
        .rounded = {Format::bf16, Layout::panels, isa::panel_bytes, isa::pack_rounded,
                    isa::multiply_rounded},
        .pairs = {Format::bf16, Layout::tiles, isa::tile_bytes, isa::pack_tiles,
                  isa::multiply_pairs},
        .tiles = {Format::bf16, Layout::tiles, isa::tile_bytes, isa::pack_tiles, kMultiplyTiles},
        .quads = {Format::s8, Layout::quads, isa::quad_bytes, isa::pack_quads, isa::multiply_quads},
        .byte_tiles = {Format::s8, Layout::quads, isa::quad_bytes, isa::pack_quads,
                       kMultiplyByteTiles},
        .stage = isa::stage,
        .stage_transposed = isa::stage_transposed,
        .gather_patches = isa::gather_patches,
        .greatest = isa::greatest,
        .quantize = isa::quantize,
        .layer_norm = isa::layer_norm,
        .activate = isa::activate,
        .softmax = isa::softmax,
        .mix_heads = isa::mix_heads,
        .rank_logits = isa::rank_logits,
        .dot_rows = isa::dot_rows,
        .sum_rows = isa::sum_rows,
        .residual = isa::residual,
        .multiply_add = isa::multiply_add,
        .depthwise = isa::depthwise,
        .pool = isa::pool,
        .resize = isa::resize,
        .roi_grid = isa::roi_grid,
        .outlook = isa::outlook,
        .add = isa::add,
        .add_columns = isa::add_columns,
        .train = {isa::layer_norm_backward, isa::gelu_backward, isa::softmax_backward,
                  isa::mix_heads_backward, isa::residual_backward, isa::roi_grid_backward},
        .width = isa::kWidth,
        .multiply_adds = isa::multiply_adds,
        .multiply_bytes = isa::multiply_bytes,
    };
}

}  // namespace

#if defined(__AVX512BF16__)
const KernelTable& avx512_bf16_kernels() {
    static constexpr KernelTable kTable = make_table("avx512_bf16");
#elif defined(__AVX512F__)
const KernelTable& avx512_kernels() {
    static constexpr KernelTable kTable = make_table("avx512");
#elif defined(__AVX2__)
const KernelTable& avx2_kernels() {
    static constexpr KernelTable kTable = make_table("avx2");
#else
const KernelTable& portable_kernels() {
    static constexpr KernelTable kTable = make_table("portable");
#endif
    return kTable;
}

}  // namespace cait::kernels
