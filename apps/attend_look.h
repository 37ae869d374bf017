// What one model sees in photographs: its answers, and the maps that were asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attend.h"
#include "image/ops/resize.h"
#include "image/preparer.h"
#include "models/attention_map.h"
#include "models/class_layers.h"
#include "models/top_answers.h"
#include "system/memory_budget.h"

namespace cait::app {

struct LookMap {
    std::optional<std::int64_t> layer;  // none: rollout
    std::optional<Answer> of;           // where each class has a map of its own
    AttentionMap mean;                  // of the heads
    std::vector<AttentionMap> heads;    // each; of a rollout the one that there is

    std::string name() const;  // "layer 1", "rollout", "81.0 % tench"
};

struct Look {
    std::vector<Answer> classes;  // above 10 %, at least one; none of a backbone
    Box seen;                     // of the photograph, in its pixels
    std::vector<LookMap> maps;
};

// Photographs are prepared one by one and go through the model together.
class Looker {
public:
    // Throws UsageError where the model has not what was asked for.
    Looker(std::string name, const std::string& weights, Model model,
           const AttendArguments& arguments, std::size_t capacity);

    const std::string& name() const { return name_; }
    const std::string& weights() const { return weights_; }
    const Model& model() const { return model_; }
    std::size_t maps() const;  // of each photograph

    void prepare(const Image& photo, std::size_t place);
    // Of the first photographs; `names` are theirs.
    std::vector<Look> look(const std::vector<std::string>& names) const;

private:
    Tensor prepared(std::size_t first, std::size_t count) const;
    std::vector<LookMap> class_maps(std::size_t image, const std::map<std::string, Tensor>& outputs,
                                    const std::vector<Answer>& top) const;

    std::string name_, weights_;
    Model model_;
    Preparer preparer_;
    std::unique_ptr<Executor> executor_;
    Grid grid_;
    ClassLayers layers_;
    std::vector<std::int64_t> wanted_;  // layers; none: rollout
    std::size_t shown_classes_;         // 1 unless each has a map
    MemoryShare memory_;
    Tensor images_;          // [capacity, 3, H, W]
    std::vector<Box> seen_;  // of each
};

}  // namespace cait::app
