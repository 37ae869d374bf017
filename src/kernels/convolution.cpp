#include "kernels/convolution.h"

#include <algorithm>

#include "kernels/operand.h"

namespace cait::kernels {

namespace {

constexpr Index kBlockBytes = 128 << 10;  // of gathered patches: a part of the second-level cache
constexpr Index kMostRows = 256;
constexpr Index kLeastRows = 16;   // worth a thread of their own
constexpr Index kColumnStep = 96;  // that a packed matrix can be cut at

// The result [pixels of all images, outputs] in blocks: of pixels, and of columns where there are
// too few pixels and groups for all threads. How it is cut changes no bit of it.
struct Grid {
    Index pixels;  // of the whole batch
    Index rows;    // pixels of a block
    Index down;
    Index columns;  // of a block
    Index across;   // blocks of a group's columns
    Index blocks;

    Grid(const Convolution& c, Index k)
        : pixels(c.batch * c.out_height() * c.out_width()), columns(c.outputs / c.groups) {
        const Index threads = std::max(1, c.threads), outputs = columns;
        const Index fitting = kBlockBytes / (k * size_of(c.format)) / kBlockRows * kBlockRows;
        rows = std::clamp(fitting, kBlockRows, kMostRows);
        if (ceil_div(pixels, rows) * c.groups < 4 * threads)  // as many pixels for everyone
            rows = std::min(rows, std::max(kLeastRows, round_up(ceil_div(pixels, threads), 8)));
        down = ceil_div(pixels, rows);
        const Index parts = std::max<Index>(1, threads / std::max<Index>(1, down * c.groups));
        columns = std::min(outputs, round_up(ceil_div(outputs, parts), kColumnStep));
        across = ceil_div(outputs, columns);
        blocks = c.groups * across * down;
    }
};

// A product may read x as it is: every pixel is a row, and rows lie equally far apart.
bool in_place(const Convolution& c) {
    return c.format == Format::f32 && c.kernel_height == 1 && c.kernel_width == 1 &&
           c.stride == 1 && c.padding == 0 && c.channel_step == 1 &&
           c.row_step == c.width * c.column_step &&
           (c.batch == 1 || c.image_step == c.height * c.row_step);
}

class Forward {
public:
    Forward(const Convolution& convolution, const Grid& grid, const float* x, float* y)
        : c_(convolution), grid_(grid), x_(x), y_(y) {}

    // Down the pixels first: the weights of a group stay in the cache.
    void block(Index number, const MutableRows& patches, void* scratch) const {
        const Index first = number % grid_.down * grid_.rows, part = number / grid_.down;
        const Index rows = std::min(grid_.rows, grid_.pixels - first);
        const Index group = part / grid_.across, column = part % grid_.across * grid_.columns;
        multiply(group, column, first, rows, operand(group, first, rows, patches), scratch);
    }

private:
    Lhs operand(Index group, Index first, Index rows, const MutableRows& patches) const {
        const Index channel = group * c_.channels / c_.groups;
        if (in_place(c_))
            return lhs_of(rows_of(x_ + first * c_.column_step + channel, c_.column_step));
        const Index per_image = c_.out_height() * c_.out_width();
        for (Index done = 0; done < rows;) {  // the pixels may be those of several images
            const Index image = (first + done) / per_image, pixel = (first + done) % per_image;
            const Index count = std::min(rows - done, per_image - pixel);
            best_kernels().gather_patches(
                {.image = x_ + image * c_.image_step + channel * c_.channel_step,
                 .height = c_.height,
                 .width = c_.width,
                 .channels = c_.channels / c_.groups,
                 .row_step = c_.row_step,
                 .column_step = c_.column_step,
                 .channel_step = c_.channel_step,
                 .kernel_height = c_.kernel_height,
                 .kernel_width = c_.kernel_width,
                 .stride = c_.stride,
                 .padding = c_.padding,
                 .out_width = c_.out_width(),
                 .first = pixel,
                 .count = count,
                 .to = patches.from(done)});
            done += count;
        }
        return lhs_of(patches);
    }

    void multiply(Index group, Index column, Index first, Index rows, const Lhs& a,
                  void* scratch) const {
        const Index outputs = c_.outputs / c_.groups, output = group * outputs + column;
        const Index at = first * c_.outputs + output;
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
        products(c_.format).multiply({.m = rows,
                                      .n = std::min(grid_.columns, outputs - column),
                                      .k = convolution_k(c_),
                                      .a = a,
                                      .b = c_.weights[std::size_t(group)],
                                      .column_begin = column,
                                      .epilogue = &epilogue,
                                      .scratch = scratch});
    }

    const Convolution& c_;
    const Grid& grid_;
    const float* x_;
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
    const Grid grid(c, k);
    const int workers = int(std::max<Index>(1, std::min<Index>(grid.blocks, c.threads)));
    struct Memory {
        MutableRows patches;
        std::byte* scratch;
    };
    const PerWorker memory(workspace.memory, workers, [&](Arena& arena) {
        return Memory{arena.rows(c.format, in_place(c) ? 0 : grid.rows, k),
                      arena.take(product_scratch(k))};
    });
    const Forward forward(c, grid, x, y);
    run_workers(workers, [&](int worker) {
        const Share share = share_of(grid.blocks, worker, workers);
        const Memory m = memory(worker);
        for (Index block = share.begin; block < share.end; ++block)
            forward.block(block, m.patches, m.scratch);
    });
}

}  // namespace cait::kernels
