// `cait forward`: raw tensors through a model, for tests and for people with their own
// preprocessing.
#include <fmt/format.h>

#include <algorithm>

#include "executor.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "models/finite_logits.h"
#include "progress.h"
#include "weights/non_finite.h"
#include "weights/npy.h"
#include "weights/safetensors.h"

namespace cait::app {

namespace {

struct ForwardArguments {
    ModelOptions model;
    std::string weights;
    std::string input;
    std::string output;
    std::vector<std::string> taps;
    ExecutorOptions executor;
    std::uint64_t seed = 0;
};

void check(const ForwardArguments& arguments) {
    if (arguments.model.model.empty() && arguments.weights.empty())
        throw UsageError("forward: expected --model NAME, --weights FILE or both");
    const bool one_array = arguments.output.ends_with(".npy");
    if (!one_array && !arguments.output.ends_with(".safetensors"))
        throw UsageError(
            fmt::format("{}: expected an output name that ends with .npy or "
                        ".safetensors",
                        arguments.output));
    if (one_array && arguments.taps.size() > 1)
        throw UsageError("--output: several taps need a name that ends with .safetensors");
    OutputFile(arguments.output).not_in_weights(arguments.weights).not_in(arguments.input);
    check_output(arguments.output);
}

// Nothing is written from a computation that overflowed.
void check_finite(const std::map<std::string, Tensor>& outputs, const Tensor& images,
                  const std::string& input) {
    for (const auto& [name, values] : outputs)
        if (const auto bad = first_non_finite(values)) {
            const std::int64_t each = values.count() / values.shape()[0];
            throw Error(fmt::format("{}: image {}: output {}: expected finite values, found {}: {}",
                                    input, bad->index / each, name, bad->value,
                                    overflow_reason(largest_magnitude(images.floats()))));
        }
}

void run(const ForwardArguments& arguments, const Invocation& invocation) {
    check(arguments);
    hand_over_if_torch(arguments.executor, invocation);
    ModelWords words = arguments.model.words(arguments.weights);
    words.load.seed = arguments.seed;
    if (!arguments.taps.empty() && std::ranges::none_of(arguments.taps, reads_class_head))
        words.load.allow_fresh_head = true;
    const FoundModel found = find_model(words);
    enter_sandbox_for({arguments.output, arguments.executor.cache});
    const Model model = open_with_notes(found).model;
    if (const std::size_t outputs = default_taps(model.spec()).size();
        arguments.taps.empty() && outputs > 1 && arguments.output.ends_with(".npy"))
        throw UsageError(fmt::format(
            "{}: expected a name that ends with .safetensors for {} outputs, or one --tap",
            arguments.output, outputs));
    const Tensor images = read_npy(arguments.input);
    Progress progress("forward", "images");
    const auto executor = make_executor(model, arguments.executor, arguments.model.kept());
    const auto outputs =
        run_in_batches(*executor, images, arguments.taps, arguments.executor.batch,
                       [&](std::size_t done, std::size_t total) { progress.update(done, total); });
    if (!arguments.model.allow_non_finite) check_finite(outputs, images, arguments.input);
    if (arguments.output.ends_with(".npy"))
        return write_npy(arguments.output, outputs.begin()->second);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : outputs) tensors.push_back({name, tensor});
    write_safetensors(arguments.output, tensors, {});
}

void add_forward(CLI::App& command, const Invocation& invocation) {
    set_example(
        command,
        "cait forward --model cait_s24_224 --weights S24_224.pth --input x.npy --output y.npy\n"
        "  cait forward --weights mine.safetensors --input x.npy --output map.npy "
        "--tap class_attention.0");
    auto arguments = std::make_shared<ForwardArguments>();
    arguments->model.keeps = true;
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    add_weights_option(command, arguments->weights);
    command
        .add_option("--seed", arguments->seed,
                    "For weights that are initialised here: a new head's, or all without --weights")
        ->capture_default_str();
    command.add_option("--input", arguments->input, "Images [B, C, H, W] float32, .npy")
        ->required();
    command
        .add_option("--output", arguments->output,
                    ".npy for one tap, .safetensors for any number of them")
        ->required();
    add_repeatable(
        command, "--tap", arguments->taps,
        "Output: logits (default), features, tokens, class_attention.N, "
        "self_attention.N, residual_ratio.N, class_tokens.N, logits_class, logits_dist; may be "
        "repeated");
    arguments->executor.add_to(command, ExecutorOptions::Torch::yes);
    command.callback([arguments, invocation] { run(*arguments, invocation); });
}

const RegisterCommand forward_row({"forward", CommandGroup::use, "Run raw tensors through a model",
                                   add_forward});

}  // namespace

}  // namespace cait::app
