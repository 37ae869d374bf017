#include "train/torch/dropout_mask.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "base/philox_lanes.h"
#include "system/isa.h"

namespace cait {

namespace {

// A uniform number has 24 bits: those below the threshold keep their element.
struct Rule {
    std::int32_t threshold;
    float kept;
};

[[gnu::always_inline]] inline void fill_chunk(std::uint64_t key, std::uint64_t purpose,
                                              std::uint64_t first, Rule rule, float* out) {
    PhiloxLanes words;
    philox_lanes(key, purpose, first, words);
    for (std::size_t word = 0; word < 4; ++word)
        for (std::size_t i = 0; i < kPhiloxLanes; ++i)
            out[word * kPhiloxLanes + i] =
                std::int32_t(words[word][i] >> 8) < rule.threshold ? rule.kept : 0.0F;
}

CAIT_AVX2 void fill_chunk_avx2(std::uint64_t key, std::uint64_t purpose, std::uint64_t first,
                               Rule rule, float* out) {
    fill_chunk(key, purpose, first, rule, out);
}

CAIT_AVX512 void fill_chunk_avx512(std::uint64_t key, std::uint64_t purpose, std::uint64_t first,
                                   Rule rule, float* out) {
    fill_chunk(key, purpose, first, rule, out);
}

void fill_chunk_plain(std::uint64_t key, std::uint64_t purpose, std::uint64_t first, Rule rule,
                      float* out) {
    fill_chunk(key, purpose, first, rule, out);
}

// The `count` elements of the image at `place` in the batch.
void fill_image(std::uint64_t key, std::uint64_t purpose, std::uint64_t place, Rule rule,
                float* out, std::size_t count) {
    const auto fill = has_avx512() ? fill_chunk_avx512
                      : has_avx2() ? fill_chunk_avx2
                                   : fill_chunk_plain;
    constexpr std::size_t kChunk = 4 * kPhiloxLanes;
    float chunk[kChunk];
    // Philox blocks of one image: 2^32 of them are more than any activation has.
    std::uint64_t block = place << 32;
    for (std::size_t start = 0; start < count; start += kChunk, block += kPhiloxLanes) {
        fill(key, purpose, block, rule, chunk);
        std::copy_n(chunk, std::min(kChunk, count - start), out + start);
    }
}

}  // namespace

at::Tensor dropout_mask(std::string_view node, double rate, const at::Tensor& like,
                        const EvaluateContext& context) {
    const double keep = 1 - rate;
    const Rule rule{std::int32_t(std::ceil(keep * 0x1p24)), float(1 / keep)};
    const std::uint64_t purpose = stable_hash(node) ^ (context.step * 0x9E3779B97F4A7C15ULL);
    const at::Tensor mask = at::empty(like.sizes(), at::kFloat);
    const std::int64_t images = like.size(0);
    const std::int64_t each = images > 0 ? like.numel() / images : 0;
    auto* const data = mask.data_ptr<float>();
    at::parallel_for(0, images, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            fill_image(context.seed, purpose, context.place_of(std::uint64_t(i)), rule,
                       data + i * each, std::size_t(each));
    });
    return mask.to(like.device(), like.scalar_type());
}

}  // namespace cait
