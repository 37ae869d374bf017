#include "kernels/onednn.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "core/isa.h"
#include "kernels/buffer.h"
#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

using dnnl::memory;

const dnnl::engine& cpu() {
    static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
    return kEngine;
}

memory wrap(const void* data, memory::data_type type, Index rows, Index columns, Index row_step,
            Index column_step) {
    const memory::desc layout({rows, columns}, type, memory::dims{row_step, column_step});
    return {layout, cpu(), const_cast<void*>(data)};
}

// Rows of `a` as bfloat16, in the order in which they stand in memory.
void narrow_rows(const float* from, Index rows, Index columns, Index ld, std::uint16_t* to) {
    const KernelTable& table = best_kernels();
    for (Index r = 0; r < rows; ++r) table.to_bfloat16(from + r * ld, columns, to + r * columns);
}

}  // namespace

bool multiplies_bfloat16() {
#if defined(__x86_64__)
    static const bool kAvailable =
        has_avx512() && dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
    return kAvailable;
#else
    return false;
#endif
}

Index onednn_packed_size(Index rows, Index columns) { return (rows * columns + 1) / 2; }

void onednn_pack(const PackSource& source, float* packed) {
    auto* to = reinterpret_cast<std::uint16_t*>(packed);
    const KernelTable& table = best_kernels();
    Buffer row(source.columns);
    for (Index r = 0; r < source.rows; ++r, to += source.columns) {
        const float scale =
            source.scale * (source.row_scale == nullptr ? 1.0F : source.row_scale[r]);
        const float* from = source.data + r * source.row_step;
        for (Index c = 0; c < source.columns; ++c)
            row.data()[c] = scale * from[c * source.column_step];
        table.to_bfloat16(row.data(), source.columns, to);
    }
}

void onednn_gemm(const GemmArgs& args) {
    using Type = memory::data_type;
    const bool transposed = args.a_row == 1 && args.a_step != 1;
    const Index rows = transposed ? args.k : args.m, columns = transposed ? args.m : args.k;
    Buffer narrow((rows * columns + 1) / 2);
    narrow_rows(args.a, rows, columns, transposed ? args.a_step : args.a_row,
                reinterpret_cast<std::uint16_t*>(narrow.data()));
    const memory a = wrap(narrow.data(), Type::bf16, args.m, args.k, transposed ? 1 : args.k,
                          transposed ? args.m : 1);
    const memory b = wrap(args.packed, Type::bf16, args.k, args.n, args.n, 1);
    const memory c = wrap(args.c, Type::f32, args.m, args.n, args.c_ld, 1);

    dnnl::primitive_attr attributes;
    if (args.accumulate) {
        dnnl::post_ops sum;
        sum.append_sum(1);
        attributes.set_post_ops(sum);
    }
    const bool has_bias = args.bias != nullptr && !args.accumulate;
    const memory bias = wrap(has_bias ? args.bias : nullptr, Type::f32, 1, args.n, args.n, 1);
    const auto described =
        has_bias ? dnnl::matmul::desc(a.get_desc(), b.get_desc(), bias.get_desc(), c.get_desc())
                 : dnnl::matmul::desc(a.get_desc(), b.get_desc(), c.get_desc());
    // oneDNN keeps the code that it generates: a description seen before costs microseconds.
    const dnnl::matmul product({described, attributes, cpu()});
    std::unordered_map<int, memory> operands{
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
    if (has_bias) operands.emplace(DNNL_ARG_BIAS, bias);
    dnnl::stream stream(cpu());
    product.execute(stream, operands);
    stream.wait();
}

}  // namespace cait::kernels
