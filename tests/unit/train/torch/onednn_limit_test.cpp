// CAIT_ISA holds for oneDNN as well. ctest runs this once per cap, each in a process of its own:
// oneDNN's limit cannot change after its first use.
#include "train/torch/onednn_limit.h"

#include <gtest/gtest.h>
#include "train/torch/libtorch.h"

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "cait/train.h"
#include "system/cpu.h"

namespace cait {
namespace {

// Sets are told apart by bits; a set has those of all that it includes.
unsigned bits(dnnl::cpu_isa isa) { return unsigned(isa); }

dnnl::cpu_isa most_for(Isa isa) {
    switch (isa) {
        case Isa::portable: return dnnl::cpu_isa::sse41;
        case Isa::avx2: return dnnl::cpu_isa::avx2;
        case Isa::avx_vnni: return dnnl::cpu_isa::avx2_vnni;
        case Isa::avx512: return dnnl::cpu_isa::avx512_core;
        case Isa::avx512_vnni: return dnnl::cpu_isa::avx512_core_vnni;
        case Isa::avx512_bf16: return dnnl::cpu_isa::avx512_core_bf16;
        case Isa::amx: return dnnl::cpu_isa::avx512_core_amx;
    }
    return dnnl::cpu_isa::all;
}

TEST(OnednnLimit, AForwardPassKeepsOneDnnWithinTheCap) {
    const Model model = Model::create("cait_xxs24_224", {{"image_size", "16"},
                                                         {"patch", "8"},
                                                         {"dim", "16"},
                                                         {"depth", "1"},
                                                         {"heads", "2"},
                                                         {"classes", "3"}});
    const Tensor images = Tensor::zeros(DType::f32, {1, 3, 16, 16});
    for (const Precision precision : {Precision::fp32, Precision::bf16})
        EXPECT_FALSE(forward(model, images, {.taps = {}, .precision = precision}).empty());
    // What LibTorch itself does with oneDNN.
    const at::Tensor image = at::ones({1, 3, 16, 16});
    EXPECT_TRUE(at::isfinite(at::conv2d(image, at::ones({4, 3, 3, 3}))).all().item<bool>());

    const dnnl::cpu_isa effective = dnnl::get_effective_cpu_isa();
    if (const std::optional<Isa> cap = onednn_cap()) {
        EXPECT_EQ(bits(effective) & ~bits(most_for(*cap)), 0U)
            << std::hex << bits(effective) << " is more than " << isa_name(*cap);
        EXPECT_TRUE(*cap != Isa::portable || effective == dnnl::cpu_isa::sse41);
    }
    // Whatever the reason, never AMX where it would trap.
    const bool would_trap = cpu_flags().names_amx && !cpu_flags().shows_palette;
    EXPECT_FALSE(would_trap && effective == dnnl::cpu_isa::avx512_core_amx);
}

}  // namespace
}  // namespace cait
