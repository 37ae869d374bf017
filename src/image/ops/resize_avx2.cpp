// The resize passes with AVX2. A 22-bit weight does not fit the 16-bit multiplier, so it is split
// in two and the parts are summed apart: as exact as 32-bit products, at half their cost.
#include "image/ops/resize_kernels.h"
#include "system/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#endif

namespace cait {

#if defined(__x86_64__)

namespace {

constexpr int kRows = 4;   // that the horizontal pass takes at a time
constexpr int kChunk = 4;  // taps of three channels in one 16-byte load
constexpr int kLoadBytes = 16;

// Four RGB pixels per half register, one row in each half: the channels of two neighbouring pixels
// become pairs of 16-bit numbers, ready for the pairwise multiply-add.
[[gnu::target("avx2")]] __m256i first_pairs() {
    const __m128i order = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
    return _mm256_broadcastsi128_si256(order);
}

[[gnu::target("avx2")]] __m256i second_pairs() {
    const __m128i order = _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    return _mm256_broadcastsi128_si256(order);
}

[[gnu::target("avx2")]] inline __m256i load_rows(const std::uint8_t* upper,
                                                 const std::uint8_t* lower) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lower));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

[[gnu::target("avx2")]] inline __m256i weight_pair(const std::int16_t* weights) {
    std::int32_t pair = 0;
    std::memcpy(&pair, weights, sizeof pair);
    return _mm256_set1_epi32(pair);
}

// round(high * 2^11 + low) to whole pixel values, still 32 bits wide and not yet clamped
[[gnu::target("avx2")]] inline __m256i finish(__m256i high, __m256i low) {
    const __m256i round = _mm256_set1_epi32(1 << (kWeightBits - 1));
    const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
    return _mm256_srai_epi32(_mm256_add_epi32(sum, round), kWeightBits);
}

// One output pixel of four rows; the result holds four bytes per row, in the order 0, 2, 1, 3.
struct FourPixels {
    std::uint32_t bytes[kRows];
};

[[gnu::target("avx2")]] inline FourPixels four_pixels(const std::uint8_t* const* rows,
                                                      std::int64_t offset, std::int32_t count,
                                                      const std::int16_t* high_weights,
                                                      const std::int16_t* low_weights) {
    const __m256i even = first_pairs();
    const __m256i odd = second_pairs();
    __m256i high0 = _mm256_setzero_si256();
    __m256i high1 = high0;
    __m256i low0 = high0;
    __m256i low1 = high0;
    for (std::int32_t i = 0; i < count; i += kChunk, offset += kChunk * 3) {
        const __m256i pixels0 = load_rows(rows[0] + offset, rows[1] + offset);
        const __m256i pixels1 = load_rows(rows[2] + offset, rows[3] + offset);
        const __m256i even0 = _mm256_shuffle_epi8(pixels0, even);
        const __m256i even1 = _mm256_shuffle_epi8(pixels1, even);
        const __m256i odd0 = _mm256_shuffle_epi8(pixels0, odd);
        const __m256i odd1 = _mm256_shuffle_epi8(pixels1, odd);
        const __m256i high_even = weight_pair(high_weights + i);
        const __m256i high_odd = weight_pair(high_weights + i + 2);
        const __m256i low_even = weight_pair(low_weights + i);
        const __m256i low_odd = weight_pair(low_weights + i + 2);
        high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(even0, high_even));
        high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(even1, high_even));
        low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(even0, low_even));
        low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(even1, low_even));
        high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(odd0, high_odd));
        high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(odd1, high_odd));
        low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(odd0, low_odd));
        low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(odd1, low_odd));
    }
    const __m256i words = _mm256_packs_epi32(finish(high0, low0), finish(high1, low1));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const auto front = std::uint64_t(_mm256_extract_epi64(bytes, 0));
    const auto back = std::uint64_t(_mm256_extract_epi64(bytes, 2));
    return {{std::uint32_t(front), std::uint32_t(back), std::uint32_t(front >> 32),
             std::uint32_t(back >> 32)}};
}

