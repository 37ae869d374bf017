#include "cait/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "data/imagenet_classes.h"
#include "engine/pixels.h"
#include "image/codec/decode.h"
#include "image/codec/encode.h"
#include "image/draw/heat_map.h"
#include "models/attention_map.h"
#include "models/catalogue.h"
#include "models/class_layers.h"
#include "models/describe.h"
#include "models/finite_logits.h"
#include "models/top_answers.h"

namespace cait {

namespace {

std::vector<std::string> names_of(const Model& model) {
    if (!model.classes().empty() || model.has_fresh_head()) return model.classes();
    const auto list = imagenet_list(std::size_t(model.spec().architecture->common().classes));
    return list ? list->names : std::vector<std::string>();
}

}  // namespace

struct Classifier::State {
    Model model;
    Session session;
    std::vector<std::string> classes;
    Grid grid;

    State(const Model& of, const SessionOptions& options)
        : model(of),
          session(of, options),
          classes(names_of(of)),
          grid(record(of.spec()).patch_grid) {
        preparer_of(model);  // throws where the model takes no photographs
        session.prepare({});
    }

    // One image through the model.
    Tensor run(const Image& image, const std::string& tap) const {
        Preparer preparer = preparer_of(model);  // one for each caller
        const Tensor input = preparer.batch(1, [&](std::size_t) -> const Image& { return image; });
        return session.run(input, {tap}).at(tap);
    }

    // Raw images may be to blame themselves.
    void check_finite(std::span<const float> logits, const Tensor& images) const {
        const float largest = largest_magnitude(images.floats());
        if (inputs_overflow(largest) &&
            !std::ranges::all_of(logits, [](float value) { return std::isfinite(value); }))
            throw NonFiniteLogits(fmt::format("{}: the logits are not finite: {}",
                                              model.spec().name, overflow_reason(largest)));
    }

    std::vector<Answer> answers(std::span<const float> logits, std::size_t top) const {
        check_finite_logits(logits, model.spec().name + ": image");
        return top_answers(logits, top, classes, model.task());
    }

    std::vector<Answer> classify(const Image& image, std::size_t top) const {
        return answers(run(image, "logits").floats(), top);
    }
    std::vector<float> embed(const Image& image) const {
        const Tensor features = run(image, "features");
        check_finite_values(features.floats(), model.spec().name + ": image", "feature");
        return {features.floats().begin(), features.floats().end()};
    }
};

Classifier::Classifier(const Model& model, const SessionOptions& options)
    : state_(std::make_shared<const State>(model, options)) {}

std::vector<Answer> Classifier::classify(const std::filesystem::path& file, std::size_t top) const {
    return state_->classify(read_image(file), top);
}
std::vector<Answer> Classifier::classify(std::span<const std::byte> encoded,
                                         std::size_t top) const {
    return state_->classify(decode_image(encoded, "image"), top);
}
std::vector<Answer> Classifier::classify(const Pixels& pixels, std::size_t top) const {
    return state_->classify(image_of(pixels), top);
}

std::vector<std::vector<Answer>> Classifier::classify(const Tensor& images, std::size_t top) const {
    const Tensor logits = state_->session.run(images, {"logits"}).at("logits");
    state_->check_finite(logits.floats(), images);
    const auto count = std::size_t(logits.shape()[0]), classes = std::size_t(logits.shape()[1]);
    std::vector<std::vector<Answer>> answers;
    for (std::size_t i = 0; i < count; ++i)
        answers.push_back(state_->answers(logits.floats().subspan(i * classes, classes), top));
    return answers;
}

std::vector<float> Classifier::embed(const std::filesystem::path& file) const {
    return state_->embed(read_image(file));
}
std::vector<float> Classifier::embed(std::span<const std::byte> encoded) const {
    return state_->embed(decode_image(encoded, "image"));
}
std::vector<float> Classifier::embed(const Pixels& pixels) const {
    return state_->embed(image_of(pixels));
}

AttentionMap Classifier::attention(const std::filesystem::path& file,
                                   std::optional<std::size_t> layer) const {
    const Image image = read_image(file);
    const auto shown = layer ? std::int64_t(*layer) : class_layers(state_->model.spec()).usual();
    const Tensor map = state_->run(image, fmt::format("class_attention.{}", shown));
    const bool per_class = has_map_per_class(state_->model);
    const auto query = per_class ? std::int64_t(state_->classify(image, 1).front().index) : 0;
    return patch_attention(map.floats(), map.shape(), state_->grid, -1, query);
}

void Classifier::draw(const std::filesystem::path& photo, const AttentionMap& map,
                      const std::filesystem::path& output) const {
    check_image_name(output);
    const Image image = read_image(photo);
    write_image(output, overlay(image, {map.width, map.height, map.values},
                                preparer_of(state_->model).seen(image)));
}

const std::vector<std::string>& Classifier::classes() const { return state_->classes; }
const Session& Classifier::session() const { return state_->session; }

}  // namespace cait
