// Every model by name. A new family is one file in this folder, its declaration here and one line
// in catalogue.cpp.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cait/error.h"
#include "cait/settings.h"
#include "models/architecture.h"
#include "models/projection_head.h"

namespace cait {

Family vit_family();
Family deit_family();
Family deit3_family();
Family dinov2_family();
Family cait_family();
Family deepvit_family();
Family ceit_family();
Family volo_family();
Family resmlp_family();
Family patchconvnet_family();
Family resnet_family();
Family regnet_family();
Family translate_family();

const std::vector<Family>& families();

// A preset with settings applied; what loading, training and running start from.
struct ModelSpec {
    std::string name;  // of the preset
    const Family* family = nullptr;
    const Preset* preset = nullptr;
    std::unique_ptr<Architecture> architecture;
    HeadConfig head = {};  // what follows the trunk beside its classifier

    // All keys, with their values; those of the head only where there is one.
    std::map<std::string, std::string> settings() const;
};

// Throws UsageError for an unknown name (with the nearest three), an unknown key (with the valid
// ones) and a configuration that breaks a rule.
ModelSpec configure(const std::string& name, const SettingList& settings = {});

Graph record(const ModelSpec& spec, const RecordOptions& options = {});

// Whether the model takes sentences; it takes no images then.
bool takes_text(const ModelSpec& spec);
// Throws UsageError, naming the command for it, for a model that takes sentences.
void expect_images(const ModelSpec& spec);

// How many classes the model's answers have, be they for an image or for every pixel.
std::int64_t class_count(const ModelSpec& spec);
// The names of others that load into it: those of its family, and mmseg's and torchvision's where
// the head is one of theirs.
std::vector<Rename> known_renames(const ModelSpec& spec);

// What a run of a model gives when nobody says what: the classes of every pixel where it has such a
// head, its logits, or the features of one without classes; of a detector the first stage. (A graph
// that is recorded without taps has both stages of a detector.)
std::vector<std::string> default_taps(const ModelSpec& spec);
// Whether a tap is made by the class head: its logits, of the image, of every token, of every pixel
// or of regions.
inline bool reads_class_head(std::string_view tap) {
    return tap.find("logits") != std::string_view::npos || tap.starts_with("segmentation") ||
           tap == kBoxDeltas;
}
// Whether a parameter is one of a head that answers for pixels or regions: of what has learned
// nothing where it was made anew.
bool is_in_head(const HeadConfig& head, std::string_view param);
// Whether these taps need images; those of a detector's second stage take what was pooled from
// regions, and are the same for images of any size.
bool reads_images(const ModelSpec& spec, std::span<const std::string> taps);
// The names of all taps that the model has.
std::set<std::string> offered_taps(const ModelSpec& spec);

// "image_size", "channels", … for the keys that transformers share.
void bind_transformer(Settings& settings, std::int64_t& patch, std::int64_t& dim,
                      std::int64_t& depth, std::int64_t& heads, double& mlp_ratio);

template <class... Args>
[[noreturn]] void throw_rule(fmt::format_string<Args...> text, Args&&... args) {
    throw UsageError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace cait
