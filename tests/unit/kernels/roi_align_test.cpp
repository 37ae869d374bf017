// RoIAlign of every instruction set against torchvision's (make_regions.py) and against plain loops
// over samples.
#include "kernels/roi_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "golden/golden_case.h"
#include "golden/made_boxes.h"
#include "kernels/dispatch.h"
#include "support/case_count.h"
#include "unit/kernels/images.h"

namespace cait::kernels {
namespace {

using test::Doubles;
using test::Floats;
using test::random_floats;

constexpr float kGuard = 42;  // behind what is written

// All results one after the other.
Floats aligned_regions(const KernelTable& table, const RoiAlignArgs& args,
                       const std::vector<Roi>& rois, int threads = 1) {
    const std::size_t each = std::size_t(args.channels * args.bins * args.bins);
    Floats results(rois.size() * each + 1, kGuard);
    std::vector<float*> places;
    for (std::size_t i = 0; i < rois.size(); ++i) places.push_back(results.data() + i * each);
    ThreadPool pool(threads);
    roi_align(table, pool, args, rois, places);
    EXPECT_EQ(results.back(), kGuard);
    results.pop_back();
    return results;
}

Floats map_gradient_of(const KernelTable& table, const RoiAlignArgs& args,
                       const std::vector<Roi>& rois, const Floats& gradient, std::size_t map_size,
                       int threads = 1) {
    const std::size_t each = std::size_t(args.channels * args.bins * args.bins);
    std::vector<const float*> places;
    for (std::size_t i = 0; i < rois.size(); ++i) places.push_back(gradient.data() + i * each);
    Floats result(map_size, 0.5F);  // it is added to what is there
    ThreadPool pool(threads);
    roi_align_backward(table, pool, args, rois, places, result.data());
    for (float& value : result) value -= 0.5F;
    return result;
}

// The definition: a mean of bilinear samples, in places that are computed in float32.
double plain_value(const RoiAlignArgs& a, const Roi& roi, Index channel, Index row, Index column) {
    const float shift = a.aligned ? 0.5F : 0;
    const float begin[] = {roi.top * a.scale - shift, roi.left * a.scale - shift};
    const float end[] = {roi.bottom * a.scale - shift, roi.right * a.scale - shift};
    const Index place[] = {row, column}, size[] = {a.height, a.width};
    struct Weighted {
        Index at;
        double weight;
    };
    std::vector<Weighted> seen[2];
    for (int axis = 0; axis < 2; ++axis) {
        const float extent =
            a.aligned ? end[axis] - begin[axis] : std::max(end[axis] - begin[axis], 1.0F);
        const float bin = extent / float(a.bins);
        const Index samples = a.sampling > 0 ? a.sampling : Index(std::ceil(bin));
        for (Index i = 0; i < samples; ++i) {
            float at =
                begin[axis] + float(place[axis]) * bin + (float(i) + 0.5F) * bin / float(samples);
            if (at < -1 || at > float(size[axis])) continue;
            at = std::clamp(at, 0.0F, float(size[axis] - 1));
            const auto low = Index(at);
            const double share = double(at) - double(low);
            seen[axis].push_back({low, (1 - share) / double(samples)});
            seen[axis].push_back({std::min(low + 1, size[axis] - 1), share / double(samples)});
        }
    }
    const float* map = a.map + (roi.image * a.channels + channel) * a.height * a.width;
    double sum = 0;
    for (const Weighted& y : seen[0])
        for (const Weighted& x : seen[1])
            sum += y.weight * x.weight * double(map[y.at * a.width + x.at]);
    return sum;
}

class RoiAlignKernels : public testing::TestWithParam<const KernelTable*> {};

TEST_P(RoiAlignKernels, GiveTorchvisionsResultsAndGradients) {
    const nlohmann::json stored = golden::read_json("roi_align.json");
    std::vector<Roi> rois;
    for (const auto& roi : stored["rois"]) rois.push_back({roi[0], roi[1], roi[2], roi[3], roi[4]});
    ASSERT_EQ(rois.size(), 13U);
    const Floats map = golden::made_numbers("roi_align.map", 2 * 3 * 11 * 13);
    test::CaseCount cases(6);
    for (const nlohmann::json& one : stored["cases"]) {
        RoiAlignArgs args{.map = map.data(), .channels = 3, .height = 11, .width = 13};
        args.scale = 0.25F;
        args.bins = one["bins"];
        args.sampling = one["sampling"];
        args.aligned = one["aligned"];
        SCOPED_TRACE(testing::Message() << args.bins << " bins, " << args.sampling << " samples, "
                                        << (args.aligned ? "aligned" : "not aligned"));
        const Floats found = aligned_regions(*GetParam(), args, rois);
        const auto wanted = one["result"].get<Doubles>();
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
        const Floats gradient = golden::made_numbers("roi_align.gradient", found.size());
        const Floats back = map_gradient_of(*GetParam(), args, rois, gradient, map.size());
        const auto slopes = one["gradient"].get<Doubles>();
        ASSERT_EQ(back.size(), slopes.size());
        for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], slopes[i], 2e-5) << i;
        ++cases;
    }
}

// Regions anywhere on and around the map, of any size up to all of it; some the wrong way round.
std::vector<Roi> random_rois(std::size_t count, unsigned seed, Index images, float width,
                             float height) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> share(-0.2F, 1.2F);
    std::vector<Roi> rois;
    for (std::size_t i = 0; i < count; ++i) {
        Roi roi{Index(generator() % unsigned(images)), share(generator) * width,
                share(generator) * height, share(generator) * width, share(generator) * height};
        if (i % 8 != 0) {
            if (roi.right < roi.left) std::swap(roi.left, roi.right);
            if (roi.bottom < roi.top) std::swap(roi.top, roi.bottom);
        }
        rois.push_back(roi);
    }
    return rois;
}

