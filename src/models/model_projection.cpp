// Another projection head for a model: Model::with_head().
#include <fmt/format.h>

#include "cait/model.h"
#include "graph/initialize.h"
#include "models/catalogue.h"

namespace cait {

Model Model::with_head(const SettingList& head, std::uint64_t seed) const {
    SettingList changed;
    for (const auto& setting : settings())
        if (!setting.first.starts_with(kHeadPrefix)) changed.push_back(setting);
    changed.insert(changed.end(), head.begin(), head.end());
    Model model = *this;
    model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));
    model.weights_.clear();
    model.floats_.reset();  // int8 becomes floats
    const bool same_classifier = model.spec_->head.classifier == spec_->head.classifier;
    for (const ParamSpec& param : record(*model.spec_).params) {
        const auto found = weights().find(param.name);
        // Of a classifier that reads something else not even the bias means anything.
        const bool fits = found != weights().end() && found->second.shape() == param.shape &&
                          (same_classifier || param.role.kind != ParamRole::Kind::class_head);
        model.weights_.emplace(param.name, fits ? found->second : initialize(param, seed));
    }
    if (!same_classifier)
        model.notes_.push_back(
            fmt::format("head made anew: its hidden layer has {} numbers, that of the weights {}",
                        model.spec_->head.classifier, spec_->head.classifier));
    return model;
}

}  // namespace cait
