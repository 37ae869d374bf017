// `cait forward`: raw tensors through a model, for tests and for people with their own
// preprocessing.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
    std::vector<std::string> inputs;  // FILE, or NAME=FILE of models with several
    std::string output;
    std::vector<std::string> taps;
    ExecutorOptions executor;
    std::uint64_t seed = 0;
};

std::vector<std::string> input_files(const std::vector<std::string>& inputs) {
    std::vector<std::string> files;
    for (const std::string& text : inputs) files.push_back(split_name(text).file);
    return files;
}

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
    OutputFile(arguments.output)
        .not_in_weights(arguments.weights)
        .not_in(input_files(arguments.inputs));
    check_output(arguments.output);
}

NamedInputs<Tensor> read_inputs(const ForwardArguments& arguments) {
    NamedInputs<Tensor> inputs;
    for (const std::string& text : arguments.inputs) {
        const NamedFile one = split_name(text);
        if (!inputs.emplace(one.name, read_npy(one.file)).second)
            throw UsageError(
                fmt::format("--input {}: expected another NAME=, found it twice", text));
    }
    if (inputs.size() > 1 && inputs.contains(""))
        throw UsageError("--input: expected NAME=FILE for each of several inputs");
    return inputs;
}

// Nothing is written from a computation that overflowed.
void check_finite(const std::map<std::string, Tensor>& outputs, const NamedInputs<Tensor>& inputs,
                  const std::string& files) {
    float largest = 0;
    for (const auto& [name, tensor] : inputs)
        if (tensor.dtype() == DType::f32)
            largest = std::max(largest, largest_magnitude(tensor.floats()));
    for (const auto& [name, values] : outputs)
        if (const auto bad = first_non_finite(values)) {
            const std::int64_t each = values.count() / values.shape()[0];
            throw Error(fmt::format("{}: image {}: output {}: expected finite values, found {}: {}",
                                    files, bad->index / each, name, bad->value,
                                    overflow_reason(largest)));
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
    const NamedInputs<Tensor> inputs = read_inputs(arguments);
    Progress progress("forward", "images");
    const auto executor = make_executor(model, arguments.executor, arguments.model.kept());
    const auto outputs =
        run_in_batches(*executor, inputs, arguments.taps, arguments.executor.batch,
                       [&](std::size_t done, std::size_t total) { progress.update(done, total); });
    if (!arguments.model.allow_non_finite)
        check_finite(outputs, inputs,
                     fmt::format("{}", fmt::join(input_files(arguments.inputs), ", ")));
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
    add_repeatable(command, "--input", arguments->inputs,
                   "Images [B, C, H, W] float32, .npy; of a model with several inputs one "
                   "NAME=FILE for each")
        ->type_name("FILE")
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
