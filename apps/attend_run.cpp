// Carries out `cait attend`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/describe.h"
#include "class_names.h"
#include "data.h"
#include "image/codec/encode.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/draw.h"
#include "image/draw/heat_map.h"
#include "models/catalogue.h"
#include "output.h"
#include "predict.h"
#include "progress.h"
#include "session/attention_map.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

std::map<std::string, Tensor> look(const Model& model, const Tensor& images,
                                   const ExecutorOptions& options,
                                   const std::vector<std::string>& taps) {
    Progress progress("attend", "images");
    return run_in_batches(
        *make_executor(model, options), images, taps, options.batch,
        [&](std::size_t done, std::size_t total) { progress.update(done, total); });
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

// Where the maps are, and how they are to be drawn.
struct Maps {
    const Tensor& values;  // [B, heads, queries, keys]
    Grid grid;             // of the patches

    std::int64_t heads() const { return values.shape()[1]; }
    AttentionMap map(std::size_t image, std::int64_t head) const {
        return patch_attention(row(values, image), values.shape(), grid, head);
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
    for (std::int64_t head = -1; head < (arguments.heads ? maps.heads() : 0); ++head) {
        const AttentionMap map = maps.map(index, head);
        tiles.push_back({overlay(shown.image, {map.width, map.height, map.values}, shown.seen),
                         head < 0 ? "mean of heads" : fmt::format("head {}", head), false});
    }
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

}  // namespace

void run(const AttendArguments& given, const Invocation& invocation) {
    continue_where_it_runs(given.executor, invocation);
    AttendArguments arguments = given;
    const Model model = load_model(arguments.model, arguments.weights, arguments.classes);
    const PreparedPictures prepared = prepare(model, arguments.pictures.list());
    if (prepared.unreadable > 0) *invocation.status = 1;
    const std::vector<Picture>& pictures = prepared.pictures;
    if (pictures.empty()) return;
    if (arguments.side == 0) arguments.side = side_for(pictures);
    const std::string tap = fmt::format("class_attention.{}", arguments.layer);
    const auto outputs = look(model, prepared.images, arguments.executor, {"logits", tap});
    const Maps maps{outputs.at(tap), record(model.spec()).patch_grid};

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
    print_error("wrote {}\n", arguments.output);
}

}  // namespace cait::app
