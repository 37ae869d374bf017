// Linked into `cait-torch`: carries out `cait predict` and `cait attend`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "api/describe.h"
#include "cait/train.h"
#include "class_names.h"
#include "data.h"
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
    name_classes(model, arguments.classes, arguments.weights);
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

// Where the maps are, and how they are to be drawn.
struct Maps {
    const Tensor& values;  // [B, heads, queries, keys]
    Grid grid;             // of the patches

    std::int64_t heads() const { return values.shape()[1]; }
    HeatMap map(std::size_t image, std::int64_t head, std::vector<float>& memory) const {
        memory = patch_weights(row(values, image), heads(), values.shape()[3], grid.count(), head);
        return {grid.width, grid.height, memory};
    }
};

// The photograph at the size in which it is shown, and the part of it that the model sees.
struct Shown {
    Image image;
    Box seen;
};

Shown shown_at(std::int64_t side, const Image& photo, const Preparer& preparer) {
    Shown shown{fitted(photo, side), preparer.seen(photo)};
    const double x = double(shown.image.width) / double(photo.width);
    const double y = double(shown.image.height) / double(photo.height);
    shown.seen = {shown.seen.left * x, shown.seen.top * y, shown.seen.right * x,
                  shown.seen.bottom * y};
    return shown;
}

// The photograph, and over it what each head (or their mean alone) looks at.
void add_tiles(std::vector<SheetTile>& tiles, const AttendArguments& arguments, const Shown& shown,
               const Maps& maps, std::size_t index, std::string caption) {
    tiles.push_back({shown.image, std::move(caption), false});
    std::vector<float> memory;
    for (std::int64_t head = -1; head < (arguments.heads ? maps.heads() : 0); ++head)
        tiles.push_back({overlay(shown.image, maps.map(index, head, memory), shown.seen),
                         head < 0 ? "mean of heads" : fmt::format("head {}", head), false});
}

// The longest side of the photographs, within what a person can look at.
std::int64_t side_for(const std::vector<Picture>& pictures) {
    constexpr std::int64_t kLeast = 224, kMostOfOne = 4096, kMostOfSeveral = 640;
    std::int64_t longest = kLeast;
    for (const Picture& picture : pictures) {
        if (longest >= kMostOfSeveral && pictures.size() > 1) break;
        const Image image = picture.read();
        longest = std::max({longest, image.width, image.height});
    }
    return std::min(longest, pictures.size() > 1 ? kMostOfSeveral : kMostOfOne);
}

SheetStyle sheet_style(const AttendArguments& arguments, const Model& model, std::int64_t pictures,
                       std::int64_t heads) {
    constexpr std::int64_t kPixelsPerScale = 200;  // about 30 letters under a picture
    SheetStyle style;
    style.columns = arguments.heads ? heads + 2 : std::min<std::int64_t>(6, 2 * pictures);
    style.side = arguments.side;
    style.text_scale = int(
        std::clamp<std::int64_t>((arguments.side + kPixelsPerScale / 2) / kPixelsPerScale, 2, 16));
    style.title =
        fmt::format("{}: class attention, layer {}",
                    model.name().empty() ? model.info().name : model.name(), arguments.layer);
    return style;
}

nlohmann::json to_json(const Picture& picture, const std::vector<Prediction>& predictions) {
    nlohmann::json list = nlohmann::json::array();
    for (const Prediction& prediction : predictions)
        list.push_back({{"label", prediction.name},
                        {"index", prediction.index},
                        {"score", prediction.probability}});
    nlohmann::json json{{"image", picture.name}, {"predictions", list}};
    if (picture.label) json["label"] = *picture.label;
    return json;
}

}  // namespace

void run_on_torch(const PredictArguments& arguments, const Invocation& invocation) {
    const Model model = load_model(arguments);
    const PreparedPictures prepared = prepare(model, arguments.pictures.list());
    if (prepared.unreadable > 0) *invocation.status = 1;
    nlohmann::json list = nlohmann::json::array();
    std::map<std::string, Tensor> outputs;
    if (!prepared.pictures.empty()) outputs = look(model, prepared.images, {"logits"});
    for (std::size_t i = 0; i < prepared.pictures.size(); ++i) {
        const Picture& picture = prepared.pictures[i];
        const auto predictions =
            top_predictions(model, row(outputs.at("logits"), i), arguments.top);
        if (arguments.json) {
            list.push_back(to_json(picture, predictions));
            continue;
        }
        fmt::print("{}", one_line(picture.name));
        for (const Prediction& prediction : predictions)
            fmt::print("  {} {:.1f} %", prediction.name, 100 * prediction.probability);
        fmt::print("\n");
    }
    if (arguments.json) print_json(list);
}

void run_on_torch(const AttendArguments& given, const Invocation& invocation) {
    AttendArguments arguments = given;
    const Model model = load_model(arguments);
    const PreparedPictures prepared = prepare(model, arguments.pictures.list());
    if (prepared.unreadable > 0) *invocation.status = 1;
    const std::vector<Picture>& pictures = prepared.pictures;
    if (pictures.empty()) return;
    if (arguments.side == 0) arguments.side = side_for(pictures);
    const std::string tap = fmt::format("class_attention.{}", arguments.layer);
    const auto outputs = look(model, prepared.images, {"logits", tap});
    const Maps maps{outputs.at(tap), record(model.spec()).patch_grid};
    if (maps.values.shape()[3] < maps.grid.count())
        throw Error(fmt::format("[attend] {}: expected the {} patches among the keys, found {}",
                                tap, maps.grid.count(), maps.values.shape()[3]));

    const Preparer preparer = preparer_of(model);
    std::vector<SheetTile> tiles;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const Prediction prediction =
            top_predictions(model, row(outputs.at("logits"), i), 1).front();
        add_tiles(tiles, arguments, shown_at(arguments.side, pictures[i].read(), preparer), maps, i,
                  std::filesystem::path(pictures[i].name).filename().string() + "\n" +
                      verdict(prediction, pictures[i]));
    }
    write_image(arguments.output,
                contact_sheet(tiles, sheet_style(arguments, model, std::int64_t(pictures.size()),
                                                 maps.heads())));
    fmt::print(stderr, "wrote {}\n", arguments.output);
}

}  // namespace cait::app
