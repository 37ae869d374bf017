// Linked into `cait-torch`: carries out `cait predict` and `cait attend`.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cait/train.h"
#include "image/codec/encode.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/draw.h"
#include "image/draw/heat_map.h"
#include "models/catalogue.h"
#include "predict.h"
#include "progress.h"
#include "torch/runtime.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

template <class Arguments>
Model load_model(const Arguments& arguments) {
    Model model =
        Model::load(weights_file(arguments.weights, arguments.model.model), arguments.model.model,
                    arguments.model.settings(), arguments.model.load_options());
    for (const std::string& note : model.notes()) fmt::print(stderr, "note: {}\n", note);
    return model;
}

std::map<std::string, Tensor> look(const Model& model, const Tensor& images,
                                   std::vector<std::string> taps) {
    use_all_cores();
    Progress progress("predict", "images");
    ForwardOptions options;
    options.taps = std::move(taps);
    options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    return forward(model, images, options);
}

std::span<const float> row(const Tensor& tensor, std::size_t index) {
    const std::size_t size = tensor.floats().size() / std::size_t(tensor.shape()[0]);
    return tensor.floats().subspan(index * size, size);
}

// "sneaker 98.7 %", and what it is where that is known and different.
std::string verdict(const Prediction& prediction, const Picture& picture) {
    std::string text = fmt::format("{} {:.1f} %", prediction.name, 100 * prediction.probability);
    if (picture.label && *picture.label != prediction.name) text += "\nis: " + *picture.label;
    return text;
}

// One head of the first query, or the mean of all heads where `head` is negative.
std::vector<float> patch_weights(std::span<const float> map, std::int64_t heads, std::int64_t keys,
                                 std::int64_t patches, std::int64_t head) {
    const std::size_t per_head = map.size() / std::size_t(heads);
    const std::int64_t prefix = keys - patches;  // class and distillation tokens come first
    std::vector<float> values(static_cast<std::size_t>(patches));
    const std::int64_t first = head < 0 ? 0 : head, last = head < 0 ? heads : head + 1;
    for (std::int64_t h = first; h < last; ++h)
        for (std::int64_t k = prefix; k < keys; ++k)
            values[std::size_t(k - prefix)] +=
                map[std::size_t(h) * per_head + std::size_t(k)] / float(last - first);
    return values;
}

}  // namespace

void run_on_torch(const PredictArguments& arguments, const Invocation&) {
    const Model model = load_model(arguments);
    const std::vector<Picture> pictures = arguments.pictures.read();
    const auto outputs = look(model, prepare(model, pictures), {"logits"});
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        nlohmann::json predictions = nlohmann::json::array();
        if (!arguments.json) fmt::print("{}", pictures[i].name);
        for (const Prediction& prediction :
             top_predictions(model, row(outputs.at("logits"), i), arguments.top)) {
            predictions.push_back({{"label", prediction.name},
                                   {"index", prediction.index},
                                   {"score", prediction.probability}});
            if (!arguments.json)
                fmt::print("  {} {:.1f} %", prediction.name, 100 * prediction.probability);
        }
        if (!arguments.json) fmt::print("\n");
        list.push_back({{"image", pictures[i].name}, {"predictions", predictions}});
        if (pictures[i].label) list.back()["label"] = *pictures[i].label;
    }
    if (arguments.json)
        fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void run_on_torch(const AttendArguments& arguments, const Invocation&) {
    const Model model = load_model(arguments);
    const std::vector<Picture> pictures = arguments.pictures.read();
    std::vector<Image> shown;
    const Tensor images = prepare(model, pictures, &shown);
    const std::string tap = fmt::format("class_attention.{}", arguments.layer);
    const auto outputs = look(model, images, {"logits", tap});
    const Tensor& maps = outputs.at(tap);  // [B, heads, queries, keys]
    const std::int64_t heads = maps.shape()[1], keys = maps.shape()[3];
    const Grid grid = record(model.spec()).patch_grid;
    if (keys < grid.count())
        throw Error(fmt::format("[attend] {}: expected the {} patches among the keys, found {}",
                                tap, grid.count(), keys));

    std::vector<SheetTile> tiles;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const Prediction prediction =
            top_predictions(model, row(outputs.at("logits"), i), 1).front();
        const Image large = fitted(shown[i], arguments.side);
        tiles.push_back({large, verdict(prediction, pictures[i]), false});
        for (std::int64_t head = -1; head < (arguments.heads ? heads : 0); ++head) {
            const std::vector<float> values =
                patch_weights(row(maps, i), heads, keys, grid.count(), head);
            tiles.push_back({overlay(large, {grid.width, grid.height, values}),
                             head < 0 ? "mean of heads" : fmt::format("head {}", head), false});
        }
    }
    SheetStyle style;
    style.columns =
        arguments.heads ? heads + 2 : std::min<std::int64_t>(6, 2 * std::int64_t(pictures.size()));
    style.side = arguments.side;
    style.title = fmt::format("{}: class attention, layer {}", model.info().name, arguments.layer);
    write_image(arguments.output, contact_sheet(tiles, style));
    fmt::print(stderr, "wrote {}\n", arguments.output);
}

}  // namespace cait::app
