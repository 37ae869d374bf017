// Another head for a model, a projector or one that answers for pixels or regions:
// Model::with_head().
#include <fmt/format.h>

#include "cait/model.h"
#include "graph/initialize.h"
#include "models/catalogue.h"
#include "models/task.h"

namespace cait {

Model Model::with_head(const SettingList& head, std::uint64_t seed) const {
    SettingList changed;
    for (const auto& setting : settings())
        if (!setting.first.starts_with(kHeadPrefix)) changed.push_back(setting);
    changed.emplace_back("head.kind", "none");
    changed.insert(changed.end(), head.begin(), head.end());
    Model model = *this;
    model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));
    if (model.spec_->head.has_own_classes() && !spec_->head.has_own_classes()) {
        // Its place is that of the class head.
        std::erase_if(changed, [](const auto& setting) { return setting.first == "classes"; });
        model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));
    }
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
            fmt::format("head rebuilt: its hidden layer has {} numbers, that of the weights {}",
                        model.spec_->head.classifier, spec_->head.classifier));
    model.answer_as(*this);
    return model;
}

// Task, names and colours go with a head that answers for pixels or regions.
void Model::answer_as(const Model& before) {
    const HeadConfig &head = spec_->head, &old_head = before.spec_->head;
    if (!head.has_own_classes() && !old_head.has_own_classes()) return;
    task_ = fitting_task(*spec_, std::move(task_));
    const auto classes = std::size_t(class_count(*spec_));
    if (classes_.size() != classes) classes_.clear();
    if (task_.colours.size() != classes) task_.colours.clear();
    if (!head.has_own_classes()) fresh_head_ = false;
    for (const auto& [name, tensor] : weights_) {
        const auto old = before.weights_.find(name);
        const bool kept = old != before.weights_.end() && old->second.shape() == tensor.shape();
        if (!kept && is_in_head(head, name)) fresh_head_ = true;
    }
}

}  // namespace cait
