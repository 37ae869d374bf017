#include "weights_argument.h"

#include <fmt/format.h>

#include <cstdio>

#include "progress.h"
#include "published/resolve_weights.h"

namespace cait::app {

CLI::Option* add_weights_option(CLI::App& command, std::string& weights) {
    return command
        .add_option("--weights", weights,
                    "Weight file, the folder of a run, or official: the published weights of "
                    "--model (see `cait weights`)")
        ->type_name("FILE");
}

std::string weights_file(const std::string& weights, const std::string& model) {
    ResolveOptions options;
    options.note = [](const std::string& text) { fmt::print(stderr, "note: {}\n", text); };
    options.fetching = byte_progress;
    return resolve_weights(weights, model, options).string();
}

}  // namespace cait::app
