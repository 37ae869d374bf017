// `cait data preview`: a contact sheet of what training would show a model, as one picture to look
// at before hours are spent on it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>

#include "command.h"
#include "data.h"
#include "data/shuffle.h"
#include "data_preview_tiles.h"
#include "image/codec/encode.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/draw.h"
#include "progress.h"
#include "recipe/recipe_data.h"

namespace cait::app {

namespace {

struct PreviewArguments {
    DataArguments data;
    std::string recipe = "deit";
    std::string output;
    std::size_t count = 24;
    std::int64_t columns = 6;
    std::optional<std::int64_t> size;
    std::uint64_t seed = 0;
};

constexpr std::int64_t kUsualSize = 224;
constexpr std::int64_t kSmall = 64;          // images up to this size are shown at their own
constexpr std::int64_t kSmallestTile = 112;  // smaller images are enlarged

// The images of a data set in a random order, without those that cannot be read.
class RandomImages {
public:
    RandomImages(const Dataset& dataset, std::uint64_t seed)
        : dataset_(dataset), order_(dataset.size()) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        RandomStream random(seed, "preview");
        shuffle(std::span(order_), random);
    }

    // The index of the next image; nothing when there are no more.
    std::optional<std::size_t> next(Image& image) {
        while (position_ < order_.size()) {
            const std::size_t index = order_[position_++];
            try {
                dataset_.read(index, {}, image);
                return index;
            } catch (const Error& error) {
                bad_.push_back({index, dataset_.name(index), error.what()});
            }
        }
        return std::nullopt;
    }

    const std::vector<BadImage>& bad() const { return bad_; }

private:
    const Dataset& dataset_;
    std::vector<std::uint32_t> order_;
    std::size_t position_ = 0;
    std::vector<BadImage> bad_;
};

std::int64_t size_for(const PreviewArguments& arguments, const Image& first) {
    const std::int64_t own = std::max(first.width, first.height);
    return arguments.size.value_or(own <= kSmall ? own : kUsualSize);
}

std::int64_t tile_side(std::int64_t size) {
    return size * std::max((kSmallestTile + size - 1) / size, std::int64_t(1));
}

void print_result(const PreviewArguments& arguments, const Image& sheet, std::size_t tiles,
                  std::size_t images, std::int64_t size) {
    if (arguments.data.json)
        return print_json({{"output", arguments.output},
                           {"width", sheet.width},
                           {"height", sheet.height},
                           {"tiles", tiles},
                           {"images", images},
                           {"size", size}});
    fmt::print("{}: {}x{}, {} tiles of {} images at {}x{}\n", arguments.output, sheet.width,
               sheet.height, tiles, images, size, size);
}

void run(const PreviewArguments& arguments) {
    const bool plain = arguments.recipe == "none";
    const Recipe recipe = recipe_to_show(arguments.recipe);
    const DatasetPtr dataset = arguments.data.open();
    RandomImages images(*dataset, arguments.seed);
    std::optional<TileMaker> maker;
    std::int64_t size = kUsualSize;
    std::vector<SheetTile> tiles;
    std::size_t shown = 0;
    Image image;
    Progress progress("preview", "tiles");
    while (tiles.size() < arguments.count) {
        const auto index = images.next(image);
        if (!index) break;
        if (shown++ == 0) {
            size = size_for(arguments, image);
            // Mixup, which happens to a batch, is left out; so is the mean, which is not seen.
            maker.emplace(train_settings(recipe, size, size, kImageNetMean, kImageNetStd));
        }
        // With one column there is no room for the original.
        const std::string label = dataset->classes()[std::size_t(dataset->label(*index))];
        const std::int64_t variants = plain ? 0 : std::max(arguments.columns - 1, std::int64_t(1));
        if (plain || arguments.columns > 1)
            tiles.push_back({fitted(image, tile_side(size)),
                             label + fmt::format("\n{}x{}", image.width, image.height), !plain});
        for (std::int64_t i = 0; i < variants && tiles.size() < arguments.count; ++i) {
            const SampleKey key{arguments.seed, std::uint64_t(i), *index, 0};
            tiles.push_back(maker->tile(image, key, label));
            progress.update(tiles.size(), arguments.count);
        }
    }
    if (tiles.empty())
        throw BadImagesError(
            fmt::format("{}: {}", dataset->source(), describe(images.bad(), dataset->size())),
            images.bad());
    SheetStyle style;
    style.columns = arguments.columns;
    style.side = tile_side(size);
    style.title =
        fmt::format("{}, {}, seed {}", arguments.data.uri, arguments.recipe, arguments.seed);
    const Image sheet = contact_sheet(tiles, style);
    write_image(arguments.output, sheet);
    for (const BadImage& bad : images.bad())
        fmt::print(stderr, "note: left out: {}\n", one_line(bad.reason));
    print_result(arguments, sheet, tiles.size(), shown, size);
}

}  // namespace

void add_data_preview(CLI::App& data) {
    CLI::App* command = add_command(
        data, "preview", "Draw augmented images with their labels on one sheet",
        "cait data preview folder:photos/train --augment deit --output sheet.png\n"
        "  cait data preview cifar10:data --augment rand-m9-mstd0.5-inc1 --output a.png");
    auto arguments = std::make_shared<PreviewArguments>();
    arguments->data.add_to(*command);
    command
        ->add_option("--augment", arguments->recipe,
                     "A recipe (deit, deit3-1k, small, …, or a .toml file), or a policy: rand-…, "
                     "original, trivial, three, none")
        ->type_name("RECIPE")
        ->capture_default_str();
    command->add_option("--output", arguments->output, "The .png or .jpg file to write")
        ->required();
    command->add_option("--count", arguments->count, "How many tiles")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    command
        ->add_option("--columns", arguments->columns,
                     "Tiles in a row: the image as it is, framed, then variants of it")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    command
        ->add_option("--size", arguments->size,
                     "Pixels that the model sees; default: 224, for tiny images their own size")
        ->check(CLI::Range(8, 1024));
    command->add_option("--seed", arguments->seed, "Another seed shows other images")
        ->capture_default_str();
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
