// Another projection head for a model: Model::with_head().
#include "cait/model.h"
#include "models/catalogue.h"
#include "walkers/initialize.h"

namespace cait {

Model Model::with_head(const SettingList& head, std::uint64_t seed) const {
    SettingList changed;
    for (const auto& setting : settings())
        if (!setting.first.starts_with(kHeadPrefix)) changed.push_back(setting);
    changed.insert(changed.end(), head.begin(), head.end());
    Model model = *this;
    model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));
    model.weights_.clear();
    for (const ParamSpec& param : record(*model.spec_).params) {
        const auto found = weights_.find(param.name);
        const bool fits = found != weights_.end() && found->second.shape() == param.shape;
        model.weights_.emplace(param.name, fits ? found->second : initialize(param, seed));
    }
    return model;
}

}  // namespace cait
