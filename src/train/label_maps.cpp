#include "train/label_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/convert.h"
#include "cait/error.h"
#include "weights/npy.h"
#include "weights/weight_file.h"

namespace cait {

namespace {

constexpr std::size_t kViewFloats = 5;  // left, top, right, bottom, mirrored

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

// One sample of a bin: up to four neighbours by distance; outside, nothing.
void add_bilinear(double y, double x, std::int64_t height, std::int64_t width, float weight,
                  std::span<float> weights) {
    if (y < -1 || y > double(height) || x < -1 || x > double(width)) return;
    const auto split = [](double at, std::int64_t size) {
        const double inside = std::max(at, 0.0);
        const std::int64_t low = std::min(std::int64_t(inside), size - 1);
        const double rest = low == size - 1 ? 0 : inside - double(low);
        return std::tuple(low, std::min(low + 1, size - 1), float(rest));
    };
    const auto [top, bottom, down] = split(y, height);
    const auto [left, right, across] = split(x, width);
    const auto add = [&](std::int64_t row, std::int64_t column, float share) {
        weights[std::size_t(row * width + column)] += weight * share;
    };
    add(top, left, (1 - down) * (1 - across));
    add(top, right, (1 - down) * across);
    add(bottom, left, down * (1 - across));
    add(bottom, right, down * across);
}

// Adds weights [cells] of one bin to the logits [K] of one token. Classes are checked by read().
void gather(std::span<const float> weights, std::span<const float> map, std::size_t count,
            std::span<float> logits) {
    const std::size_t cells = weights.size();
    for (std::size_t cell = 0; cell < cells; ++cell) {
        if (weights[cell] == 0) continue;
        for (std::size_t rank = 0; rank < count; ++rank) {
            const float value = map[rank * cells + cell];
            const auto label = std::size_t(map[(count + rank) * cells + cell]);
            if (label >= logits.size())
                throw Error(fmt::format(
                    "data.token_labels: expected classes below {}, found {} in a label map",
                    logits.size(), label));
            logits[label] += weights[cell] * value;
        }
    }
}

}  // namespace

std::int64_t label_floats(const LabelMapSize& size, Grid grid) {
    return std::int64_t(map_floats(size) + kViewFloats) + grid.count();
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

Tensor LabelMaps::map_of(std::size_t sample) const {
    const std::filesystem::path file = file_of(sample);
    const Tensor map = read_map(file);
    if (size_of_map(map, file) != size_)
        throw Error(fmt::format("{}: expected [2, {}, {}, {}] as in {}, found {}", file.string(),
                                size_.count, size_.height, size_.width, file_of(0).string(),
                                map.shape().to_string()));
    // A copy, checked and used: somebody may write into a file that is mapped.
    const Tensor floats = Tensor::of(map.shape(), convert(map, DType::f32).floats());
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

void LabelMaps::read(const Image& image, const SampleKey& key, const TrainTransform& transform,
                     Grid grid, std::span<float> out) const {
    const Tensor map = map_of(std::size_t(key.sample));
    const TrainView view = transform.view(image.width, image.height, key, grid.height, grid.width);
    auto next = std::ranges::copy(map.floats(), out.begin()).out;
    for (const double value : {view.part.left, view.part.top, view.part.right, view.part.bottom,
                               view.mirrored ? 1.0 : 0.0})
        *next++ = float(value);
    for (const std::int64_t source : view.sources) *next++ = float(source);
}

std::vector<float> roi_align_weights(const Box& part, std::int64_t height, std::int64_t width,
                                     std::int64_t rows, std::int64_t columns) {
    const double tall = std::max(part.bottom - part.top, 1.0) / double(rows);
    const double wide = std::max(part.right - part.left, 1.0) / double(columns);
    const auto down = std::int64_t(std::ceil(tall)), across = std::int64_t(std::ceil(wide));
    const float each = 1 / float(down * across);
    const auto cells = std::size_t(height * width);
    std::vector<float> weights(std::size_t(rows * columns) * cells);
    for (std::int64_t bin = 0; bin < rows * columns; ++bin)
        for (std::int64_t sample = 0; sample < down * across; ++sample) {
            const double y = part.top + tall * (double(bin / columns) +
                                                (double(sample / across) + 0.5) / double(down));
            const double x = part.left + wide * (double(bin % columns) +
                                                 (double(sample % across) + 0.5) / double(across));
            add_bilinear(y, x, height, width, each,
                         std::span(weights).subspan(std::size_t(bin) * cells, cells));
        }
    return weights;
}

MapTargets map_targets(const at::Tensor& numbers, const LabelMapSize& size, Grid grid,
                       std::int64_t classes, double smoothing) {
    const at::Tensor rows = numbers.to(at::kCPU, at::kFloat).contiguous();
    const std::int64_t batch = rows.size(0);
    at::Tensor tokens = at::zeros({batch, grid.count(), classes});
    at::Tensor images = at::zeros({batch, classes});
    const auto cells = std::size_t(size.height * size.width);
    const auto fill = [&](std::int64_t i) {
        const std::span<const float> row(rows[i].data_ptr<float>(), std::size_t(rows.size(1)));
        const std::span<const float> map = row.first(map_floats(size));
        const std::span<const float> view = row.subspan(map.size(), kViewFloats);
        const std::span<const float> sources = row.subspan(map.size() + kViewFloats);
        const auto wide = double(size.width), tall = double(size.height);
        const Box part{view[0] * wide - 0.5, view[1] * tall - 0.5, view[2] * wide - 0.5,
                       view[3] * tall - 0.5};
        const auto add = [&](std::span<const float> weights, float* to) {
            gather(weights, map, std::size_t(size.count), {to, std::size_t(classes)});
        };
        add(roi_align_weights(part, size.height, size.width, 1, 1), images[i].data_ptr<float>());
        const std::vector<float> weights =
            roi_align_weights(part, size.height, size.width, grid.height, grid.width);
        for (std::int64_t n = 0; n < grid.count(); ++n) {
            auto source = std::int64_t(sources[std::size_t(n)]);
            if (source < 0) continue;  // nothing of the image is there: all classes are as likely
            if (view[4] != 0)          // mirrored after it was cut out
                source += grid.width - 1 - 2 * (source % grid.width);
            add(std::span(weights).subspan(std::size_t(source) * cells, cells),
                tokens[i][n].data_ptr<float>());
        }
    };
    for (std::int64_t i = 0; i < batch; ++i) fill(i);
    const double off = smoothing / double(classes);
    const auto probabilities = [&](const at::Tensor& logits) {
        return at::softmax(logits, -1) * (1 - smoothing + off) + off;
    };
    return {probabilities(tokens), probabilities(images)};
}

}  // namespace cait