TEST_P(RoiAlignKernels, AreMeansOfBilinearSamples) {
    struct {
        Index height, width, bins, sampling;
        bool aligned;
    } const shapes[] = {{9, 70, 7, 0, true},  {40, 37, 14, 0, true}, {6, 5, 7, 2, false},
                        {1, 1, 3, 0, true},   {33, 17, 5, 2, true},  {12, 48, 17, 0, false},
                        {21, 34, 1, 3, true}, {5, 100, 2, 0, false}};
    for (const auto& shape : shapes) {
        SCOPED_TRACE(testing::Message() << shape.height << "x" << shape.width << ", " << shape.bins
                                        << " bins, " << shape.sampling << " samples");
        const Index images = 2, channels = 5;
        const Floats map = random_floats(images * channels * shape.height * shape.width, 1);
        RoiAlignArgs args{.map = map.data(), .channels = channels};
        args.height = shape.height;
        args.width = shape.width;
        args.scale = 0.25F;
        args.bins = shape.bins;
        args.sampling = shape.sampling;
        args.aligned = shape.aligned;
        const std::vector<Roi> rois = random_rois(25, unsigned(shape.width), images,
                                                  float(shape.width) * 4, float(shape.height) * 4);
        const Floats found = aligned_regions(*GetParam(), args, rois);
        std::size_t at = 0;
        for (const Roi& roi : rois)
            for (Index c = 0; c < channels; ++c)
                for (Index y = 0; y < args.bins; ++y)
                    for (Index x = 0; x < args.bins; ++x)
                        ASSERT_NEAR(found[at++], plain_value(args, roi, c, y, x), 1e-5);
        // The gradient is the transposed map: <result, g> = <map, gradient of g>.
        const Floats gradient = random_floats(std::int64_t(found.size()), 2);
        const Floats back = map_gradient_of(*GetParam(), args, rois, gradient, map.size());
        const double forward = test::dot(test::widen(found), test::widen(gradient));
        EXPECT_NEAR(test::dot(test::widen(map), test::widen(back)), forward,
                    1e-6 * double(found.size()) + 1e-4);
    }
}

TEST_P(RoiAlignKernels, RegionsThatShowNothingAreZero) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    const std::vector<Roi> rois{{0, kNone, 0, 8, 8},       {0, 0, 0, kEndless, 8},
                                {0, -kEndless, 0, 8, 8},   {0, -1e30F, -1e30F, 1e30F, 1e30F},
                                {0, 100, 100, 120, 120},   {0, 3, 3, 3, 9},
                                {0, -3e38F, 0, 3e38F, 8},  {0, -80, 0, -40, 8},
                                {0, 1e9F, 0, 1e9F + 9, 8}, {0, 8, 8, 0, 0}};
    const Floats map(2 * 8 * 8, 1.0F);
    RoiAlignArgs args{.map = map.data(), .channels = 2, .height = 8, .width = 8};
    const Floats found = aligned_regions(*GetParam(), args, rois);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 0) << i;
    const Floats gradient(found.size(), 1.0F);
    const Floats back = map_gradient_of(*GetParam(), args, rois, gradient, map.size());
    for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 0) << i;
}

// A million places wide: samples beyond the map are not visited one by one.
TEST_P(RoiAlignKernels, LargeRegionsShowTheMapInOneBin) {
    const Floats map(8 * 8, 1.0F);
    RoiAlignArgs args{.map = map.data(), .channels = 1, .height = 8, .width = 8};
    args.bins = 3;
    const Floats found =
        aligned_regions(*GetParam(), args, {{0, -1.5e6F, -1.5e6F, 1.5e6F, 1.5e6F}});
    EXPECT_NEAR(found[4], 100e-12, 40e-12);  // 10 of a million samples each way
    for (const std::size_t i : {0, 1, 2, 3, 5, 6, 7, 8}) EXPECT_EQ(found[i], 0) << i;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RoiAlignKernels, testing::ValuesIn(runnable_kernels()),
                         [](const auto& i) { return std::string(i.param->name); });

// More regions than have their weights made at once.
TEST(RoiAlignForward, IsTheSameForAnyThreadsAndOneByOne) {
    const Floats map = random_floats(2 * 11 * 9 * 12, 1);
    RoiAlignArgs args{.map = map.data(), .channels = 11, .height = 9, .width = 12};
    args.scale = 0.5F;
    const std::vector<Roi> rois = random_rois(1100, 3, 2, 24, 18);
    const Floats first = aligned_regions(best_kernels(), args, rois);
    const Floats gradient = random_floats(std::int64_t(first.size()), 4);
    const Floats back = map_gradient_of(best_kernels(), args, rois, gradient, map.size());
    for (const int threads : test::kThreadCounts) {
        EXPECT_EQ(aligned_regions(best_kernels(), args, rois, threads), first);
        EXPECT_EQ(map_gradient_of(best_kernels(), args, rois, gradient, map.size(), threads), back);
    }
    const std::size_t each = first.size() / rois.size();
    for (const std::size_t i : {0U, 511U, 512U, 1023U, 1024U, 1099U}) {
        const Floats alone = aligned_regions(best_kernels(), args, {rois[i]});
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), first.data() + i * each)) << i;
    }
}

}  // namespace
}  // namespace cait::kernels
