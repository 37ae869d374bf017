#include "graph/id_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "graph/builder.h"
#include "support/batch_axis.h"

namespace cait {
namespace {

TEST(IdLimits, AreTheSmallestTables) {
    Builder b({.taps = {"y", "z", "p"}});
    const Value images = b.input("images", {B, 4});
    const Value ids = b.input("ids", {B, 4}, DType::i64);
    const Value places = b.input("places", {B}, DType::i64);
    b.output("y", b.mul(b.embedding(ids, b.param("large", {9, 3}, Init::zeros())),
                        b.reshape(images, {B, 4, 1})));
    b.output("z", b.embedding(ids, b.param("small", {7, 3}, Init::zeros())));
    b.output("p", b.sinusoids(places, 4, 0));
    EXPECT_THAT(id_limits(b.finish()), testing::ElementsAre(0, 7, 0));
}

std::string id_error(const Shape& shape, const std::vector<std::int64_t>& ids, std::int64_t limit) {
    try {
        check_ids({.name = "source", .dtype = DType::i64, .shape = shape}, ids, limit);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(IdLimits, AnErrorNamesTheInputThePlaceTheRangeAndTheId) {
    EXPECT_EQ(id_error({B, 3}, {0, 1, 2, 6, 5, 4}, 7), "none");
    EXPECT_EQ(id_error({B, 3}, {0, 1, 2, 6, 7, 4}, 7),
              "[input] source[1, 1]: expected an id of 0…6, found 7");
    EXPECT_EQ(id_error({B, 2, 2}, {0, 0, 0, 0, 0, 0, -9, 0}, 7),
              "[input] source[1, 1, 0]: expected an id of 0…6, found -9");
    EXPECT_EQ(id_error({B}, {0, 0, 700}, 7), "[input] source[2]: expected an id of 0…6, found 700");
    EXPECT_EQ(id_error({B}, {-1}, 0), "none");  // of no table
}

}  // namespace
}  // namespace cait
