#include "analysis/place_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "cait/error.h"
#include "image/draw/colour_map.h"
#include "image/draw/draw.h"
#include "models/catalogue.h"

namespace cait {

namespace {

struct PlaceLayer {
    std::string part;  // "encoder" or "decoder"
    std::int64_t layer = 0;
    Tensor mix, first, second;  // across the places, and the two of the MLP
};

std::vector<PlaceLayer> place_layers(const Model& model) {
    const std::map<std::string, Tensor>& weights = model.weights();
    std::vector<PlaceLayer> layers;
    for (const char* part : {"encoder", "decoder"})
        for (std::int64_t i = 0;; ++i) {
            const std::string prefix = fmt::format("{}.layers.{}.", part, i);
            if (!weights.contains(prefix + "mix.weight")) break;
            const auto of = [&](const char* name) {
                return convert(weights.at(prefix + name), DType::f32);
            };
            layers.push_back({part, i, of("mix.weight"), of("fc1.weight"), of("fc2.weight")});
        }
    if (layers.empty())
        throw UsageError(fmt::format(
            "{}: expected a model that mixes places by a matrix (ResMLP), found another",
            model.spec().name));
    return layers;
}

// The rows of a matrix that a layer reads: a decoder's places see themselves and those before.
std::span<const float> read_part(const PlaceLayer& layer, std::int64_t row) {
    const std::int64_t places = layer.mix.shape()[1];
    const std::int64_t seen = layer.part == "decoder" ? row + 1 : places;
    return layer.mix.floats().subspan(std::size_t(row * places), std::size_t(seen));
}

Image drawn(const PlaceLayer& layer) {
    constexpr Colour kNeverRead{128, 128, 128};
    const std::int64_t places = layer.mix.shape()[0];
    float largest = 0;
    for (std::int64_t row = 0; row < places; ++row)
        for (const float value : read_part(layer, row))
            largest = std::max(largest, std::fabs(value));
    Image image = filled(places, places, kNeverRead);
    for (std::int64_t row = 0; row < places; ++row) {
        std::uint8_t* pixel = image.row(row);
        for (const float value : read_part(layer, row))
            pixel = std::ranges::copy(
                        signed_colour(largest > 0 ? double(value) / double(largest) : 0), pixel)
                        .out;
    }
    return image;
}

}  // namespace

std::vector<PatchFilters> place_filters(const Model& model) {
    std::vector<PatchFilters> filters;
    for (const PlaceLayer& layer : place_layers(model))
        filters.push_back({.layer = layer.layer, .tiles = drawn(layer), .part = layer.part});
    return filters;
}

std::vector<LayerSparsity> place_sparsity(const Model& model) {
    std::vector<LayerSparsity> result;
    for (const PlaceLayer& layer : place_layers(model)) {
        std::vector<float> read;
        for (std::int64_t row = 0; row < layer.mix.shape()[0]; ++row) {
            const auto part = read_part(layer, row);
            read.insert(read.end(), part.begin(), part.end());
        }
        result.push_back({.layer = layer.layer,
                          .patches = sparsity(read),
                          .first = sparsity(layer.first.floats()),
                          .second = sparsity(layer.second.floats()),
                          .part = layer.part});
    }
    return result;
}

}  // namespace cait
