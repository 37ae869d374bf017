#include "class_names.h"

#include <fmt/format.h>

#include "data.h"
#include "data/class_list.h"
#include "data/imagenet_classes.h"
#include "models/catalogue.h"
#include "output.h"
#include "weights_argument.h"

namespace cait::app {

void add_classes_option(CLI::App& command, std::string& file) {
    const OptionGroup group(command, kModelOptions);
    command.add_option("--classes", file,
                       "Names of the model's classes, one per line, in place of its own");
}

void use_class_file(Model& model, const std::string& file) {
    std::vector<std::string> names = read_class_file(file);
    const auto expected = std::size_t(model.spec().architecture->common().classes);
    if (names.size() != expected)
        throw Error(
            fmt::format("{}: expected {} class names, as many as the model has classes, "
                        "found {}",
                        file, expected, names.size()));
    model.set_classes(std::move(names));
}

void note_imagenet_names(const std::string& weights, std::string_view list) {
    print_error("note: {} does not name its classes; the names are those of {}\n", weights, list);
}

Model load_model(const ModelOptions& options, const std::string& weights,
                 const std::string& classes) {
    Model model = Model::load(weights_file(weights, options.model), options.model,
                              options.settings(), options.load_options());
    for (const std::string& note : model.notes()) print_error("note: {}\n", note);
    name_classes(model, classes, weights);
    return model;
}

void name_classes(Model& model, const std::string& file, const std::string& weights) {
    if (!file.empty()) return use_class_file(model, file);
    if (!model.classes().empty() || model.has_fresh_head()) return;
    auto list = imagenet_list(std::size_t(model.spec().architecture->common().classes));
    if (!list) return;
    note_imagenet_names(weights, list->title);
    model.set_classes(std::move(list->names));
}

}  // namespace cait::app
