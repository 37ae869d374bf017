#include "train/teacher.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "cait/error.h"
#include "torch/convert.h"
#include "torch/kernel_evaluate.h"
#include "torch/linear_function.h"

namespace cait {

namespace {

Model load_teacher(const DistillPart& distill, std::int64_t classes) {
    if (distill.teacher.empty())
        throw UsageError("distill.teacher: expected a model file or a name of the catalogue");
    if (distill.weights.empty()) {
        if (!std::filesystem::is_regular_file(distill.teacher))
            throw UsageError(
                fmt::format("distill.teacher '{}': expected a model file, or a name of the "
                            "catalogue together with distill.weights",
                            distill.teacher));
        return Model::load(distill.teacher);
    }
    // A file of ours says how many classes it has; any other one must have the student's.
    const Model model =
        Model::load(distill.weights, distill.teacher, {{"classes", std::to_string(classes)}});
    for (const std::string& note : model.notes())
        if (note.find("classes") != std::string::npos)
            throw Error(fmt::format("distill.weights {}: expected a head for {} classes, found {}",
                                    distill.weights, classes, note));
    return model;
}

void check_same(const char* what, std::int64_t teacher, const std::string& teacher_name,
                std::int64_t student, const std::string& student_name) {
    if (teacher != student)
        throw Error(fmt::format("distill.teacher {}: expected {} {} as in the student {}, found {}",
                                teacher_name, student, what, student_name, teacher));
}

// Rows by image; the ratio of downsizing decides whether it takes a filter against aliasing.
at::Tensor resized(const at::Tensor& images, ImageSize size) {
    const bool shrinks = size.height < images.size(2) || size.width < images.size(3);
    const std::vector<std::int64_t> extents{size.height, size.width};
    return shrinks ? at::_upsample_bicubic2d_aa(images, extents, false)
                   : at::upsample_bicubic2d(images, extents, false);
}

// Red, green and blue, or the first alone for grey: [C, 1, 1]
at::Tensor column(const std::array<float, 3>& values, std::int64_t channels) {
    return at::tensor(at::ArrayRef<float>(values))
        .slice(0, 0, std::min<std::int64_t>(channels, 3))
        .reshape({-1, 1, 1});
}

bool has_token_head(const Model& model) { return model.weights().contains("aux_head.weight"); }

// Convnets that average the positions and map the mean: the same map fits each position.
const char* position_head(const Model& model) {
    if (model.weights().contains("cls_token")) return nullptr;  // pooled by attention
    const std::string& family = model.spec().family->name;
    if (family == "resnet") return "fc";
    return family == "regnet" ? "head.fc" : nullptr;
}

std::vector<std::string> token_taps(const Model& model) {
    if (has_token_head(model)) return {"logits_aux"};
    if (position_head(model) != nullptr) return {"tokens"};
    throw Error(
        fmt::format("distill.teacher {}: expected a VOLO with aux_head, a ResNet or a "
                    "RegNetY, which can label every token",
                    model.spec().name));
}

// Rows and columns of `tokens` places in an image.
ImageSize grid_of(std::int64_t tokens, const at::Tensor& images) {
    const double rows = std::sqrt(double(tokens) * double(images.size(2)) / double(images.size(3)));
    const auto height = std::max<std::int64_t>(1, std::llround(rows));
    if (tokens % height != 0)
        throw Error(
            fmt::format("[teacher] {} tokens: expected a grid of the images' proportions", tokens));
    return {height, tokens / height};
}

}  // namespace

Teacher::Teacher(const DistillPart& distill, const ModelSpec& student, Precision precision,
                 at::Device device, const std::optional<Preprocessing>& given)
    : precision_(precision), temperature_(distill.temperature), caches_(distill.cache) {
    const CommonConfig& pupil = student.architecture->common();
    const Model model = load_teacher(distill, pupil.classes);
    const CommonConfig& common = model.spec().architecture->common();
    name_ = model.spec().name;
    size_ = common.image_size;
    check_same("classes", common.classes, name_, pupil.classes, student.name);
    check_same("channels", common.channels, name_, pupil.channels, student.name);
    RecordOptions options;
    if (distill.kind == Distillation::tokens) options.taps = token_taps(model);
    executor_ = std::make_unique<TorchExecutor>(record(model.spec(), options));
    for (const auto& [name, tensor] : model.weights())
        weights_[name] = to_torch(tensor).to(device, at::kFloat, false, /*copy=*/true);
    if (const char* head = position_head(model)) head_ = head;

    const Preprocessing& wanted = model.preprocessing();
    if (!given || (given->mean == wanted.mean && given->deviation == wanted.deviation)) return;
    const auto by_channel = [&](const auto& values) { return column(values, common.channels); };
    const at::Tensor divisor = by_channel(wanted.deviation);
    gain_ = (by_channel(given->deviation) / divisor).to(device);
    offset_ = ((by_channel(given->mean) - by_channel(wanted.mean)) / divisor).to(device);
}

at::Tensor Teacher::prepared(const at::Tensor& images) const {
    at::Tensor result = images;
    if (images.dim() == 4 && (images.size(2) != size_.height || images.size(3) != size_.width))
        result = resized(images, size_);
    return gain_.defined() ? result * gain_ + offset_ : result;
}

at::Tensor Teacher::logits(const at::Tensor& images) {
    const at::NoGradGuard no_gradients;
    return executor_->run(prepared(images), weights_, {.precision = precision_})
        .at("logits")
        .to(at::kFloat);
}

at::Tensor Teacher::token_logits(const at::Tensor& images) {
    const EvaluateContext context{.precision = precision_};
    const TorchTensors outputs = executor_->run(prepared(images), weights_, context);
    if (const auto own = outputs.find("logits_aux"); own != outputs.end())
        return own->second.to(at::kFloat);
    const at::Tensor tokens = outputs.at("tokens").to(at::kFloat);
    const at::Tensor &weight = weights_.at(head_ + ".weight"), &bias = weights_.at(head_ + ".bias");
    return kernels_apply(tokens, context) ? cpu_linear(tokens, weight, bias, {})
                                          : at::linear(tokens, weight, bias);
}

at::Tensor Teacher::token_probabilities(const at::Tensor& images, std::int64_t tokens) {
    const at::NoGradGuard no_gradients;
    const at::Tensor found = at::softmax(token_logits(images) / temperature_, -1);  // [B, N, K]
    const ImageSize from = grid_of(found.size(1), images), to = grid_of(tokens, images);
    const at::Tensor map =
        found.transpose(1, 2).reshape({found.size(0), found.size(2), from.height, from.width});
    return at::upsample_bilinear2d(map, {to.height, to.width}, false).flatten(2).transpose(1, 2);
}

at::Tensor Teacher::logits(const at::Tensor& images, std::span<const SampleKey> samples) {
    if (!caches_) return logits(images);
    if (images.dim() != 4 || images.size(0) != std::int64_t(samples.size()))
        throw Error(fmt::format("[teacher] expected a sample for each of {} images, found {}",
                                images.dim() > 0 ? images.size(0) : 0, samples.size()));
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (!cache_.contains(samples[i].sample)) missing.push_back(std::int64_t(i));
    if (!missing.empty()) {
        const at::Tensor rows = at::tensor(missing, at::kLong).to(images.device());
        const at::Tensor fresh = logits(images.index_select(0, rows)).cpu();
        for (std::size_t i = 0; i < missing.size(); ++i)
            cache_[samples[std::size_t(missing[i])].sample] = fresh[std::int64_t(i)].clone();
    }
    std::vector<at::Tensor> rows;
    for (const SampleKey& key : samples) rows.push_back(cache_.at(key.sample));
    return at::stack(rows).to(images.device());
}

}  // namespace cait
