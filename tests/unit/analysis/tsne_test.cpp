#include "analysis/tsne.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/principal.h"
#include "cait/error.h"
#include "golden/golden_case.h"
#include "unit/analysis/look_pattern.h"

namespace cait {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

nlohmann::json reference() { return golden::read_json("look.json")["tsne"]; }
Vectors inputs(std::size_t rows = 150) { return look_test::vectors("look tsne", rows, 10); }

// How well the plane keeps the ten nearest neighbours (Venna & Kaski 2001), as scikit-learn has it.
double trustworthiness(const Vectors& vectors, const std::vector<PlanePoint>& points) {
    constexpr std::size_t kNeighbours = 10;
    const std::size_t count = points.size();
    const auto order_by = [&](std::size_t from, const auto& distance) {
        std::vector<std::size_t> order;
        for (std::size_t j = 0; j < count; ++j)
            if (j != from) order.push_back(j);
        std::ranges::stable_sort(order, {}, [&](std::size_t j) { return distance(from, j); });
        return order;
    };
    double penalty = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto before = order_by(i, [&](std::size_t a, std::size_t b) {
            double sum = 0;
            for (std::size_t k = 0; k < vectors.columns; ++k)
                sum += std::pow(double(vectors.row(a)[k]) - double(vectors.row(b)[k]), 2);
            return sum;
        });
        const auto after = order_by(i, [&](std::size_t a, std::size_t b) {
            return std::hypot(points[a][0] - points[b][0], points[a][1] - points[b][1]);
        });
        for (std::size_t k = 0; k < kNeighbours; ++k) {
            const auto rank = std::size_t(std::ranges::find(before, after[k]) - before.begin()) + 1;
            if (rank > kNeighbours) penalty += double(rank - kNeighbours);
        }
    }
    const double n = double(count), k = kNeighbours;
    return 1 - penalty * 2 / (n * k * (2 * n - 3 * k - 1));
}

TEST(Tsne, AffinitiesAreTheReferences) {
    const nlohmann::json numpy = reference();
    const std::vector<float> found = tsne_affinities(inputs(), numpy["perplexity"], 2);
    double sum = 0, squares = 0;
    for (const float p : found) {
        sum += p;
        squares += double(p) * double(p);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    // The width is searched until the entropy is right to 1e-5.
    const double expected = numpy["affinities"]["sum_of_squares"];
    EXPECT_NEAR(squares, expected, 1e-4 * expected);
    for (std::size_t j = 0; j < 150; ++j) {
        EXPECT_NEAR(found[j], numpy["affinities"]["row0"][j].get<double>(), 2e-7) << j;
        EXPECT_EQ(found[j], found[j * 150]);
    }
}

TEST(Tsne, GradientIsThatOfFloat64Differences) {
    const nlohmann::json numpy = reference()["gradient"];
    const std::vector<float> affinities = tsne_affinities(inputs(40), numpy["perplexity"], 1);
    std::vector<PlanePoint> places(40);
    const std::uint64_t hash = golden::hash_of("look places");
    for (std::size_t i = 0; i < 80; ++i) places[i / 2][i % 2] = 2 * golden::uniform(hash, i);
    const TsnePlane plane(affinities, places, 2);
    EXPECT_NEAR(plane.divergence(), numpy["divergence"].get<double>(), 1e-5);
    for (const auto& [name, exaggeration] : {std::pair{"plain", 1.0}, {"exaggerated", 12.0}}) {
        const std::vector<PlanePoint> found = plane.gradient(exaggeration);
        for (std::size_t i = 0; i < 80; ++i)
            EXPECT_NEAR(found[i / 2][i % 2], numpy[name][i / 2][i % 2].get<double>(),
                        2e-6 * exaggeration)
                << name << i;
    }
}

// Central differences of our own divergence, which is what an optimum is about.
TEST(Tsne, GradientIsThatOfTheDivergence) {
    const std::vector<float> affinities = tsne_affinities(inputs(30), 6, 1);
    std::vector<PlanePoint> places(30);
    for (std::size_t i = 0; i < 60; ++i) places[i / 2][i % 2] = std::sin(double(3 * i + 1));
    const std::vector<PlanePoint> slopes = TsnePlane(affinities, places, 1).gradient(1);
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < 60; ++i) {
        std::vector<PlanePoint> up = places, down = places;
        up[i / 2][i % 2] += kStep;
        down[i / 2][i % 2] -= kStep;
        const double difference = (TsnePlane(affinities, up, 1).divergence() -
                                   TsnePlane(affinities, down, 1).divergence()) /
                                  (2 * kStep);
        EXPECT_NEAR(slopes[i / 2][i % 2], difference, 1e-8) << i;
    }
}

