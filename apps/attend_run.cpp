// Carries out `cait attend`: a batch of photographs at a time, of which only what is shown stays.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/describe.h"
#include "class_names.h"
#include "core/file_guard.h"
#include "core/memory_budget.h"
#include "data.h"
#include "image/codec/encode.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/draw.h"
#include "image/draw/heat_map.h"
#include "input_files.h"
#include "measure/finite_logits.h"
#include "models/catalogue.h"
#include "output.h"
#include "predict.h"
#include "progress.h"
#include "sandboxed.h"
#include "session/attention_map.h"
#include "weights_argument.h"

namespace cait::app {

namespace {

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
    AttentionMap map(std::size_t image, std::int64_t head, std::int64_t query) const {
        return patch_attention(row(values, image), values.shape(), grid, head, query);
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

// Photographs that go through the model together.
struct Group {
    std::vector<Picture> pictures;  // with labels as the model has them
    std::vector<Shown> shown;
    Tensor images;  // as the model's evaluation prepares them, [capacity, 3, H, W]

    Tensor filled() const {
        Shape shape = images.shape();
        shape[0] = std::int64_t(pictures.size());
        return Tensor::view(images.dtype(), shape, images.bytes(), images.owner());
    }
};

// As many as figure 5.6 of the thesis has, of a model that looks for each class by itself.
std::size_t classes_to_show(const Model& model) {
    constexpr std::int64_t kMost = 3;
    const std::int64_t classes = model.spec().architecture->common().classes;
    return has_map_per_class(model) ? std::size_t(std::min(kMost, classes)) : 1;
}

// Reads and shows what the model saw in it, picture by picture: one is decoded at a time.
class Attend {
public:
    Attend(const AttendArguments& arguments, const Model& model, std::size_t pictures)
        : arguments_(arguments),
          model_(model),
          capacity_(std::min(arguments.executor.batch, pictures)),
          preparer_(preparer_of(model)),
          executor_(make_executor(model, arguments.executor)),
          grid_(record(model.spec()).patch_grid),
          shown_classes_(classes_to_show(model)) {
        const auto [height, width] = model.spec().architecture->common().image_size;
        memory_.push_back(MemoryBudget::of_process().keep(
            capacity_ * std::uint64_t(3 * height * width) * sizeof(float), "attend: images"));
        group_.images = Tensor::empty(DType::f32, {std::int64_t(capacity_), 3, height, width});
    }

    // False, and a line on stderr, for one that cannot be read.
    bool add(Picture picture) {
        const std::size_t at = group_.pictures.size();
        const std::size_t one = group_.images.floats().size() / capacity_;
        try {
            const Image photo = picture.read();
            preparer_(photo, group_.images.mutable_floats().subspan(at * one, one));
            group_.shown.push_back(shown_at(arguments_.side, photo, preparer_));
        } catch (const Error& error) {
            check_mapped_files();
            print_error("cait: {}\n", error.what());
            return false;
        }
        if (picture.label) picture.label = label_for(model_, *picture.label);
        group_.pictures.push_back(std::move(picture));
        if (group_.pictures.size() == capacity_) flush();
        return true;
    }

    // What was added since the last time.
    void flush() {
        if (group_.pictures.empty()) return;
        const std::string tap = fmt::format("class_attention.{}", arguments_.layer);
        const auto outputs = executor_->run(group_.filled(), {"logits", tap});
        const Maps maps{outputs.at(tap), grid_};
        heads_ = maps.heads();
        for (std::size_t i = 0; i < group_.pictures.size(); ++i)
            add_tiles(i, maps, row(outputs.at("logits"), i));
        group_.pictures.clear();
        group_.shown.clear();
    }

    const std::vector<SheetTile>& tiles() const { return tiles_; }
    // Tiles of one photograph in a row: itself, and what is seen in it.
    std::int64_t columns() const {
        return arguments_.heads ? heads_ + 2 : 1 + std::int64_t(shown_classes_);
    }

private:
    // The photograph, and over it what each head (or their mean alone) looks at. A model with a
    // token for each class has a map for each: those of the likeliest are shown, each by its name.
    void add_tiles(std::size_t index, const Maps& maps, std::span<const float> logits) {
        const Picture& picture = group_.pictures[index];
        const Shown& shown = group_.shown[index];
        check_finite_logits(logits, fmt::format("{}: {}", arguments_.weights, picture.name));
        const std::int64_t last = arguments_.heads ? maps.heads() : 0;
        const std::vector<Prediction> top = top_predictions(model_, logits, shown_classes_);
        memory_.push_back(MemoryBudget::of_process().keep(
            top.size() * std::uint64_t(last + 2) * shown.image.pixels.size(),
            "attend: pictures to be shown"));
        const bool per_class = shown_classes_ > 1;
        for (std::size_t rank = 0; rank < top.size(); ++rank) {
            if (rank == 0 || arguments_.heads)  // with heads, each class has a row of its own
                tiles_.push_back(
                    {shown.image, std::filesystem::path(picture.name).filename().string() + "\n" +
                                      verdict(top[rank], picture)});
            for (std::int64_t head = -1; head < last; ++head) {
                const AttentionMap map =
                    maps.map(index, head, per_class ? std::int64_t(top[rank].index) : 0);
                tiles_.push_back(
                    {overlay(shown.image, {map.width, map.height, map.values}, shown.seen),
                     map_name(top[rank], head)});
            }
        }
    }

    std::string map_name(const Prediction& prediction, std::int64_t head) const {
        const std::string which = head < 0 ? "mean of heads" : fmt::format("head {}", head);
        if (shown_classes_ == 1) return which;
        return fmt::format("{} {:.1f} %\n{}", prediction.name, 100 * prediction.probability, which);
    }

    const AttendArguments& arguments_;
    const Model& model_;
    std::size_t capacity_;  // of the group
    Preparer preparer_;
    std::unique_ptr<Executor> executor_;
    Grid grid_;
    std::size_t shown_classes_;
    Group group_;
    std::vector<MemoryShare> memory_;  // of the group and of the tiles
    std::vector<SheetTile> tiles_;
    std::int64_t heads_ = 0;
};

// The longest side of the photographs, within what a person can look at.
std::int64_t side_for(const std::vector<Picture>& pictures) {
    constexpr std::int64_t kLeast = 224, kMostOfOne = 4096, kMostOfSeveral = 640;
    std::int64_t longest = kLeast;
    for (const Picture& picture : pictures) {
        if (longest >= kMostOfSeveral && pictures.size() > 1) break;
        try {
            const Image image = picture.read();
            longest = std::max({longest, image.width, image.height});
        } catch (const Error&) {  // will be named when it is its turn
        }
    }
    return std::min(longest, pictures.size() > 1 ? kMostOfSeveral : kMostOfOne);
}

SheetStyle sheet_style(const AttendArguments& arguments, const Model& model, std::int64_t pictures,
                       std::int64_t columns) {
    constexpr std::int64_t kPixelsPerScale = 200;  // about 30 letters under a picture
    SheetStyle style;
    // Where a photograph has a row of two, three of them stand beside each other.
    style.columns = columns > 2 ? columns : std::min<std::int64_t>(6, columns * pictures);
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
    enter_sandbox_for({given.output, given.executor.cache}, given.weights, given.model.model);
    AttendArguments arguments = given;
    const Model model = load_model(arguments.model, arguments.weights, arguments.classes);
    const std::vector<Picture> pictures = arguments.pictures.list();
    for (const Picture& picture : pictures) OutputFile(arguments.output).not_in(picture.name);
    if (arguments.side == 0) arguments.side = side_for(pictures);
    Attend attend(arguments, model, pictures.size());
    std::int64_t seen = 0;
    {
        Progress progress("attend", "images");
        for (std::size_t i = 0; i < pictures.size(); ++i) {
            seen += attend.add(pictures[i]) ? 1 : 0;
            progress.update(i + 1, pictures.size());
        }
        attend.flush();
    }
    if (seen < std::int64_t(pictures.size())) *invocation.status = 1;
    if (seen == 0) return;
    write_image(arguments.output, contact_sheet(attend.tiles(), sheet_style(arguments, model, seen,
                                                                            attend.columns())));
    print_error("wrote {}\n", arguments.output);
}

}  // namespace cait::app
