// `cait translate`: lines of one language to lines of another.
#include "translate.h"

#include <fmt/format.h>

#include "input_files.h"
#include "model_arguments.h"

namespace cait::app {

namespace {

// Before anything is read.
void check_arguments(const TranslateArguments& arguments) {
    arguments.model.settings();
    arguments.published.check();
    const TranslateOptions& search = arguments.search.options;
    if (search.best > search.beam)
        throw UsageError(fmt::format("--best: expected at most {}, which is the beam, found {}",
                                     search.beam, search.best));
    if (search.attention && !arguments.json)
        throw UsageError("--attention: expected --json, which has room for it");
    if (arguments.output.empty()) return;
    OutputFile output(arguments.output);
    output.not_in(arguments.input)
        .not_in(arguments.published.codes)
        .not_in(arguments.published.dictionary);
    for (const std::string& weights : arguments.weights) output.not_in_weights(weights);
    check_output(arguments.output);
}

void add_translate(CLI::App& command, const Invocation& invocation) {
    set_example(command,
                "cait translate --weights runs/en-de < lines.en > lines.de\n"
                "  cait translate --weights runs/a runs/b --input lines.en --output lines.de\n"
                "  cait translate --weights runs/en-de --best 4 --json --attention < lines.en\n"
                "  cait translate --model transformer_big --weights model.pt --published-codes "
                "bpecodes --published-dictionary dict.en.txt --length-penalty 0.6 < lines.en");
    auto arguments = std::make_shared<TranslateArguments>();
    arguments->model.add_to(command, true);
    add_several_weights(command, arguments->weights)->required();
    command.add_option("--input", arguments->input, "File with a sentence in each line")
        ->type_name("FILE")
        ->default_str("standard input");
    command.add_option("--output", arguments->output,
                       "A file instead of the terminal; it appears whole");
    command
        .add_option("--best", arguments->search.options.best,
                    "Translations of each line: its number, the score and the text, with tabs "
                    "between them")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    command.add_flag("--attention", arguments->search.options.attention,
                     "With --json: also where each piece looked in the source");
    command.add_flag("--skip-bad", arguments->skip_bad,
                     "Answer lines that cannot be translated with empty ones and go on");
    arguments->search.add_to(command);
    arguments->published.add_to(command);
    {
        const OptionGroup group(command, kExecutionOptions);
        command.add_option("--precision", arguments->precision, "Number format of the products")
            ->check(CLI::IsMember({"fp32", "bf16"}))
            ->capture_default_str();
        command.add_option("--threads", arguments->threads, "Default: all processors")
            ->check(CLI::Range(1, 1024));
        command.add_option(
            "--packed", arguments->cache,
            "File that keeps packed weights for the next start: made if it is not there");
    }
    add_json_flag(command, arguments->json, "A JSON object for each line, with scores and pieces");
    command.callback([arguments, invocation] {
        check_arguments(*arguments);
        run(*arguments, invocation);
    });
}

const RegisterCommand translate_row({"translate", CommandGroup::use, "Translate lines of text",
                                     add_translate});

}  // namespace

}  // namespace cait::app
