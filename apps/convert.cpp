// `cait convert`: any weight file to one safetensors file, as it is or fitted to a model.
#include <fmt/format.h>

#include "base/convert.h"
#include "base/printable.h"
#include "command.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/alias_weights.h"
#include "models/catalogue.h"
#include "models/file_facts.h"
#include "output.h"
#include "weights/checksum.h"
#include "weights/non_finite.h"
#include "weights/quantized_file.h"
#include "weights/safetensors.h"
#include "weights/verify_weights.h"
#include "weights/weight_file.h"

namespace cait::app {

namespace {

struct ConvertArguments {
    std::string input;
    std::string output;
    ModelOptions model;
    std::string names = "official";
    std::string name;     // of the model; empty: the file's own
    std::string classes;  // file with names
    std::string dtype;

    // Otherwise the tensors are passed on as they are.
    bool fits_a_model() const {
        return !model.model.empty() || !model.set.empty() || model.preparation.any() ||
               !classes.empty() || names != "official";
    }
};

void convert_floats(std::vector<NamedTensor>& tensors, const std::string& dtype,
                    const std::string& file) {
    if (dtype.empty()) return;
    const DType target = dtype == "float16"    ? DType::f16
                         : dtype == "bfloat16" ? DType::bf16
                                               : DType::f32;
    for (NamedTensor& entry : tensors)
        if (is_floating(entry.tensor.dtype())) {
            Tensor converted = convert(entry.tensor, target);
            if (const auto lost = first_overflow(entry.tensor, converted))
                throw Error(fmt::format("{}: tensor '{}': {:g} at {} is too large for {}", file,
                                        printable(entry.name), lost->value,
                                        index_text(entry.tensor.shape(), lost->index), dtype));
            entry.tensor = std::move(converted);
        }
}

// Under the names asked for. timm has most models under official names.
std::vector<NamedTensor> named_weights(const std::string& names, const Model& model) {
    const Family& family = *model.spec().family;
    if (names == family.alias) return alias_weights(model);
    if (names == "torchvision" || names == "fairseq" || (family.takes_text && names == "timm"))
        throw UsageError(fmt::format("--names: {} has no {} models", names, family.name));
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
    return tensors;
}

void run(const ConvertArguments& arguments) {
    if (!arguments.output.ends_with(".safetensors"))
        throw UsageError(fmt::format("{}: expected an output name that ends with .safetensors",
                                     arguments.output));
    ModelWords words = arguments.model.words(arguments.input, arguments.classes);
    words.keeps_settings = true;
    const FoundModel found = find_model(words);
    const std::string& input = found.file;
    std::vector<NamedTensor> tensors;
    std::map<std::string, std::string> metadata;
    OutputFile(arguments.output).not_in(input).not_in(arguments.classes);
    check_output(arguments.output);
    enter_sandbox_for({arguments.output});
    verify_weights(input);
    if (!arguments.fits_a_model()) {
        print_notes(found.notes);
        WeightFile file = open_weights(input, {.prefer_ema = arguments.model.prefer_ema});
        verify_checksums(file.tensors, file.metadata, input);
        if (!arguments.dtype.empty()) dequantize_file(file, input);
        tensors = std::move(file.tensors);
        metadata = std::move(file.metadata);
        metadata.try_emplace("format", "pt");
        if (!arguments.name.empty()) metadata[kNameKey] = arguments.name;
    } else {
        Model model = open_with_notes(found).model;
        if (!arguments.name.empty()) model.set_name(arguments.name);
        metadata = model.metadata();
        metadata.erase(kQuantizedKey);  // weights are written as floats
        tensors = named_weights(arguments.names, model);
    }
    convert_floats(tensors, arguments.dtype, input);
    write_safetensors(arguments.output, tensors, sealed(std::move(metadata), tensors));
    print_error("wrote {} ({} tensors)\n", arguments.output, tensors.size());
}

void add_convert(CLI::App& command, const Invocation&) {
    set_example(command,
                "cait convert S24_224.pth cait_s24.safetensors --model cait_s24_224\n"
                "  cait convert S24_224.pth small.safetensors --model cait_s24_224 "
                "--set model.image_size=160 --dtype bfloat16\n"
                "  cait convert best.safetensors flowers.safetensors --name flowers --classes "
                "names.txt\n"
                "  cait convert their.pth mine.safetensors --model resnet50 --preparation "
                "inception");
    auto arguments = std::make_shared<ConvertArguments>();
    command
        .add_option("input", arguments->input,
                    "Weights: .safetensors, .pth, .pt, the folder of a run, or official")
        ->required();
    command.add_option("output", arguments->output, "The .safetensors file to write")->required();
    arguments->model.add_to(command, true);
    arguments->model.add_fresh_head_to(command);
    arguments->model.preparation.add_to(command);
    command.add_option("--names", arguments->names, "Parameter names to write")
        ->check(CLI::IsMember({"official", "timm", "torchvision", "fairseq"}))
        ->capture_default_str();
    command.add_option("--name", arguments->name, "What the model is to be called")
        ->type_name("NAME");
    add_classes_option(command, arguments->classes);
    command
        .add_option("--dtype", arguments->dtype,
                    "Number format to write, of int8 weights too; default: as it is")
        ->check(CLI::IsMember({"float32", "float16", "bfloat16"}));
    command.callback([arguments] { run(*arguments); });
}

const RegisterCommand convert_row({"convert", CommandGroup::data,
                                   "Turn any weight file into one safetensors file", add_convert});

}  // namespace

}  // namespace cait::app
