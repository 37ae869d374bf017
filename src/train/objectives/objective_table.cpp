#include "train/objectives/objective_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/recipe/objective_rows.h"

namespace cait {

// Each in the file of its name; the three losses on labels in labels.cpp.
std::unique_ptr<Objective> make_labels(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_multi_label(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_segment(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_mask_rcnn(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_translate(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_knn(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_instance(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_triplet(const ObjectiveSetup& setup);
std::unique_ptr<Objective> make_dino(const ObjectiveSetup& setup);

namespace {

struct Maker {
    std::string_view term;
    std::unique_ptr<Objective> (*make)(const ObjectiveSetup& setup);
};

constexpr Maker kMakers[] = {{"cross_entropy", make_labels},
                             {"bce", make_labels},
                             {"token_label", make_labels},
                             {"multi_label", make_multi_label},
                             {"segment", make_segment},
                             {"mask_rcnn", make_mask_rcnn},
                             {"translate", make_translate},
                             {"knn", make_knn},
                             {"instance", make_instance},
                             {"triplet", make_triplet},
                             {"dino", make_dino}};

struct WeightedObjective {
    std::unique_ptr<Objective> objective;
    double weight = 1;
};

// The weighted sum of several: their parts, states and wishes together. Where features learn,
// `watched` is the output whose spread tells a collapse; empty: nothing is watched.
class Sum : public Objective {
public:
    Sum(std::vector<WeightedObjective> terms, std::string watched, std::int64_t teacher_outputs)
        : terms_(std::move(terms)),
          watched_(std::move(watched)),
          teacher_outputs_(teacher_outputs) {}

    std::vector<std::string> taps() const override {
        std::vector<std::string> taps;
        const auto add = [&](const std::string& tap) {
            if (std::ranges::find(taps, tap) == taps.end()) taps.push_back(tap);
        };
        for (const auto& [term, weight] : terms_) std::ranges::for_each(term->taps(), add);
        if (!watched_.empty()) add(watched_);
        return taps;
    }

    std::vector<std::string> own_taps() const override { return gathered(&Objective::own_taps); }

    Needs needs() const override {
        Needs all{.shared_batch_norms = !watched_.empty(), .logs_parts = !watched_.empty()};
        for (const auto& [term, weight] : terms_) {
            const Needs own = term->needs();
            all.passes = std::max(all.passes, own.passes);
            all.every_view |= own.every_view;
            all.shared_batch_norms |= own.shared_batch_norms;
            all.logs_parts |= own.logs_parts;
            all.spread_state |= own.spread_state;
        }
        return all;
    }

    std::vector<std::string> notes() const override { return gathered(&Objective::notes); }

    std::string teacher() const override {
        for (const auto& [term, weight] : terms_)
            if (std::string found = term->teacher(); !found.empty()) return found;
        return {};
    }

    void start(const Graph& network, std::span<const TrainParam> params) override {
        if (!watched_.empty()) width_ = width_of(network, watched_);
        for (const auto& [term, weight] : terms_) term->start(network, params);
    }

    void before_batch(const ObjectiveBatch& whole) override {
        for (const auto& [term, weight] : terms_) term->before_batch(whole);
    }

    ImageSize shown() const override {
        ImageSize most{0, 0};
        for (const auto& [term, weight] : terms_) {
            const ImageSize one = term->shown();
            if (one.height == 0) return one;
            most = {std::max(most.height, one.height), std::max(most.width, one.width)};
        }
        return most;
    }

    void before_pass(EvaluateContext& context) override {
        for (const auto& [term, weight] : terms_) term->before_pass(context);
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override {
        LossResult sum;
        for (const auto& [term, weight] : terms_) {
            const LossResult one = term->loss(outputs, batch, context);
            const at::Tensor weighted = weight == 1 ? one.total : weight * one.total;
            sum.total = sum.total.defined() ? sum.total + weighted : weighted;
            sum.parts.insert(one.parts.begin(), one.parts.end());
            if (one.correct.defined()) sum.correct = one.correct;
        }
        if (!watched_.empty())
            sum.parts[kSpread] = spread_of(outputs[0].at(watched_).narrow(0, 0, batch.size()));
        return sum;
    }

    void put_fullest_targets(std::int64_t images, TorchTensors& targets) const override {
        for (const auto& [term, weight] : terms_) term->put_fullest_targets(images, targets);
    }

    std::string first_bad(const ObjectiveBatch& batch) override {
        for (const auto& [term, weight] : terms_)
            if (std::string found = term->first_bad(batch); !found.empty()) return found;
        return {};
    }

    void edit_gradients(std::span<TrainParam> params, std::uint64_t epoch) override {
        for (const auto& [term, weight] : terms_) term->edit_gradients(params, epoch);
    }

    void after_step(std::span<const TrainParam> params, double target_momentum) override {
        for (const auto& [term, weight] : terms_) term->after_step(params, target_momentum);
    }

    void forget() override {
        for (const auto& [term, weight] : terms_) term->forget();
    }

    std::string collapse(const std::map<std::string, double>& parts) const override {
        return watched_.empty() ? "" : collapse_in(parts, width_, teacher_outputs_);
    }

    TorchTensors average(std::span<const TrainParam> params) const override {
        for (const auto& [term, weight] : terms_)
            if (TorchTensors found = term->average(params); !found.empty()) return found;
        return {};
    }

    std::vector<at::Tensor> statistics() const override { return gathered(&Objective::statistics); }

    TensorState state() const override { return gathered(&Objective::state); }

    void load_state(std::map<std::string, at::Tensor>& state) override {
        for (const auto& [term, weight] : terms_) term->load_state(state);
    }

private:
    // What `get` finds in each term, one after the other.
    template <class List>
    List gathered(List (Objective::*get)() const) const {
        List all;
        for (const auto& [term, weight] : terms_) {
            List own = (*term.*get)();
            std::ranges::move(own, std::back_inserter(all));
        }
        return all;
    }

    std::vector<WeightedObjective> terms_;
    std::string watched_;
    std::int64_t teacher_outputs_, width_ = 0;
};

}  // namespace

at::Tensor take_entry(std::map<std::string, at::Tensor>& state, const std::string& name) {
    auto entry = state.extract(name);
    if (entry.empty())
        throw Error(
            fmt::format("{}: the recipe's loss.name has it, the checkpoint does not", name));
    return entry.mapped();
}

std::vector<std::string_view> made_terms() {
    std::vector<std::string_view> names;
    for (const Maker& maker : kMakers) names.push_back(maker.term);
    return names;
}

std::unique_ptr<Objective> make_objective(const ObjectiveSetup& setup) {
    const Recipe& recipe = setup.recipe;
    const std::vector<const ObjectiveTerm*> rows = terms_of(recipe.loss.name);
    std::vector<WeightedObjective> terms;
    for (const ObjectiveTerm* row : rows) {
        const bool beside = rows.size() > 1 && row->views;
        ObjectiveSetup one = setup;
        one.term = row->name;
        terms.push_back({std::ranges::find(kMakers, row->name, &Maker::term)->make(one),
                         beside ? recipe.loss.view_weight : 1});
    }
    std::string watched;
    if (asks_for(recipe.loss, &ObjectiveTerm::features))
        watched =
            asks_for(recipe.loss, &ObjectiveTerm::prototypes) ? "features" : projection_tap(recipe);
    if (terms.size() == 1 && watched.empty()) return std::move(terms[0].objective);
    return std::make_unique<Sum>(std::move(terms), std::move(watched), recipe.head.outputs);
}

}  // namespace cait
