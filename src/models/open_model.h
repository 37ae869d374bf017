// From what a user says about a model to the model itself. The words are resolved once, while files
// may still be fetched (find_model); the file is read afterwards (open_model), by then in a
// sandbox.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "image/preparation_change.h"
#include "weights/published/resolve_weights.h"

namespace cait {

struct ModelWords {
    // As resolve_weights() takes them; empty: fresh weights of `model`.
    std::string weights{};
    std::string model{};  // a name of the catalogue; empty: the file names it
    SettingList settings{};
    bool allow_unused = false;    // settings that nothing reads; otherwise they are refused
    bool keeps_settings = false;  // in a file, for a later training too
    std::string image_size{};  // in place of the file's or the preset's, whatever decides the rest
    bool file_decides =
        false;              // model and settings are only for a file that does not name its model
    std::string label{};    // what tables and charts call it; empty: nothing was given
    std::string classes{};  // file with names for the classes, in place of the model's own
    bool imagenet_names = false;  // for a published head that carries no names, if the number fits
    PreparationChange preparation{};  // of images, in place of the file's
    bool report_preparation = false;  // a note where the file does not say and nobody else does
    Model::LoadOptions load{};

    SettingList all_settings() const;  // with the image size
};

// The words and the file behind them, which has not been read yet.
struct FoundModel {
    ModelWords words;
    std::string file;  // empty: fresh weights
    std::vector<std::string> notes{};
};

struct OpenedModel {
    FoundModel source;  // opens the same model again, whatever `file_decides` meant
    std::string label;  // for tables: the given one, the model's own name, that of the catalogue
    Model model;
    std::vector<std::string> notes;  // a line each, those of `source` first
};

// Published weights are fetched into the cache; `fetching` as in ResolveOptions.
FoundModel find_model(ModelWords words, const decltype(ResolveOptions::fetching)& fetching);

// Throws Error for a file that cannot be used, and unless a file of class names has one for each;
// UsageError for settings that have no effect.
OpenedModel open_model(const FoundModel& found);
inline OpenedModel open_model(const ModelWords& words) { return open_model(find_model(words, {})); }

// Labels are unique: models that share one are labelled by their files. Throws UsageError for
// settings that no model takes, since every file names its own.
std::vector<OpenedModel> open_models(const std::vector<FoundModel>& found);

// The given labels, together with the file where several share one; otherwise the files' names.
std::vector<std::string> unique_labels(const std::vector<FoundModel>& found);

// What is reported of a file that does not say how images are prepared, which are as `used` has it;
// nothing where the words say how, and for published weights, whose preparation is known.
std::optional<std::string> assumed_preparation(const FoundModel& found, const std::string& model,
                                               const Preprocessing& used);

// NAME=FILE, or FILE alone. A file whose name contains a '=' is found as a file first.
struct NamedFile {
    std::string name;  // empty: none was given
    std::string file;  // whatever ModelWords::weights takes
};
NamedFile split_name(const std::string& text);

// Whether the catalogue has it.
bool is_model(const std::string& name);

// One of several models: NAME of NAME=FILE is its label, and where the catalogue has a model of
// that name, the model that reads the file. Otherwise FILE is of the model that it names, or of
// `common.model`. Throws UsageError, beginning with `option`, for NAME=official that names no
// model.
ModelWords one_of_several(const std::string& text, ModelWords common, const std::string& option);

// Short names for files. best.safetensors of two runs are told apart by their folders, and if need
// be by a number.
std::vector<std::string> unique_names(const std::vector<std::string>& files);

// "a.pth does not name its classes; the names are those of ImageNet-1k"
std::string imagenet_note(const std::string& weights, std::string_view list);

}  // namespace cait
