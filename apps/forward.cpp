// `cait forward`: raw tensors through a model, for tests and for people with their own
// preprocessing.
#include "forward.h"

#include "weights_argument.h"

namespace cait::app {

namespace {

void run(const ForwardArguments& arguments, const Invocation& invocation) {
    if (arguments.model.model.empty() && arguments.weights.empty())
        throw UsageError("forward: expected --model NAME, --weights FILE or both");
    run_on_torch(arguments, invocation);
}

}  // namespace

void add_forward_command(CLI::App& app, const Invocation& invocation) {
    CLI::App* command = add_command(
        app, "forward", "Run raw tensors through a model",
        "cait forward --model cait_s24_224 --weights S24_224.pth --input x.npy --output y.npy\n"
        "  cait forward --weights mine.safetensors --input x.npy --output map.npy "
        "--tap class_attention.0");
    auto arguments = std::make_shared<ForwardArguments>();
    arguments->model.add_to(*command, true);
    add_weights_option(*command, arguments->weights);
    command
        ->add_option("--seed", arguments->seed,
                     "For weights that have to be made anew: the head's, or all without --weights")
        ->capture_default_str();
    command->add_option("--input", arguments->input, "Images [B, C, H, W] float32, .npy")
        ->required();
    command
        ->add_option("--output", arguments->output,
                     ".npy for one tap, .safetensors for any number of them")
        ->required();
    add_repeatable(
        *command, "--tap", arguments->taps,
        "Output: logits (default), features, tokens, class_attention.N, "
        "self_attention.N, residual_ratio.N, logits_class, logits_dist; may be repeated");
    command->add_option("--precision", arguments->precision, "Number format of the products")
        ->check(CLI::IsMember({"fp32", "bf16"}))
        ->capture_default_str();
    command->add_option("--executor", arguments->executor, "What runs the graph")
        ->check(CLI::IsMember({"torch"}))
        ->capture_default_str();
    command->add_option("--batch", arguments->batch, "Images that go through together")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    command->callback([arguments, invocation] { run(*arguments, invocation); });
}

}  // namespace cait::app
