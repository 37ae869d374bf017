#include "pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/describe.h"
#include "data/open_dataset.h"
#include "data/shuffle.h"
#include "image/codec/decode.h"

namespace cait::app {

void PictureArguments::add_to(CLI::App& command) {
    command.add_option("images", files, "JPEG, PNG or WebP files");
    command.add_option("--data", data, "Instead of files: images of a data set, drawn at random");
    command.add_option("--count", count, "How many images of --data")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    command.add_option("--seed", seed, "Which images of --data")->capture_default_str();
}

std::vector<Picture> PictureArguments::read() const {
    if (files.empty() == data.empty())
        throw UsageError("expected image files or --data NAME, one of the two");
    std::vector<Picture> pictures;
    for (const std::string& file : files) pictures.push_back({file, read_image(file), {}});
    if (data.empty()) return pictures;
    const DatasetPtr dataset = open_dataset(data, Split::val);
    std::vector<std::uint32_t> order(dataset->size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    RandomStream random(seed, "pictures");
    shuffle(std::span(order), random);
    order.resize(std::min(order.size(), count));
    for (const std::uint32_t index : order)
        pictures.push_back({dataset->name(index), dataset->image(index),
                            dataset->classes().at(std::size_t(dataset->label(index)))});
    return pictures;
}

Tensor prepare(const Model& model, const std::vector<Picture>& pictures,
               std::vector<Image>* shown) {
    Preparer preparer = preparer_of(model);
    if (shown != nullptr)
        for (const Picture& picture : pictures) shown->push_back(preparer.crop(picture.image));
    return preparer.batch(pictures.size(),
                          [&](std::size_t i) -> const Image& { return pictures[i].image; });
}

std::vector<Prediction> top_predictions(const Model& model, std::span<const float> logits,
                                        std::size_t count) {
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(count), order.end(),
                      [&](std::size_t a, std::size_t b) {
                          return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                      });
    const double most = logits[order.front()];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - most);
    std::vector<Prediction> predictions;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t index = order[i];
        predictions.push_back({index,
                               index < model.classes().size() ? model.classes()[index]
                                                              : fmt::format("class {}", index),
                               std::exp(double(logits[index]) - most) / sum});
    }
    return predictions;
}

}  // namespace cait::app
