#include "weights_argument.h"

#include <fmt/format.h>

#include "output.h"
#include "progress.h"
#include "weights/published/resolve_weights.h"

namespace cait::app {

CLI::Option* add_weights_option(CLI::App& command, std::string& weights) {
    const OptionGroup group(command, kModelOptions);
    return command
        .add_option("--weights", weights,
                    "Weight file, the folder of a run, or official: the published weights of "
                    "--model (see `cait weights`)")
        ->type_name("FILE");
}

std::string weights_file(const std::string& weights, const std::string& model,
                         std::vector<std::string>* notes) {
    ResolveOptions options;
    options.note = [notes](const std::string& text) {
        if (notes != nullptr)
            notes->push_back(text);
        else
            print_error("note: {}\n", text);
    };
    options.fetching = byte_progress;
    return resolve_weights(weights, model, options).string();
}

}  // namespace cait::app
