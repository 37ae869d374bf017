// `cait preprocess`: images through a model's evaluation transform, as a .npy that `cait forward`
// reads.
#include <fmt/format.h>

#include <cstdio>

#include "command.h"
#include "image/codec/decode.h"
#include "models/catalogue.h"
#include "prepare/evaluation_transform.h"
#include "progress.h"
#include "weights/npy.h"

namespace cait::app {

namespace {

struct PreprocessArguments {
    ModelOptions model;
    std::vector<std::string> images;
    std::string output;
    double crop_ratio = 0;  // 0: the model's
    std::string mode = "centre";
    std::string filter = "bicubic";
};

EvaluationTransform transform_for(const PreprocessArguments& arguments) {
    const ModelSpec spec = configure(arguments.model.model, arguments.model.settings());
    const CommonConfig& common = spec.architecture->common();
    if (common.channels != 3)
        throw UsageError(
            fmt::format("preprocess: expected a model of 3 channels, found {}", common.channels));
    if (arguments.crop_ratio != 0 && !(arguments.crop_ratio > 0))
        throw UsageError(
            fmt::format("--crop-ratio: expected a number above 0, found {}", arguments.crop_ratio));
    EvaluationTransform transform;
    transform.height = common.image_size.height;
    transform.width = common.image_size.width;
    transform.crop_ratio =
        arguments.crop_ratio > 0 ? arguments.crop_ratio : spec.preset->preparation.crop_ratio;
    if (spec.preset->preparation.normalisation == Normalisation::half)
        transform.mean = transform.deviation = {0.5F, 0.5F, 0.5F};
    transform.mode = parse_crop_mode(arguments.mode);
    transform.filter = parse_filter(arguments.filter);
    transform.check();
    return transform;
}

void run(const PreprocessArguments& arguments) {
    const EvaluationTransform transform = transform_for(arguments);
    const auto count = std::int64_t(arguments.images.size());
    Tensor batch = Tensor::empty(DType::f32, {count, 3, transform.height, transform.width});
    const std::size_t one = batch.mutable_floats().size() / arguments.images.size();
    Progress progress("preprocess", "images");
    EvaluationWorkspace workspace;
    for (std::size_t i = 0; i < arguments.images.size(); ++i) {
        const Image image = read_image(arguments.images[i]);
        transform.apply(image, workspace, batch.mutable_floats().subspan(i * one, one));
        progress.update(i + 1, arguments.images.size());
    }
    write_npy(arguments.output, batch);
}

}  // namespace

void add_preprocess_command(CLI::App& app) {
    CLI::App* command =
        add_command(app, "preprocess", "Turn images into the tensor that a model is evaluated on",
                    "cait preprocess --model cait_s24_224 cat.jpg dog.png --output x.npy");
    auto arguments = std::make_shared<PreprocessArguments>();
    arguments->model.add_to(*command, false);
    command->get_option("--model")->required();
    command->add_option("images", arguments->images, "JPEG, PNG or WebP files")->required();
    command->add_option("--output", arguments->output, "The .npy file to write, [B, 3, H, W]")
        ->required();
    command->add_option("--crop-ratio", arguments->crop_ratio,
                        "Crop size over resized size; default: the model's");
    command
        ->add_option("--crop-mode", arguments->mode,
                     "centre: keep the aspect ratio; squash: do not; border: fill up")
        ->check(CLI::IsMember({"centre", "squash", "border"}))
        ->capture_default_str();
    command->add_option("--filter", arguments->filter, "Resampling filter")
        ->check(CLI::IsMember({"box", "bilinear", "bicubic", "lanczos"}))
        ->capture_default_str();
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
