#include "train/objectives/detection_truth.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "data/targets/objects.h"

namespace cait {

namespace {

constexpr std::int64_t kNumbers = 6;  // of an object in kObjects

at::Tensor on_cpu(const ObjectiveBatch& batch, const char* name, std::int64_t row,
                  at::ScalarType type) {
    const at::Tensor all = batch.target(name);
    if (!all.defined() || all.size(0) <= row)
        throw Error(fmt::format("[loss] mask_rcnn: expected {} for {} images", name, batch.size()));
    return all.select(0, row).to(at::kCPU, type).contiguous();
}

template <class T>
std::span<const T> values_of(const at::Tensor& tensor) {
    return {tensor.data_ptr<T>(), std::size_t(tensor.numel())};
}

// What is not said, or said to be larger than the image, is all of it.
std::int64_t within(std::int64_t shown, std::int64_t canvas) {
    return shown <= 0 ? canvas : std::min(shown, canvas);
}

}  // namespace

DetectionTruth truth_of(const ObjectiveBatch& batch, std::int64_t row, ImageSize canvas,
                        std::int64_t classes, bool with_masks) {
    const at::Tensor sizes = on_cpu(batch, kShownSizes, row, at::kLong);
    const std::span<const std::int64_t> shown = values_of<std::int64_t>(sizes);
    DetectionTruth truth;
    truth.shown = {within(shown[0], canvas.height), within(shown[1], canvas.width)};
    const at::Tensor table = on_cpu(batch, kObjects, row, at::kFloat);
    const std::span<const float> numbers = values_of<float>(table);
    std::size_t objects = 0;
    std::vector<std::size_t> kept;  // their places among the row's objects
    for (std::size_t at = 0; at + kNumbers <= numbers.size(); at += kNumbers) {
        const std::span<const float> one = numbers.subspan(at, kNumbers);
        if (!(one[4] >= 0)) continue;
        const std::size_t place = objects++;
        const Region box{one[0], one[1], one[2], one[3]};
        if (one[5] != 0 || !(box.width() > 0) || !(box.height() > 0)) continue;
        if (std::int64_t(one[4]) >= classes)
            throw Error(fmt::format("[loss] mask_rcnn: expected a class below {}, found {}",
                                    classes, std::int64_t(one[4])));
        truth.boxes.push_back(box);
        truth.labels.push_back(std::int64_t(one[4]));
        kept.push_back(place);
    }
    if (!with_masks || kept.empty()) return truth;
    const at::Tensor runs = on_cpu(batch, kObjectMasks, row, at::kInt);
    std::vector<RunMask> masks = masks_of_row(values_of<std::int32_t>(runs), canvas, objects);
    for (const std::size_t place : kept) truth.masks.push_back(std::move(masks[place]));
    return truth;
}

ImageSize largest_shown(const ObjectiveBatch& batch, ImageSize canvas) {
    const at::Tensor sizes = batch.target(kShownSizes);
    if (!sizes.defined() || sizes.size(0) == 0) return canvas;
    const at::Tensor most = sizes.to(at::kCPU, at::kLong).amax(0).contiguous();
    const std::span<const std::int64_t> both = values_of<std::int64_t>(most);
    return {within(both[0], canvas.height), within(both[1], canvas.width)};
}

// Boxes of many sizes, so that regions of every level are pooled, each filled by its mask.
void put_made_objects(std::int64_t images, std::int64_t objects, ImageSize canvas,
                      TorchTensors& targets) {
    std::vector<float> table;
    std::vector<std::int32_t> runs;
    for (std::int64_t i = 0; i < objects; ++i) {
        const double share = double(i + 1) / double(objects);
        const std::int64_t right =
            std::max<std::int64_t>(1, std::int64_t(share * double(canvas.width)));
        const std::int64_t bottom =
            std::max<std::int64_t>(1, std::int64_t(share * double(canvas.height)));
        for (const double number : {0.0, 0.0, double(right), double(bottom), 0.0, 0.0})
            table.push_back(float(number));
        // One column inside, the others outside: as much work as any mask.
        const std::int64_t outside = (canvas.width - 1) * canvas.height;
        runs.push_back(outside > 0 ? 3 : 2);
        runs.push_back(0);
        runs.push_back(std::int32_t(canvas.height));
        if (outside > 0) runs.push_back(std::int32_t(outside));
    }
    const auto repeated = [images](const at::Tensor& one) {
        std::vector<std::int64_t> times(std::size_t(one.dim()) + 1, 1);
        times[0] = images;
        return one.unsqueeze(0).repeat(times);
    };
    targets[kObjects] = repeated(at::tensor(table, at::kFloat).reshape({objects, kNumbers}));
    targets[kObjectMasks] = repeated(at::tensor(runs, at::kInt));
    targets[kShownSizes] = repeated(at::tensor({canvas.height, canvas.width}, at::kLong));
}

}  // namespace cait