// From a start of spread 1, 15 steps with exaggeration and 15 without, as scikit-learn makes them.
TEST(Tsne, StepsAreScikitLearns) {
    const nlohmann::json sklearn = reference();
    const std::vector<float> affinities = tsne_affinities(inputs(40), 5, 1);
    const Principal found = principal_components(inputs(40), "test", {.scores = 2});
    const double deviation = std::sqrt(found.variances[0] * 39 / 40);
    std::vector<PlanePoint> start(40);
    for (std::size_t i = 0; i < 80; ++i) start[i / 2][i % 2] = found.scores[i] / deviation;
    TsnePlane plane(affinities, start, 2);
    TsneOptions options;
    options.exploring = 15;
    options.iterations = 30;
    options.rate = 1;
    EXPECT_EQ(plane.optimise(options), 30U);
    // A gain changes by jumps: affinities that differ by 1e-4 move a point by 2e-3 of the whole.
    double most = 0;
    for (std::size_t i = 0; i < 80; ++i)
        most = std::max(most, std::fabs(sklearn["steps"][i / 2][i % 2].get<double>()));
    for (std::size_t i = 0; i < 80; ++i)
        EXPECT_NEAR(plane.points()[i / 2][i % 2], sklearn["steps"][i / 2][i % 2].get<double>(),
                    3e-3 * most)
            << i;
}

TEST(Tsne, EndsWhereScikitLearnEnds) {
    const nlohmann::json sklearn = reference();
    TsneOptions options;
    options.perplexity = sklearn["perplexity"];
    options.rate = sklearn["rate"];
    const Tsne found = tsne(inputs(), "test", options);
    const double expected = sklearn["divergence"];
    EXPECT_NEAR(found.divergence, expected, 0.01 * expected);
    EXPECT_NEAR(trustworthiness(inputs(), found.points), sklearn["trustworthiness"].get<double>(),
                0.005);
    EXPECT_EQ(found.iterations, 1000U);
}

TEST(Tsne, DoesNotDependOnThreads) {
    TsneOptions one, three;
    one.perplexity = three.perplexity = 8;
    one.iterations = three.iterations = 120;
    one.threads = 1;
    three.threads = 3;
    const Tsne a = tsne(inputs(61), "test", one), b = tsne(inputs(61), "test", three);
    EXPECT_EQ(a.points, b.points);
    EXPECT_EQ(a.divergence, b.divergence);
}

TEST(Tsne, TakesImagesThatAllLookAlike) {
    Vectors same{12, 4, std::vector<float>(48, 0.5F)};
    TsneOptions options;
    options.perplexity = 3;
    options.iterations = 300;
    const Tsne found = tsne(same, "test", options);
    for (const PlanePoint& point : found.points)
        EXPECT_TRUE(std::isfinite(point[0]) && std::isfinite(point[1]));
}

TEST(Tsne, SaysWhatIsWrong) {
    EXPECT_THAT([] { tsne(inputs(3), "m.safetensors", {}); },
                ThrowsMessage<Error>(HasSubstr("m.safetensors: expected 4 to 5000 images")));
    EXPECT_THAT([] { tsne(inputs(30), "m", {}); },
                ThrowsMessage<UsageError>(HasSubstr("less than the 30 images, found 30")));
    Vectors broken = inputs(40);
    broken.values[77] = std::numeric_limits<float>::infinity();
    EXPECT_THAT([&] { tsne(broken, "m", {}); },
                ThrowsMessage<Error>(HasSubstr("m: vector 7: expected finite values")));
    Vectors many{5001, 1, std::vector<float>(5001)};
    EXPECT_THAT([&] { tsne(many, "m", {}); }, ThrowsMessage<Error>(HasSubstr("found 5001")));
}

}  // namespace
}  // namespace cait
