// Which model a file or a name of the catalogue stands for, and how its images are prepared: all
// that can be said without reading a weight.
#pragma once

#include <filesystem>

#include "image/preparer.h"
#include "models/catalogue.h"
#include "models/file_facts.h"
#include "weights/weight_file.h"

namespace cait {

struct Description {
    ModelSpec spec;
    Preprocessing preprocessing;  // the file's own; without one, that of the published weights
    FileFacts facts;              // the file's, whatever preset reads it

    // Throws UsageError when the model takes other images than those of three channels.
    Preparer preparer() const;
};

// Throws as configure() does.
Description describe(const std::string& name, const SettingList& settings = {});

// `name` may be empty for a file that says which model it is. A file's own settings come before
// `settings` where it is about the model asked for, and the number of its classes in any case.
// Errors in the file name `path`.
Description describe(const WeightFile& file, const std::filesystem::path& path,
                     const std::string& name = {}, const SettingList& settings = {});

// How `model` prepares its images.
Preparer preparer_of(const Model& model);

}  // namespace cait
