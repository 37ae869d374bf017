// Affine transforms with bilinear and bicubic interpolation. The cubic is the one with a = -1, the
// results are cut and not rounded, both as in Pillow.
#include <algorithm>
#include <cstring>

#include "image/ops/affine_kernels.h"
#include "system/isa.h"

namespace cait {

namespace {

// Pillow works in double precision. In single precision a value that should be whole may end just
// below; without this it would be cut to the one before.
constexpr float kNudge = 2e-4F;
constexpr std::int64_t kBorder = 2;  // that the cubic can reach beyond the edge

// One pixel, a channel per lane; lanes beyond the channels are not used.
using Float4 [[gnu::vector_size(16)]] = float;
using Float8 [[gnu::vector_size(32)]] = float;  // two neighbouring pixels
using Int4 [[gnu::vector_size(16)]] = std::int32_t;

// The image in floats with its edge pixels repeated around it, so that the loop below neither
// converts nor clamps. The vector's elements are Float4s in all but name.
void spread(const Image& source, std::vector<float>& padded) {
    const std::int64_t width = source.width + 2 * kBorder;
    const std::int64_t height = source.height + 2 * kBorder;
    padded.resize(std::size_t(width * height * 4));
    const auto put = [&](const std::uint8_t* pixel, float* output) {
        for (std::int64_t c = 0; c < source.channels; ++c) output[c] = float(pixel[c]);
    };
    for (std::int64_t y = 0; y < height; ++y) {
        float* output = padded.data() + y * width * 4;
        const std::int64_t at = std::clamp(y - kBorder, std::int64_t(0), source.height - 1);
        const std::uint8_t* row = source.row(at);
        const std::uint8_t* last = row + (source.width - 1) * source.channels;
        for (std::int64_t x = 0; x < kBorder; ++x) {
            put(row, output + x * 4);
            put(last, output + (kBorder + source.width + x) * 4);
        }
        output += kBorder * 4;
        if (source.channels == 3)
            for (std::int64_t x = 0; x < source.width; ++x)
                for (int c = 0; c < 3; ++c) output[x * 4 + c] = float(row[x * 3 + c]);
        else
            for (std::int64_t x = 0; x < source.width; ++x) output[x * 4] = float(row[x]);
    }
}

[[gnu::always_inline]] inline Float4 load(const float* pixel) {
    Float4 value;
    std::memcpy(&value, pixel, sizeof value);
    return value;
}

// The four weights of a point that is t beyond the second pixel, as polynomials side by side.
[[gnu::always_inline]] inline Float4 cubic_weights(float t) {
    constexpr Float4 kConstant{0, 1, 0, 0};
    constexpr Float4 kLinear{-1, 0, 1, 0};
    constexpr Float4 kSquare{2, -2, 1, -1};
    constexpr Float4 kCube{-1, 1, -1, 1};
    return kConstant + t * (kLinear + t * (kSquare + t * kCube));
}

// `pixel` is the one whose centre is at or before the point, (tx, ty) how far the point is beyond.
[[gnu::always_inline]] inline Float4 bicubic(const float* pixel, std::int64_t stride, float tx,
                                             float ty) {
    const Float4 across = cubic_weights(tx);
    const Float4 down = cubic_weights(ty);
    const Float8 left = __builtin_shufflevector(across, across, 0, 0, 0, 0, 1, 1, 1, 1);
    const Float8 right = __builtin_shufflevector(across, across, 2, 2, 2, 2, 3, 3, 3, 3);
    Float8 sum{};
    for (std::int64_t i = 0; i < 4; ++i) {
        const float* row = pixel + (i - 1) * stride;
        Float8 before;
        Float8 after;
        std::memcpy(&before, row - 4, sizeof before);
        std::memcpy(&after, row + 4, sizeof after);
        sum += down[i] * (left * before + right * after);
    }
    return __builtin_shufflevector(sum, sum, 0, 1, 2, 3) +
           __builtin_shufflevector(sum, sum, 4, 5, 6, 7);
}

[[gnu::always_inline]] inline Float4 bilinear(const float* pixel, std::int64_t stride, float tx,
                                              float ty) {
    const float* below = pixel + stride;
    const Float4 upper = load(pixel) + tx * (load(pixel + 4) - load(pixel));
    const Float4 lower = load(below) + tx * (load(below + 4) - load(below));
    return upper + ty * (lower - upper);
}

template <std::int64_t channels>
[[gnu::always_inline]] inline void store(Float4 value, std::uint8_t* output) {
    constexpr Float4 kLow{};
    constexpr Float4 kHigh{255, 255, 255, 255};
    value += kNudge;
    value = value > kLow ? value : kLow;
    value = value < kHigh ? value : kHigh;
    const Int4 whole = __builtin_convertvector(value, Int4);
    for (std::int64_t c = 0; c < channels; ++c) output[c] = std::uint8_t(whole[c]);
}

template <bool cubic, std::int64_t channels>
[[gnu::always_inline]] inline void transform_rows(const Image& source, const AffineMap& affine,
                                                  const std::vector<float>& padded, Image& result) {
    const auto width = double(source.width);
    const auto height = double(source.height);
    const std::int64_t stride = (source.width + 2 * kBorder) * 4;
    const float* origin = padded.data() + kBorder * stride + kBorder * 4;
    for (std::int64_t y = 0; y < result.height; ++y) {
        const double from_y = double(y) + 0.5;
        std::uint8_t* output = result.row(y);
        for (std::int64_t x = 0; x < result.width; ++x, output += channels) {
            const double from_x = double(x) + 0.5;
            const double px = affine.xx * from_x + affine.xy * from_y + affine.x0;
            const double py = affine.yx * from_x + affine.yy * from_y + affine.y0;
            if (!(px >= 0 && px < width && py >= 0 && py < height)) continue;
            // Pixel centres are at halves. One more keeps the numbers positive, so that the cast,
            // which is faster than std::floor, rounds down.
            const double beyond_x = px + 0.5;
            const double beyond_y = py + 0.5;
            const auto column = std::int64_t(beyond_x);
            const auto row = std::int64_t(beyond_y);
            const auto tx = float(beyond_x - double(column));
            const auto ty = float(beyond_y - double(row));
            const float* pixel = origin + (row - 1) * stride + (column - 1) * 4;
            if constexpr (cubic)
                store<channels>(bicubic(pixel, stride, tx, ty), output);
            else
                store<channels>(bilinear(pixel, stride, tx, ty), output);
        }
    }
}

using TransformRows = void (*)(const Image&, const AffineMap&, const std::vector<float>&, Image&);

template <bool cubic, std::int64_t channels>
CAIT_AVX2 void transform_rows_avx2(const Image& source, const AffineMap& affine,
                                   const std::vector<float>& padded, Image& result) {
    transform_rows<cubic, channels>(source, affine, padded, result);
}

template <bool cubic, std::int64_t channels>
void transform_rows_plain(const Image& source, const AffineMap& affine,
                          const std::vector<float>& padded, Image& result) {
    transform_rows<cubic, channels>(source, affine, padded, result);
}

template <bool cubic, std::int64_t channels>
TransformRows chosen() {
    return has_avx2() ? transform_rows_avx2<cubic, channels>
                      : transform_rows_plain<cubic, channels>;
}

}  // namespace

void transform_smooth(const Image& source, const AffineMap& affine, Interpolation interpolation,
                      std::vector<float>& padded, Image& result) {
    spread(source, padded);
    const bool cubic = interpolation == Interpolation::bicubic;
    TransformRows run = cubic ? chosen<true, 3>() : chosen<false, 3>();
    if (source.channels == 1) run = cubic ? chosen<true, 1>() : chosen<false, 1>();
    run(source, affine, padded, result);
}

}  // namespace cait
