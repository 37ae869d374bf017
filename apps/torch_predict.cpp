// Linked into `cait-torch`: carries out `cait predict` and `cait attend`.
#include <fmt/format.h>

#include <cmath>
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

namespace cait::app {

namespace {

template <class Arguments>
Model load_model(const Arguments& arguments) {
    Model model = Model::load(arguments.weights, arguments.model.model, arguments.model.settings(),
                              arguments.model.load_options());
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
std::string verdict(const Answer& answer, const Picture& picture) {
    std::string text = fmt::format("{} {:.1f} %", answer.name, 100 * answer.probability);
    if (picture.label && *picture.label != answer.name) text += "\nis: " + *picture.label;
    return text;
}

struct Grid {
    std::int64_t height = 0, width = 0, prefix = 0;
};

// How the keys of a map lie on the image: so many tokens first, then the patches row by row in the
// image's shape.
Grid grid_of(std::int64_t keys, ImageSize size) {
    for (std::int64_t prefix = 0; prefix <= 2; ++prefix) {
        const double patches = double(keys - prefix);
        const auto height = std::int64_t(
            std::lround(std::sqrt(patches * double(size.height) / double(size.width))));
        if (height < 1 || (keys - prefix) % height != 0) continue;
        const std::int64_t width = (keys - prefix) / height;
        if (width * size.height == height * size.width) return {height, width, prefix};
    }
    throw Error(fmt::format("[attend] {} keys do not fit an image of {}x{}", keys, size.height,
                            size.width));
}

// One head of the first query, or the mean of all heads where `head` is negative.
std::vector<float> patch_weights(std::span<const float> map, std::int64_t heads, std::int64_t keys,
                                 const Grid& grid, std::int64_t head) {
    const std::size_t per_head = map.size() / std::size_t(heads);
    std::vector<float> values(std::size_t(grid.height * grid.width));
    const std::int64_t first = head < 0 ? 0 : head, last = head < 0 ? heads : head + 1;
    for (std::int64_t h = first; h < last; ++h)
        for (std::int64_t k = grid.prefix; k < keys; ++k)
            values[std::size_t(k - grid.prefix)] +=
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
        nlohmann::json answers = nlohmann::json::array();
        if (!arguments.json) fmt::print("{}", pictures[i].name);
        for (const Answer& answer :
             best_answers(model, row(outputs.at("logits"), i), arguments.top)) {
            answers.push_back(
                {{"label", answer.name}, {"index", answer.index}, {"score", answer.probability}});
            if (!arguments.json) fmt::print("  {} {:.1f} %", answer.name, 100 * answer.probability);
        }
        if (!arguments.json) fmt::print("\n");
        list.push_back({{"image", pictures[i].name}, {"predictions", answers}});
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
    const Grid grid = grid_of(keys, model.spec().architecture->common().image_size);

    std::vector<SheetTile> tiles;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const Answer answer = best_answers(model, row(outputs.at("logits"), i), 1).front();
        const Image large = fitted(shown[i], arguments.side);
        tiles.push_back({large, verdict(answer, pictures[i]), false});
        for (std::int64_t head = -1; head < (arguments.heads ? heads : 0); ++head) {
            const std::vector<float> values = patch_weights(row(maps, i), heads, keys, grid, head);
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
