#include "pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "data/imagenet_classes.h"
#include "data/random.h"
#include "data_open.h"
#include "image/codec/decode.h"
#include "image_list.h"
#include "output.h"
#include "system/file_bytes.h"

namespace cait::app {

namespace {

// COCO's files are named by the number of the image: 000000000139.jpg.
std::optional<std::int64_t> number_of(const std::filesystem::path& file) {
    const std::string stem = file.stem().string();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
    if (error != std::errc() || end != stem.data() + stem.size() || number < 0) return std::nullopt;
    return number;
}

}  // namespace

std::int64_t Picture::longest_side() const {
    if (file.empty()) {
        const Image image = read();
        return std::max(image.width, image.height);
    }
    const ImageInfo info = probe_image(read_bytes(file), file.string());
    return std::max(info.width, info.height);
}

void PictureArguments::add_to(CLI::App& command) {
    const OptionGroup group(command, kImageOptions);
    command
        .add_option("images", files,
                    "JPEG, PNG or WebP files, folders or patterns of them, lists of names (.txt), "
                    "or - for a list on stdin")
        ->type_name("IMAGE|FOLDER|GLOB|LIST|-");
    command.add_option("--data", data, "Instead of files: images of a data set, drawn at random");
    command.add_option("--count", count, "How many images of --data")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    command.add_option("--seed", seed, "Which images of --data")->capture_default_str();
}

void PictureArguments::check() const {
    if (files.empty() == data.empty())
        throw UsageError("expected image files or --data NAME, one of the two");
}

std::vector<Picture> PictureArguments::list() const {
    check();
    std::vector<Picture> pictures;
    for (const ListedImage& image : list_files(files))
        pictures.push_back({image.file,
                            {},
                            [file = image.file] { return read_image(file); },
                            image.file,
                            number_of(image.file)});
    if (data.empty()) return pictures;
    const DatasetPtr dataset = drawn();
    for (std::size_t i = 0; i < dataset->size(); ++i)
        pictures.push_back(
            {dataset->name(i), dataset->label_text(i), [dataset, i] { return dataset->image(i); },
             dataset->file(i).value_or(std::filesystem::path()), dataset->image_number(i)});
    return pictures;
}

DatasetPtr PictureArguments::drawn() const {
    const DatasetPtr dataset = open_data(data, Split::val);
    std::vector<std::uint32_t> order(dataset->size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    RandomStream random(seed, "pictures");
    shuffle(std::span(order), random);
    order.resize(std::min(order.size(), count));
    return subset(dataset, {order.begin(), order.end()});
}

std::string label_for(const Model& model, const std::string& label) {
    if (std::ranges::find(model.classes(), label) != model.classes().end()) return label;
    return imagenet_name(label).value_or(label);
}

}  // namespace cait::app
