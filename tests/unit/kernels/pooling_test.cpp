// Pooling and means of channels against plain loops.
#include "kernels/pooling.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/dispatch.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

struct PoolingCase {
    Index height, width, channels, kernel, stride, padding;
    bool ceil;
};
const PoolingCase kPoolingCases[] = {{8, 8, 5, 2, 2, 0, false},  {7, 9, 70, 2, 2, 0, true},
                                     {9, 7, 37, 3, 2, 1, false}, {8, 8, 16, 3, 2, 1, true},
                                     {1, 1, 33, 1, 1, 0, false}, {5, 1, 64, 3, 1, 1, false},
                                     {2, 2, 7, 4, 4, 2, false},  {13, 11, 130, 3, 4, 1, true}};

Pooling pooling(const PoolingCase& s, bool maximum, Index batch = 1) {
    Pooling p{.batch = batch, .height = s.height, .width = s.width, .channels = s.channels};
    p.maximum = maximum;
    p.kernel = s.kernel;
    p.stride = s.stride;
    p.padding = s.padding;
    p.ceil = s.ceil;
    return p;
}

Doubles plain(const Pooling& p, const Floats& x) {
    const struct {
        Index height, width, kernel_height, kernel_width, stride, padding;
    } window{p.height, p.width, p.kernel, p.kernel, p.stride, p.padding};
    Doubles y;
    test::for_windows(p.batch, p.out_height(), p.out_width(), [&](Index b, Index oy, Index ox) {
        for (Index c = 0; c < p.channels; ++c) {
            double most = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
            test::in_window(window, oy, ox, [&](Index iy, Index ix, Index, Index) {
                const double value =
                    x[std::size_t(((b * p.height + iy) * p.width + ix) * p.channels + c)];
                most = std::max(most, value);
                sum += value;
                ++count;
            });
            y.push_back(p.maximum ? most : sum / count);
        }
    });
    return y;
}

class PoolingKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(PoolingKernels, AreMaximaAndAveragesOfWindows) {
    for (const PoolingCase& each : kPoolingCases)
        for (const bool maximum : {true, false}) {
            SCOPED_TRACE(testing::Message() << each.height << "x" << each.width << "x"
                                            << each.channels << " kernel " << each.kernel);
            const Pooling p = pooling(each, maximum);
            const Floats x = random_floats(p.height * p.width * p.channels, 1);
            const Doubles expected = plain(p, x);
            Floats y(expected.size(), 42.0F);
            PoolArgs args{.image = x.data(), .height = p.height, .width = p.width};
            args.channels = p.channels;
            args.maximum = maximum;
            args.kernel = p.kernel;
            args.stride = p.stride;
            args.padding = p.padding;
            args.row_end = p.out_height();
            args.out_width = p.out_width();
            args.out = y.data();
            GetParam()->pool(args);
            for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-6);
        }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PoolingKernels, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(PoolForward, IsTheSameForAnyThreadsAndBatch) {
    for (const PoolingCase& each : kPoolingCases)
        for (const bool maximum : {true, false})
            for (const int threads : test::kThreadCounts) {
                Pooling p = pooling(each, maximum, 3);
                p.threads = threads;
                const Floats x = random_floats(p.batch * p.height * p.width * p.channels, 1);
                const Doubles expected = plain(p, x);
                Floats y(expected.size()), alone(y.size() / 3);
                pool_forward(p, x.data(), y.data());
                for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-6);
                p.batch = 1;
                pool_forward(p, x.data(), alone.data());
                EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.begin()));
            }
}

TEST(PartMeans, AreThoseOfOverlappingPartsForAnyThreadsAndBatch) {
    for (const Index size : {1, 2, 3, 6}) {
        PartMeans p{.batch = 3, .height = 5, .width = 8, .channels = 37, .size = size};
        const Floats x = random_floats(p.batch * p.height * p.width * p.channels, 1);
        Floats first;
        for (const int threads : test::kThreadCounts) {
            p.threads = threads;
            Floats y(std::size_t(p.batch * size * size * p.channels), 42.0F);
            part_means(p, x.data(), y.data());
            if (first.empty()) first = y;
            EXPECT_EQ(y, first);
        }
        for (std::size_t i = 0; i < first.size(); ++i) {
            const Index c = Index(i) % p.channels, place = Index(i) / p.channels;
            const Index column = place % size, row = place / size % size, b = place / size / size;
            double sum = 0, count = 0;
            for (Index iy = 0; iy < p.height; ++iy)
                for (Index ix = 0; ix < p.width; ++ix)
                    if (iy >= row * p.height / size && iy * size < (row + 1) * p.height &&
                        ix >= column * p.width / size && ix * size < (column + 1) * p.width) {
                        sum +=
                            x[std::size_t(((b * p.height + iy) * p.width + ix) * p.channels + c)];
                        ++count;
                    }
            ASSERT_NEAR(first[i], sum / count, 1e-6);
        }
    }
}

TEST(ChannelMeans, AreTheSameForAnyThreadsAndBatch) {
    for (const Index channels : {1, 37, 200})
        for (const Index pixels : {1, 49, 500}) {
            const Index batch = 3;
            const Floats x = random_floats(batch * pixels * channels, 1);
            Workspace workspace;
            const auto means = [&](Index images, int threads) {
                Floats found(std::size_t(images * channels), 42.0F);
                channel_means(images, pixels, channels, threads, x.data(), found.data(), workspace);
                return found;
            };
            const Floats expected = means(batch, 1);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const Index image = Index(i) / channels, c = Index(i) % channels;
                double sum = 0;
                for (Index p = 0; p < pixels; ++p)
                    sum += double(x[std::size_t((image * pixels + p) * channels + c)]);
                ASSERT_NEAR(expected[i], sum / double(pixels), 1e-6);
            }
            for (const int threads : test::kThreadCounts) {
                EXPECT_EQ(means(batch, threads), expected);
                EXPECT_EQ(means(1, threads), Floats(expected.begin(), expected.begin() + channels));
            }
        }
}

}  // namespace
}  // namespace cait::kernels
