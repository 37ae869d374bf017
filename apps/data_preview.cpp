// `cait data preview`: a contact sheet of what training would show a model, as one picture to look
// at before hours are spent on it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "command.h"
#include "data.h"
#include "data/random.h"
#include "data_preview_objects.h"
#include "data_preview_tiles.h"
#include "image/codec/encode.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/draw.h"
#include "input_files.h"
#include "models/settings.h"
#include "output.h"
#include "progress.h"
#include "system/file_guard.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_data.h"
#include "train/recipe/recipe_keys.h"

namespace cait::app {

namespace {

struct PreviewArguments {
    DataArguments data;
    std::string recipe;  // empty: what suits the data
    std::vector<std::string> set;
    std::string output;
    std::optional<std::size_t> count;
    std::optional<std::int64_t> columns;
    std::optional<std::int64_t> size;
    std::optional<std::uint64_t> seed;
};

constexpr std::int64_t kUsualSize = 224;
constexpr std::int64_t kSmall = 64;          // images up to this size are shown at their own
constexpr std::int64_t kSmallestTile = 112;  // smaller images are enlarged
constexpr std::size_t kBatch = 8;            // images that are mixed with each other
constexpr std::size_t kUsualRows = 4;
constexpr std::int64_t kUsualColumns = 6;

// The images of a data set in a random order, without those that cannot be read.
class RandomImages {
public:
    RandomImages(const Dataset& dataset, std::uint64_t seed)
        : dataset_(dataset), order_(dataset.size()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        RandomStream random(seed, "preview");
        shuffle(std::span(order_), random);
    }

    // Up to `count` further images.
    std::vector<ShownImage> next(std::size_t count) {
        std::vector<ShownImage> images;
        while (images.size() < count && position_ < order_.size()) {
            const std::size_t index = order_[position_++];
            ShownImage shown{{}, index, kUnlabelled};
            if (!dataset_.has_objects()) shown.label = first_label(dataset_, index);
            try {
                dataset_.read(index, {}, shown.image);
                images.push_back(std::move(shown));
            } catch (const Error& error) {
                check_mapped_files();
                bad_.push_back({index, dataset_.name(index), error.what()});
            }
        }
        return images;
    }

    const std::vector<BadImage>& bad() const { return bad_; }

private:
    const Dataset& dataset_;
    std::vector<std::uint32_t> order_;
    std::size_t position_ = 0;
    std::vector<BadImage> bad_;
};

// Images as they are: nothing is done to them.
bool is_plain(const PreviewArguments& arguments) {
    return arguments.recipe == "none" && arguments.set.empty();
}

// Unless the user says how many: a row has all views of an image.
void choose_layout(PreviewArguments& arguments, const Recipe& recipe) {
    const ViewsPart& views = recipe.views;
    if (!arguments.columns) {
        arguments.columns = kUsualColumns;
        if (views.name == ViewsKind::same) arguments.columns = 1 + views.count;
        if (views.name == ViewsKind::multi_crop)
            arguments.columns = 1 + views.globals + views.locals;
    }
    if (!arguments.count) arguments.count = kUsualRows * std::size_t(*arguments.columns);
}

std::size_t tiles_per_image(const PreviewArguments& arguments) {
    return is_plain(arguments) ? 1 : std::size_t(*arguments.columns);
}

Recipe chosen_recipe(const PreviewArguments& arguments) {
    Recipe recipe = recipe_to_show(arguments.recipe);
    set_recipe_values(recipe, recipe_settings(arguments.set));
    if (arguments.seed) recipe.train.seed = std::int64_t(*arguments.seed);
    check(recipe);
    if (const std::string note = fit_views_to_model(recipe); !note.empty())
        print_error("note: {}\n", note);
    return recipe;
}

// What --size says, else what the recipe's model takes; a policy alone has no model.
ImageSize size_for(const PreviewArguments& arguments, const Recipe& recipe, const Image& first) {
    if (arguments.size) return {*arguments.size, *arguments.size};
    if (is_policy(arguments.recipe)) {
        const std::int64_t own = std::max(first.width, first.height);
        const std::int64_t side = own <= kSmall ? own : kUsualSize;
        return {side, side};
    }
    return model_image_size(recipe.model.name, recipe.model.settings);
}

std::int64_t tile_side(ImageSize size) {
    const std::int64_t side = std::max(size.height, size.width);
    return side * std::max((kSmallestTile + side - 1) / side, std::int64_t(1));
}

// Rows of tiles: an image as it is, framed, then its views, those of the first epoch before those
// of the next; with one column only a view.
class SheetRows {
public:
    SheetRows(const PreviewArguments& arguments, const Dataset& dataset, const Recipe& recipe,
              ImageSize size)
        : dataset_(dataset),
          size_(size),
          plain_(is_plain(arguments)),
          columns_(tiles_per_image(arguments)) {
        if (dataset.has_objects())
            objects_.emplace(recipe, size, dataset);
        else
            maker_.emplace(recipe, size, dataset.classes());
    }

