// The matrices of a ResMLP translator as pictures, by hand.
#include "analysis/place_filters.h"

#include <gmock/gmock.h>

#include "cait/error.h"
#include "image/draw/colour_map.h"
#include "support/tiny_translator.h"

namespace cait {
namespace {

// All numbers of the matrices are `base`, but for three of each.
Model with_matrices(float base) {
    Model model = test::tiny_translator({.mixer = "resmlp", .longest = 8});
    std::map<std::string, Tensor> weights = model.weights();
    for (auto& [name, tensor] : weights) {
        if (!name.ends_with("mix.weight")) continue;
        Tensor made = Tensor::empty(DType::f32, tensor.shape());
        std::ranges::fill(made.mutable_floats(), base);
        made.mutable_floats()[8 * 2 + 1] = 1;    // place 2 reads place 1
        made.mutable_floats()[8 * 5 + 3] = -2;   // the largest
        made.mutable_floats()[8 * 1 + 7] = 100;  // beyond what a decoder reads
        tensor = made;
    }
    return model.with_weights(std::move(weights));
}

Colour pixel(const Image& image, std::int64_t x, std::int64_t y) {
    const std::uint8_t* at = image.row(y) + 3 * x;
    return {at[0], at[1], at[2]};
}

TEST(PlaceFilters, AreTheMatricesRowByRow) {
    const auto filters = place_filters(with_matrices(0));
    ASSERT_EQ(filters.size(), 4U);
    EXPECT_EQ(filters[1].part, "encoder");
    EXPECT_EQ(filters[1].layer, 1);
    EXPECT_EQ(filters[2].part, "decoder");
    EXPECT_EQ(filters[2].layer, 0);
    for (const PatchFilters& one : filters) {
        ASSERT_EQ(one.tiles.width, 8);
        ASSERT_EQ(one.tiles.height, 8);
        const bool decoder = one.part == "decoder";
        const double largest = decoder ? 2 : 100;
        EXPECT_EQ(pixel(one.tiles, 1, 2), signed_colour(1 / largest));
        EXPECT_EQ(pixel(one.tiles, 3, 5), signed_colour(-2 / largest));
        EXPECT_EQ(pixel(one.tiles, 0, 0), signed_colour(0));
        EXPECT_EQ(pixel(one.tiles, 7, 1), decoder ? (Colour{128, 128, 128}) : signed_colour(1));
    }
}

TEST(PlaceFilters, SparsityCountsWhatIsRead) {
    const auto layers = place_sparsity(with_matrices(0));
    ASSERT_EQ(layers.size(), 4U);
    EXPECT_NEAR(layers[0].patches, 63.0 / 64, 1e-12);  // all but the 100
    EXPECT_NEAR(layers[3].patches, 34.0 / 36, 1e-12);  // all but two of a triangle
    EXPECT_GT(layers[0].first, 0);
    EXPECT_LT(layers[0].first, 0.5);
}

TEST(PlaceFilters, NeedAMatrix) {
    EXPECT_THROW(place_filters(test::tiny_translator({.mixer = "attention"})), UsageError);
}

}  // namespace
}  // namespace cait
