#include "kernels/convolution.h"

#include <algorithm>

#include "kernels/operand.h"

namespace cait::kernels {

namespace {

constexpr Index kBlockBytes = 128 << 10;  // of gathered patches: a part of the second-level cache
constexpr Index kSliceBytes = 256 << 10;  // of a slice of them, and of the sums
constexpr Index kMostRows = 256;
constexpr Index kLeastPixels = 16;    // worth a thread of their own
constexpr Index kFewPixels = 64;      // for a thread: better all of them and a part of the columns
constexpr Index kWeightColumns = 96;  // that a packed matrix can be cut at
constexpr Index kMostDepth = 512;     // of a slice

// Weights that do not lie in the second-level cache are to be read once for many pixels. What these
// see is too large for it then: k is cut into slices, of one tap or some channels, whose products
// are added up.
Index slice_of(const Convolution& c, Index k) {
    const Index channels = c.channels / c.groups, outputs = c.outputs / c.groups;
    if (k * outputs < kFarValues || c.channel_step != 1) return k;
    if (k > channels) return channels % row_of(c.format).lhs_columns == 0 ? channels : k;
    return std::min(k, kMostDepth);
}

// The result [pixels of all images, outputs] in blocks: of pixels, and of columns where there are
// too few pixels and groups for all threads. How it is cut changes no bit of it.
struct ConvolutionGrid {
    Index pixels;  // of the whole batch
    Index slice;   // of k
    Index rows;    // pixels of a block
    Index down;
    Index columns;  // of a block
    Index across;   // blocks of a group's columns
    Index blocks;

    ConvolutionGrid(const Convolution& c, Index k)
        : pixels(c.batch * c.out_height() * c.out_width()),
          slice(slice_of(c, k)),
          columns(c.outputs / c.groups) {
        const Index threads = std::max(1, c.threads), outputs = columns;
        const bool sliced = slice < k;
        Index fitting = (sliced ? kSliceBytes : kBlockBytes) / (slice * size_of(c.format));
        if (sliced) fitting = std::min(fitting, kSliceBytes / (outputs * 4));
        rows = std::clamp(fitting / kBlockRows * kBlockRows, kBlockRows, kMostRows);
        if (sliced && pixels < kFewPixels * threads)
            rows = std::min(rows, round_up(pixels, 8));
        else if (ceil_div(pixels, rows) * c.groups < 4 * threads)  // as many pixels for everyone
            rows = std::min(rows, std::max(kLeastPixels, round_up(ceil_div(pixels, threads), 8)));
        down = ceil_div(pixels, rows);
        const Index parts = std::max<Index>(1, threads / std::max<Index>(1, down * c.groups));
        columns = std::min(outputs, round_up(ceil_div(outputs, parts), kWeightColumns));
        across = ceil_div(outputs, columns);
        blocks = c.groups * across * down;
    }
};

// The pixels of x as int8, each a row of a left-hand side; each image has a range of its own.
struct QuantizedPixels {
    MutableRows rows = {};
    std::span<ByteRange> ranges = {};
};

ByteRange byte_range(float greatest, bool nonnegative) {
    const float steps = nonnegative ? 255 : 127;
    const int zero = nonnegative ? 0 : 128;
    if (!(greatest > 1e-35F)) return {.scale = greatest, .inverse = 0, .zero = zero};
    return {.scale = greatest / steps, .inverse = steps / greatest, .zero = zero};
}

// Images are cut where there are fewer than threads: first everybody looks for the greatest value.
QuantizedPixels quantize_pixels(const Convolution& c, const float* x, Buffer& memory) {
    const Index pixels = c.height * c.width;
    const Index parts = std::max<Index>(1, c.threads / std::max<Index>(1, c.batch));
    const Index each = ceil_div(pixels, parts);
    struct Memory {
        std::byte *rows, *ranges;
        float* greatest;  // of each part
    };
    // A block may start at any pixel, and tiles read its rows up to the next multiple of theirs.
    const Index readable = c.batch * pixels + row_of(Format::s8).lhs_rows;
    const PerWorker one(memory, 1, [&](Arena& arena) {
        return Memory{arena.take(lhs_bytes(Format::s8, readable, c.channels)),
                      arena.take(c.batch * Index(sizeof(ByteRange))),
                      arena.floats(c.batch * parts)};
    });
    const Memory m = one(0);
    const QuantizedPixels result{{m.rows, Format::s8, lhs_ld(Format::s8, c.channels)},
                                 {reinterpret_cast<ByteRange*>(m.ranges), std::size_t(c.batch)}};
    // work(image, first pixel, pixels, number of the part)
    const auto for_parts = [&](const auto& work) {
        const int workers = int(std::max<Index>(1, std::min<Index>(c.threads, c.batch * parts)));
        run_workers(workers, [&](int worker) {
            const Share share = share_of(c.batch * parts, worker, workers);
            for (Index i = share.begin; i < share.end; ++i) {
                const Index first = i % parts * each;
                work(i / parts, first, std::clamp<Index>(pixels - first, 0, each), i);
            }
        });
    };
    const auto at = [&](Index image, Index pixel) {
        return x + image * c.image_step + pixel * c.channels;
    };
    for_parts([&](Index image, Index first, Index count, Index part) {
        m.greatest[part] = best_kernels().greatest(at(image, first), count * c.channels);
    });
    for_parts([&](Index image, Index first, Index count, Index) {
        float greatest = 0;
        for (Index part = image * parts; part < (image + 1) * parts; ++part)
            if (!(m.greatest[part] <= greatest)) greatest = m.greatest[part] + 0 * greatest;
        const ByteRange range = byte_range(greatest, c.nonnegative);
        if (first == 0) result.ranges[std::size_t(image)] = range;
        best_kernels().quantize(at(image, first), count, c.channels, range,
                                result.rows.from(image * pixels + first));
    });
    return result;
}

// A product may read x as it is: every pixel is a row, and rows lie equally far apart.
bool in_place(const Convolution& c) {
    return (row_of(c.format).in_place || c.format == Format::s8) && c.kernel_height == 1 &&
           c.kernel_width == 1 && c.stride == 1 && c.padding == 0 && c.channel_step == 1 &&
           c.row_step == c.width * c.column_step &&
           (c.batch == 1 || c.image_step == c.height * c.row_step);
}

class ConvolutionForward {
public:
    ConvolutionForward(const Convolution& convolution, const ConvolutionGrid& grid, const float* x,
                       const QuantizedPixels& quantized, float* y)
        : c_(convolution), grid_(grid), x_(x), quantized_(quantized), y_(y) {}

