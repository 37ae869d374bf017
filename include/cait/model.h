// A model with its weights: create it fresh, load official checkpoints, change its settings, save
// it as one self-contained file. Start here; cait/train.h runs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "cait/tensor.h"

namespace cait {

// One line of the catalogue. Costs are per image; one multiply-add counts as 1.
struct ModelInfo {
    std::string name;
    std::string family;
    std::int64_t image_height = 0;
    std::int64_t image_width = 0;
    std::int64_t params = 0;
    std::int64_t macs = 0;
    std::int64_t inference_bytes = 0;      // float32 activations alive at once
    std::int64_t training_bytes = 0;       // float32 activations kept for the backward pass
    std::optional<double> top1;            // ImageNet accuracy in the paper, labels alone
    std::optional<double> top1_distilled;  // with a convnet teacher
};

// {"classes", "10"}, {"image_size", "192x256"} … see docs/models.md for the keys.
using SettingList = std::vector<std::pair<std::string, std::string>>;

// The models whose name contains one of the filters (all, when there is none), with `settings`
// applied to each. Throws UsageError, with the nearest names, when nothing fits a filter.
std::vector<ModelInfo> list_models(const std::vector<std::string>& filters = {},
                                   const SettingList& settings = {});

struct ModelSpec;

class Model {
public:
    // Fresh weights by the papers' initialisers; the same seed gives the same weights anywhere.
    static Model create(const std::string& name, const SettingList& settings = {},
                        std::uint64_t seed = 0);

    struct LoadOptions {
        bool prefer_ema = false;        // take the averaged weights when a checkpoint has both
        bool allow_non_finite = false;  // otherwise NaN and infinity are refused
        std::uint64_t seed = 0;         // for a class head that has to be made anew
    };
    // An official .pth, a timm safetensors or a file of ours. The class head is replaced when the
    // number of classes differs and the position embedding resized when the image size does;
    // notes() says so. `name` may be empty for a file that carries its configuration.
    static Model load(const std::filesystem::path& file, const std::string& name,
                      const SettingList& settings, const LoadOptions& options);
    static Model load(const std::filesystem::path& file, const std::string& name = {},
                      const SettingList& settings = {}) {
        return load(file, name, settings, LoadOptions());
    }

    // One safetensors file that needs nothing beside it; replaced atomically.
    void save(const std::filesystem::path& file) const;

    // What save() writes beside the weights: the model's name and configuration.
    std::map<std::string, std::string> metadata() const;

    ModelInfo info() const;
    std::map<std::string, std::string> settings() const;
    const std::map<std::string, Tensor>& weights() const { return weights_; }
    const std::vector<std::string>& notes() const { return notes_; }
    const ModelSpec& spec() const { return *spec_; }

private:
    std::shared_ptr<const ModelSpec> spec_;
    std::map<std::string, Tensor> weights_;  // by official name; mapped where that is possible
    std::vector<std::string> notes_;
};

}  // namespace cait
