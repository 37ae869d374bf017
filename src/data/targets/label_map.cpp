#include "data/targets/label_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/convert.h"
#include "cait/error.h"
#include "weights/npy.h"
#include "weights/weight_file.h"

namespace cait {

namespace {

constexpr std::size_t kPartFloats = 5;  // left, top, right, bottom, mirrored

std::size_t map_floats(const LabelMapSize& size) {
    return std::size_t(2 * size.count * size.height * size.width);
}

Tensor read_map(const std::filesystem::path& file) {
    if (file.extension() == ".npy") return read_npy(file);
    const WeightFile found = open_weights(file);
    if (found.tensors.size() != 1)
        throw Error(
            fmt::format("{}: expected one tensor, found {}", file.string(), found.tensors.size()));
    return found.tensors.front().tensor;
}

LabelMapSize size_of_map(const Tensor& map, const std::filesystem::path& file) {
    const Shape& shape = map.shape();
    if (shape.rank() != 4 || shape[0] != 2 || shape.count() == 0)
        throw Error(fmt::format("{}: expected a label map [2, count, height, width], found {}",
                                file.string(), shape.to_string()));
    return {shape[1], shape[2], shape[3]};
}

// The middle of each place, as Geometry has moved it.
float source_of(const Geometry& geometry, const ImageSize& grid, std::int64_t row,
                std::int64_t column) {
    const auto tall = double(geometry.shown.height), wide = double(geometry.shown.width);
    double x = (double(column) + 0.5) * wide / double(grid.width);
    double y = (double(row) + 0.5) * tall / double(grid.height);
    if (!geometry.undo_operations(x, y)) return -1;
    return float(std::int64_t(y * double(grid.height) / tall) * grid.width +
                 std::int64_t(x * double(grid.width) / wide));
}

class LabelMapTarget final : public Target {
public:
    LabelMapTarget(std::shared_ptr<const LabelMaps> maps, ImageSize grid)
        : maps_(std::move(maps)),
          grid_(grid),
          floats_(label_map_floats(maps_->size(), grid.height * grid.width)) {}

    void prepare(std::size_t images, Targets& to) const override {
        make_room(to, kLabelMaps, DType::f32, {std::int64_t(images), floats_});
    }

    void write(const Sample& from, std::size_t row, Targets& to) const override {
        const Tensor map = maps_->read(std::size_t(from.key.sample));
        const auto floats = std::size_t(floats_);
        const auto out = to.at(kLabelMaps).mutable_floats().subspan(row * floats, floats);
        auto next = std::ranges::copy(map.floats(), out.begin()).out;
        const auto& [image, part, mirrored, shown, operations, scaled] = from.geometry;
        const auto wide = double(image.width), tall = double(image.height);
        for (const double value : {part.left / wide, part.top / tall, part.right / wide,
                                   part.bottom / tall, mirrored ? 1.0 : 0.0})
            *next++ = float(value);
        for (std::int64_t place = 0; place < grid_.height * grid_.width; ++place)
            *next++ = source_of(from.geometry, grid_, place / grid_.width, place % grid_.width);
    }

private:
    std::shared_ptr<const LabelMaps> maps_;
    ImageSize grid_;
    std::int64_t floats_;
};

}  // namespace

std::int64_t label_map_floats(const LabelMapSize& size, std::int64_t places) {
    return std::int64_t(map_floats(size) + kPartFloats) + places;
}

LabelMapRow label_map_row(std::span<const float> row, const LabelMapSize& size) {
    const std::span<const float> map = row.first(map_floats(size));
    const std::span<const float> part = row.subspan(map.size(), kPartFloats);
    return {.map = map,
            .part = {part[0], part[1], part[2], part[3]},
            .mirrored = part[4] != 0,
            .sources = row.subspan(map.size() + kPartFloats)};
}

LabelMaps::LabelMaps(std::filesystem::path folder, DatasetPtr images)
    : folder_(std::move(folder)), images_(std::move(images)) {
    size_ = size_of_map(read_map(file_of(0)), file_of(0));
}

std::filesystem::path LabelMaps::file_of(std::size_t sample) const {
    const auto image = images_->file(sample);
    if (!image)
        throw Error(
            fmt::format("data.token_labels: expected images that are files of their own, found {}",
                        images_->name(sample)));
    const std::string name = image->filename().string();
    std::filesystem::path file =
        folder_ / image->parent_path().filename() / (name.substr(0, name.find('.')) + ".pt");
    if (std::filesystem::exists(file)) return file;
    std::filesystem::path other = file;
    other.replace_extension(".npy");
    if (std::filesystem::exists(other)) return other;
    throw Error(fmt::format("{}: expected the label map of {}, found no such file", file.string(),
                            image->string()));
}

Tensor LabelMaps::read(std::size_t sample) const {
    const std::filesystem::path file = file_of(sample);
    const Tensor map = read_map(file);
    if (size_of_map(map, file) != size_)
        throw Error(fmt::format("{}: expected [2, {}, {}, {}] as in {}, found {}", file.string(),
                                size_.count, size_.height, size_.width, file_of(0).string(),
                                map.shape().to_string()));
    // A copy, checked and used: somebody may write into a file that is mapped.
    Tensor floats = Tensor::of(map.shape(), convert(map, DType::f32).floats());
    const auto labels = floats.floats().last(floats.floats().size() / 2);
    const auto wrong = std::ranges::find_if(labels, [&](float label) {
        return !(label >= 0 && label < float(images_->classes().size()) &&
                 label == std::floor(label));
    });
    if (wrong != labels.end())
        throw Error(fmt::format("{}: expected classes from 0 to {}, found {}", file.string(),
                                images_->classes().size() - 1, *wrong));
    const auto values = floats.floats().first(labels.size());
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        throw Error(fmt::format("{}: expected finite values, found others", file.string()));
    return floats;
}

TargetPtr label_map_target(std::shared_ptr<const LabelMaps> maps, ImageSize grid) {
    return std::make_shared<LabelMapTarget>(std::move(maps), grid);
}

}  // namespace cait
