// How fast the parts of core/ are that touch every weight: random filling and dtype conversion.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "base/convert.h"
#include "base/philox.h"

namespace cait {
namespace {

void philox_normal_fill(benchmark::State& state) {
    Tensor tensor = Tensor::empty(DType::f32, {state.range(0)});
    for (auto _ : state) {
        RandomStream stream(1, "blocks.0.attn.qkv.weight");
        for (float& value : tensor.mutable_floats()) value = stream.normal();
        benchmark::DoNotOptimize(tensor.bytes());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(philox_normal_fill)->Arg(1 << 16);

void convert_to_float(benchmark::State& state, DType from) {
    RandomStream stream(1, "convert");
    Tensor source = Tensor::empty(DType::f32, {state.range(0)});
    for (float& value : source.mutable_floats()) value = stream.normal();
    const Tensor narrow = convert(source, from);
    for (auto _ : state) {
        const Tensor wide = convert(narrow, DType::f32);
        benchmark::DoNotOptimize(wide.bytes());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.SetBytesProcessed(state.iterations() * std::int64_t(narrow.byte_size()));
}
BENCHMARK_CAPTURE(convert_to_float, half, DType::f16)->Arg(1 << 20);
BENCHMARK_CAPTURE(convert_to_float, bfloat16, DType::bf16)->Arg(1 << 20);

}  // namespace
}  // namespace cait
