// What a model's classes are called where its file does not say: --classes FILE, or ImageNet's
// names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cait/model.h"
#include "command.h"

namespace cait::app {

void add_classes_option(CLI::App& command, std::string& file);

// Gives the model the names of --classes. Throws Error unless the file has one for each class.
void use_class_file(Model& model, const std::string& file);

// "note: a.pth does not name its classes; the names are those of ImageNet-1k" on stderr.
void note_imagenet_names(const std::string& weights, std::string_view list);

// use_class_file(); without a file, a published head that carries no names gets ImageNet's, which a
// line on stderr says.
void name_classes(Model& model, const std::string& file, const std::string& weights);

// The model of --weights with names for its classes, its notes on stderr.
Model load_model(const ModelOptions& options, const std::string& weights,
                 const std::string& classes);

}  // namespace cait::app