    // Down the pixels first: the weights of a group stay in the cache.
    void block(Index number, const MutableRows& patches, float* sums, void* scratch) const {
        const Index first = number % grid_.down * grid_.rows, part = number / grid_.down;
        const Index rows = std::min(grid_.rows, grid_.pixels - first);
        const Index group = part / grid_.across, column = part % grid_.across * grid_.columns;
        const Index outputs = c_.outputs / c_.groups, output = group * outputs + column;
        const Index at = first * c_.outputs + output, k = convolution_k(c_);
        const Segment segment{c_.residual == nullptr ? nullptr : c_.residual + at, y_ + at, 1};
        Epilogue epilogue{.bias = c_.bias == nullptr ? nullptr : c_.bias + output,
                          .activation = c_.activation,
                          .out = rows_of(y_ + at, c_.outputs)};
        if (c_.residual != nullptr) {
            epilogue.segments = &segment;
            epilogue.segment_rows = rows;
            epilogue.segment_ld = c_.outputs;
            epilogue.relu_last = c_.relu_last;
        }
        for (Index begin = 0; begin < k; begin += grid_.slice) {
            const Index depth = std::min(grid_.slice, k - begin);
            products(c_.format).multiply({.m = rows,
                                          .n = std::min(grid_.columns, outputs - column),
                                          .k = depth,
                                          .a = operand(group, first, rows, begin, depth, patches),
                                          .b = c_.weights[std::size_t(group)],
                                          .k_begin = begin,
                                          .column_begin = column,
                                          .c = sums,
                                          .c_ld = grid_.columns,
                                          .accumulate = begin > 0,
                                          .epilogue = begin + depth == k ? &epilogue : nullptr,
                                          .scratch = scratch});
        }
    }

private:
    // Of what the kernel sees of some pixels, the slice [begin, begin + depth): all of it, one tap,
    // or some channels of the only one.
    Lhs operand(Index group, Index first, Index rows, Index begin, Index depth,
                const MutableRows& patches) const {
        const Index channels = c_.channels / c_.groups;
        const bool whole = depth == convolution_k(c_), tap = !whole && depth == channels;
        const Index at = tap ? begin / channels : 0, skipped = tap ? 0 : begin;
        const float* x = x_ + (group * channels + skipped) * c_.channel_step;
        const Index per_image = c_.out_height() * c_.out_width();
        const bool bytes = c_.format == Format::s8;
        const Index ld = quantized_.rows.ld;
        if (in_place(c_) && bytes) return quantized_rows(first, group * channels + skipped);
        if (in_place(c_)) return lhs_of(rows_of(x + first * c_.column_step, c_.column_step));
        for (Index done = 0; done < rows;) {  // the pixels may be those of several images
            const Index image = (first + done) / per_image, pixel = (first + done) % per_image;
            const Index count = std::min(rows - done, per_image - pixel);
            best_kernels().gather_patches(
                {.image = bytes ? nullptr : x + image * c_.image_step,
                 .quantized = pixel_bytes(image, group * channels + skipped),
                 .range = bytes ? quantized_.ranges[std::size_t(image)] : ByteRange{},
                 .height = c_.height,
                 .width = c_.width,
                 .channels = whole ? channels : depth,
                 .row_step = bytes ? c_.width * ld : c_.row_step,
                 .column_step = bytes ? ld : c_.column_step,
                 .channel_step = c_.channel_step,
                 .kernel_height = whole ? c_.kernel_height : 1,
                 .kernel_width = whole ? c_.kernel_width : 1,
                 .stride = c_.stride,
                 .padding_top = c_.padding - at / c_.kernel_width,
                 .padding_left = c_.padding - at % c_.kernel_width,
                 .out_width = c_.out_width(),
                 .first = pixel,
                 .count = count,
                 .to = patches.from(done)});
            done += count;
        }
        Lhs gathered = lhs_of(patches);
        gathered.zero = c_.nonnegative ? 0 : 128;
        return gathered;
    }

