// Linked into `cait-torch`: carries out `cait forward`.
#include <fmt/format.h>

#include <cstdio>

#include "cait/train.h"
#include "forward.h"
#include "progress.h"
#include "torch/runtime.h"
#include "weights/npy.h"
#include "weights/safetensors.h"
#include "weights_argument.h"

namespace cait::app {

void run_on_torch(const ForwardArguments& arguments, const Invocation&) {
    const bool one_array = arguments.output.ends_with(".npy");
    if (!one_array && !arguments.output.ends_with(".safetensors"))
        throw UsageError(
            fmt::format("{}: expected an output name that ends with .npy or "
                        ".safetensors",
                        arguments.output));
    if (one_array && arguments.taps.size() > 1)
        throw UsageError("--output: several taps need a name that ends with .safetensors");

    const SettingList settings = arguments.model.settings();
    Model::LoadOptions load = arguments.model.load_options();
    load.seed = arguments.seed;
    const Model model = arguments.weights.empty()
                            ? Model::create(arguments.model.model, settings, arguments.seed)
                            : Model::load(weights_file(arguments.weights, arguments.model.model),
                                          arguments.model.model, settings, load);
    for (const std::string& note : model.notes()) fmt::print(stderr, "note: {}\n", note);

    const Tensor images = read_npy(arguments.input);
    use_all_cores();
    Progress progress("forward", "images");
    ForwardOptions options;
    options.taps = arguments.taps;
    options.precision = arguments.precision == "bf16" ? Precision::bf16 : Precision::fp32;
    options.batch = arguments.batch;
    options.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    const auto outputs = forward(model, images, options);
    if (one_array) return write_npy(arguments.output, outputs.begin()->second);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : outputs) tensors.push_back({name, tensor});
    write_safetensors(arguments.output, tensors, {});
}

}  // namespace cait::app