[[gnu::target("avx2")]] void four_rows(const std::uint8_t* const* rows,
                                       const ResizeWeights& weights, bool mirror,
                                       std::uint8_t* const* outputs) {
    const std::int64_t last = weights.outputs - 1;
    for (std::int64_t x = 0; x <= last; ++x) {
        const std::int64_t o = mirror ? last - x : x;
        const FourPixels pixels = four_pixels(
            rows, std::int64_t(weights.first[std::size_t(o)]) * 3, weights.count[std::size_t(o)],
            weights.high.data() + o * weights.taps, weights.low.data() + o * weights.taps);
        // Four bytes are stored for three; the next pixel overwrites the fourth.
        const std::size_t bytes = x < last ? 4 : 3;
        for (int r = 0; r < kRows; ++r) std::memcpy(outputs[r] + x * 3, &pixels.bytes[r], bytes);
    }
}

// Whether the kernel may read a row in place: its last load must end inside the buffer.
bool readable(const ImageView& source, const std::uint8_t* row) {
    return source.end - row >= (source.width + kChunk) * 3 + kLoadBytes;
}

[[gnu::target("avx2")]] void horizontal_avx2(const ImageView& source, const ResizeWeights& weights,
                                             bool mirror, std::uint8_t* output,
                                             std::int64_t stride) {
    if (source.channels != 3)
        return portable_resize_kernels().horizontal(source, weights, mirror, output, stride);
    std::int64_t y = 0;
    for (; y + kRows <= source.height && readable(source, source.row(y + kRows - 1)); y += kRows) {
        const std::uint8_t* rows[kRows];
        std::uint8_t* outputs[kRows];
        for (int r = 0; r < kRows; ++r) {
            rows[r] = source.row(y + r);
            outputs[r] = output + (y + r) * stride;
        }
        four_rows(rows, weights, mirror, outputs);
    }
    ImageView rest = source.part(0, y, source.width, source.height - y);
    portable_resize_kernels().horizontal(rest, weights, mirror, output + y * stride, stride);
}

// Sixteen columns of one output row.
[[gnu::target("avx2")]] inline __m128i sixteen_columns(const std::uint8_t* rows,
                                                       std::int64_t row_bytes, std::int32_t count,
                                                       const std::int16_t* high_weights,
                                                       const std::int16_t* low_weights) {
    __m256i high0 = _mm256_setzero_si256();
    __m256i high1 = high0;
    __m256i low0 = high0;
    __m256i low1 = high0;
    for (std::int32_t i = 0; i < count; i += 2, rows += 2 * row_bytes) {
        // The padded weight of a missing second row is zero; the first row stands in for it.
        const std::uint8_t* next = i + 1 < count ? rows + row_bytes : rows;
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(next));
        const __m256i pairs0 = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
        const __m256i pairs1 = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
        const __m256i high = weight_pair(high_weights + i);
        const __m256i low = weight_pair(low_weights + i);
        high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(pairs0, high));
        high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(pairs1, high));
        low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(pairs0, low));
        low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(pairs1, low));
    }
    const __m256i words = _mm256_packs_epi32(finish(high0, low0), finish(high1, low1));
    // Packing works within halves: bring the four quarters into order first.
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0b11'01'10'00);
    return _mm_packus_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
}

[[gnu::target("avx2")]] void vertical_avx2(const std::uint8_t* source, std::int64_t first_row,
                                           std::int64_t row_bytes, const ResizeWeights& weights,
                                           std::uint8_t* output) {
    constexpr std::int64_t kColumns = 16;
    if (row_bytes < kColumns)
        return portable_resize_kernels().vertical(source, first_row, row_bytes, weights, output);
    for (std::int64_t y = 0; y < weights.outputs; ++y) {
        const auto o = std::size_t(y);
        const std::int16_t* high = weights.high.data() + y * weights.taps;
        const std::int16_t* low = weights.low.data() + y * weights.taps;
        const std::uint8_t* rows = source + (weights.first[o] - first_row) * row_bytes;
        std::uint8_t* target = output + y * row_bytes;
        for (std::int64_t x = 0; x < row_bytes; x += kColumns) {
            // The last block overlaps the one before rather than running over the end.
            const std::int64_t at = std::min(x, row_bytes - kColumns);
            const __m128i pixels =
                sixteen_columns(rows + at, row_bytes, weights.count[o], high, low);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(target + at), pixels);
        }
    }
}

}  // namespace

bool avx2_resize_available() { return has_avx2(); }
ResizeKernels avx2_resize_kernels() { return {horizontal_avx2, vertical_avx2}; }

#else

bool avx2_resize_available() { return false; }
ResizeKernels avx2_resize_kernels() { return portable_resize_kernels(); }

#endif

}  // namespace cait