    // Pixels as they lie; slices of k leave their scales where they are.
    Lhs quantized_rows(Index first, Index channel) const {
        Lhs rows = lhs_of(quantized_.rows.from(first, channel));
        rows.scale_at -= channel;
        rows.zero = c_.nonnegative ? 0 : 128;
        return rows;
    }
    const std::uint8_t* pixel_bytes(Index image, Index channel) const {
        if (!quantized_.rows) return nullptr;
        return static_cast<const std::uint8_t*>(
            quantized_.rows.from(image * c_.height * c_.width, channel).data);
    }

    const Convolution& c_;
    const ConvolutionGrid& grid_;
    const float* x_;
    QuantizedPixels quantized_;
    float* y_;
};

}  // namespace

Index convolution_k(const Convolution& c) {
    return c.channels / c.groups * c.kernel_height * c.kernel_width;
}

void order_weights(const Convolution& c, const float* weight, float* ordered) {
    const Index k = convolution_k(c), channels = c.channels / c.groups, area = k / channels;
    if (c.channel_step != 1) {
        std::copy_n(weight, c.outputs * k, ordered);
        return;
    }
    for (Index output = 0; output < c.outputs; ++output, weight += k)
        for (Index tap = 0; tap < area; ++tap)
            for (Index channel = 0; channel < channels; ++channel)
                *ordered++ = weight[channel * area + tap];
}

void convolution_forward(const Convolution& c, const float* x, float* y, Workspace& workspace) {
    const Index k = convolution_k(c);
    const ConvolutionGrid grid(c, k);
    const int workers = int(std::max<Index>(1, std::min<Index>(grid.blocks, c.threads)));
    struct Memory {
        MutableRows patches;
        float* sums;
        std::byte* scratch;
    };
    const PerWorker memory(workspace.memory, workers, [&](Arena& arena) {
        return Memory{arena.rows(c.format, in_place(c) ? 0 : grid.rows, grid.slice),
                      arena.floats(grid.slice < k ? grid.rows * grid.columns : 0),
                      arena.take(product_scratch(grid.slice))};
    });
    const QuantizedPixels quantized =
        c.format == Format::s8 ? quantize_pixels(c, x, workspace.between) : QuantizedPixels{};
    const ConvolutionForward forward(c, grid, x, quantized, y);
    run_workers(workers, [&](int worker) {
        const Share share = share_of(grid.blocks, worker, workers);
        const Memory m = memory(worker);
        for (Index block = share.begin; block < share.end; ++block)
            forward.block(block, m.patches, m.sums, m.scratch);
    });
}

}  // namespace cait::kernels