    // The images' rows. A column of them is one view of one batch of one epoch.
    void add(std::span<const ShownImage> images, std::uint64_t batch,
             std::vector<SheetTile>& tiles) {
        std::vector<std::vector<SheetTile>> columns;
        if (plain_ || columns_ > 1) columns.push_back(originals(images));
        for (std::uint64_t i = 0; columns.size() < columns_; ++i)
            columns.push_back(variants(images, batch, i));
        for (std::size_t row = 0; row < images.size(); ++row)
            for (std::vector<SheetTile>& column : columns) tiles.push_back(std::move(column[row]));
    }

private:
    std::vector<SheetTile> originals(std::span<const ShownImage> images) const {
        constexpr Colour kFrame{208, 64, 48};  // what the others are compared with
        const std::int64_t side = tile_side(size_);
        std::vector<SheetTile> tiles;
        for (const ShownImage& shown : images) {
            tiles.push_back(
                objects_ ? objects_->original(shown, side)
                         : SheetTile{fitted(shown.image, side),
                                     fmt::format("{}\n{}x{}", dataset_.label_text(shown.index),
                                                 shown.image.width, shown.image.height)});
            if (!plain_) tiles.back().frame = kFrame;
        }
        return tiles;
    }

    // Number `i` of each image, through all views of one epoch and then those of the next.
    std::vector<SheetTile> variants(std::span<const ShownImage> images, std::uint64_t batch,
                                    std::uint64_t i) {
        if (maker_) return maker_->tiles(images, {i / maker_->views(), batch}, i % maker_->views());
        std::vector<SheetTile> tiles;
        for (const ShownImage& shown : images) tiles.push_back(objects_->variant(shown, i));
        return tiles;
    }

    const Dataset& dataset_;
    ImageSize size_;
    bool plain_;
    std::size_t columns_;                 // tiles per image
    std::optional<TileMaker> maker_;      // of whole images
    std::optional<ObjectTiles> objects_;  // of images whose objects are known
};

void print_result(const PreviewArguments& arguments, const Image& sheet, std::size_t tiles,
                  std::size_t images, ImageSize size) {
    if (arguments.data.json)
        return print_json({{"output", arguments.output},
                           {"width", sheet.width},
                           {"height", sheet.height},
                           {"tiles", tiles},
                           {"images", images},
                           {"size", image_size_text(size)}});
    print_out("{}: {}x{}, {} tiles of {} images at {}x{}\n", arguments.output, sheet.width,
              sheet.height, tiles, images, size.width, size.height);
}

void run(PreviewArguments& arguments) {
    enter_sandbox_for({arguments.output});
    const DatasetPtr dataset = arguments.data.open_training_part();
    if (arguments.recipe.empty()) arguments.recipe = dataset->has_objects() ? "detect" : "deit";
    const Recipe recipe = chosen_recipe(arguments);
    choose_layout(arguments, recipe);
    const std::size_t count = *arguments.count;
    OutputFile(arguments.output).not_in_data(arguments.data.uri).not_in(*dataset);
    RandomImages images(*dataset, std::uint64_t(recipe.train.seed));
    std::optional<SheetRows> rows;
    ImageSize size;
    std::vector<SheetTile> tiles;
    std::size_t shown = 0;
    const std::size_t per_image = tiles_per_image(arguments);
    Progress progress("preview", "tiles");
    for (std::uint64_t batch = 0; tiles.size() < count; ++batch) {
        const std::size_t missing = (count - tiles.size() + per_image - 1) / per_image;
        const std::vector<ShownImage> block = images.next(std::min(kBatch, missing));
        if (block.empty()) break;
        if (!rows) {
            size = size_for(arguments, recipe, block.front().image);
            rows.emplace(arguments, *dataset, recipe, size);
        }
        shown += block.size();
        rows->add(block, batch, tiles);
        progress.update(std::min(tiles.size(), count), count);
    }
    if (tiles.empty())
        throw BadImagesError(
            fmt::format("{}: {}", dataset->source(), describe(images.bad(), dataset->size())),
            images.bad());
    tiles.resize(std::min(tiles.size(), count));
    SheetStyle style;
    style.columns = *arguments.columns;
    style.side = tile_side(size);
    style.title =
        fmt::format("{}, {}, seed {}", arguments.data.uri, arguments.recipe, recipe.train.seed);
    const Image sheet = contact_sheet(tiles, style);
    write_image(arguments.output, sheet);
    for (const BadImage& bad : images.bad()) print_error("note: left out: {}\n", bad.reason);
    print_result(arguments, sheet, tiles.size(), shown, size);
}

}  // namespace

void add_data_preview(CLI::App& data) {
    CLI::App* command =
        add_command(data, "preview", "Draw augmented images with their labels on one sheet");
    set_example(
        *command,
        "cait data preview folder:photos/train --augment deit --output sheet.png\n"
        "  cait data preview folder:photos --augment small --set augment.mixup=0.8 --output b.png\n"
        "  cait data preview cifar10:data --augment rand-m9-mstd0.5-inc1 --output a.png");
    auto arguments = std::make_shared<PreviewArguments>();
    arguments->data.add_to(*command);
    command
        ->add_option("--augment", arguments->recipe,
                     "A recipe (deit, deit3-1k, small, …, or a .toml file), or a policy: rand-…, "
                     "original, trivial, three, none; default: deit, and detect for data with "
                     "boxes")
        ->type_name("RECIPE");
    add_recipe_settings(*command, arguments->set);
    command->add_option("--output", arguments->output, "The .png or .jpg file to write")
        ->required();
    command->add_option("--count", arguments->count, "How many tiles; default: four rows")
        ->check(CLI::Range(1, 10'000));
    command
        ->add_option("--columns", arguments->columns,
                     "Tiles in a row: the image as it is, framed, then variants of it; default: 6, "
                     "for a recipe with [views] all of them")
        ->check(CLI::Range(1, 100));
    command
        ->add_option("--size", arguments->size,
                     "Pixels that the model sees; default: those of the recipe's model; for a "
                     "policy 224, for tiny images their own size")
        ->check(CLI::Range(8, 1024));
    command->add_option("--seed", arguments->seed,
                        "Another seed shows other images; default: the recipe's");
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
