#include "analysis/attention_look.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/rollout.h"
#include "models/describe.h"
#include "models/finite_logits.h"
#include "models/top_answers.h"

namespace cait {

namespace {

constexpr double kListedPatches = 0.1;  // probability above which a class is named (figure 3.10)

std::span<const float> row(const Tensor& tensor, std::size_t index) {
    const std::size_t size = tensor.floats().size() / std::size_t(tensor.shape()[0]);
    return tensor.floats().subspan(index * size, size);
}

std::string tap_of(std::int64_t layer) { return fmt::format("class_attention.{}", layer); }

// As many as figure 5.6 of the thesis has, of a model that looks for each class by itself.
std::size_t classes_to_show(const Model& model) {
    constexpr std::int64_t kMost = 3;
    const std::int64_t classes = model.spec().architecture->common().classes;
    return has_map_per_class(model) ? std::size_t(std::min(kMost, classes)) : 1;
}

std::vector<std::int64_t> wanted_layers(const AttentionRequest& request, const ClassLayers& has,
                                        const Model& model) {
    if (request.map == "rollout") return {};
    if (request.layer.empty()) return {has.usual()};
    if (request.layer == "all") return has.layers;
    if (request.layer == "last") return {has.layers.back()};
    const std::int64_t layer = std::stoll(request.layer);
    if (std::ranges::find(has.layers, layer) == has.layers.end())
        throw UsageError(fmt::format("--layer {}: {} has the layers {} to {} with a class token",
                                     layer, model.spec().name, has.layers.front(),
                                     has.layers.back()));
    return {layer};
}

}  // namespace

std::string LookMap::name() const {
    const std::string which = layer ? fmt::format("layer {}", *layer) : "rollout";
    return of ? fmt::format("{:.1f} % {}", 100 * of->probability, of->name) : which;
}

Looker::Looker(std::string name, const std::string& weights, Model model,
               std::unique_ptr<Executor> executor, const AttentionRequest& request,
               std::size_t capacity)
    : name_(std::move(name)),
      weights_(weights),
      model_(std::move(model)),
      preparer_(preparer_of(model_)),
      executor_(std::move(executor)),
      grid_(record(model_.spec()).patch_grid),
      layers_(class_layers(model_.spec())),
      wanted_(wanted_layers(request, layers_, model_)),
      shown_classes_(classes_to_show(model_)),
      seen_(capacity) {
    if (shown_classes_ > 1 && model_.has_fresh_head())
        throw Error(
            fmt::format("{}: expected a trained class head, as {} looks for the likeliest "
                        "classes, found none",
                        weights_, model_.spec().name));
    if (wanted_.empty() && !layers_.among_patches)
        throw UsageError(fmt::format(
            "--map rollout: {} has layers of its own for the class token, which show by themselves "
            "where it looks; expected --map class, or a model as ViT and DeiT",
            model_.spec().name));
    const auto [height, width] = model_.spec().architecture->common().image_size;
    memory_ = MemoryBudget::of_process().keep(
        capacity * std::uint64_t(3 * height * width) * sizeof(float), "attend: images");
    images_ = Tensor::empty(DType::f32, {std::int64_t(capacity), 3, height, width});
}

std::size_t Looker::maps() const {
    return std::max<std::size_t>(1, wanted_.size()) * shown_classes_;
}

void Looker::prepare(const Image& photo, std::size_t place) {
    const std::size_t one = images_.floats().size() / seen_.size();
    preparer_(photo, images_.mutable_floats().subspan(place * one, one));
    seen_[place] = preparer_.seen(photo);
}

Tensor Looker::prepared(std::size_t first, std::size_t count) const {
    Shape shape = images_.shape();
    shape[0] = std::int64_t(count);
    const std::size_t one = images_.byte_size() / seen_.size();
    return Tensor::view(images_.dtype(), shape, images_.bytes() + first * one, images_.owner());
}

std::vector<LookMap> Looker::class_maps(std::size_t image,
                                        const std::map<std::string, Tensor>& outputs,
                                        const std::vector<Answer>& top) const {
    std::vector<LookMap> maps;
    const bool per_class = shown_classes_ > 1;
    for (const std::int64_t layer : wanted_)
        for (std::size_t rank = 0; rank < shown_classes_; ++rank) {
            const Tensor& tap = outputs.at(tap_of(layer));
            const auto of_head = [&](std::int64_t head) {
                return patch_attention(row(tap, image), tap.shape(), grid_, head,
                                       per_class ? std::int64_t(top[rank].index) : 0);
            };
            LookMap map{.layer = layer, .of = {}, .mean = of_head(-1), .heads = {}};
            if (per_class) map.of = top[rank];
            for (std::int64_t head = 0; head < tap.shape()[1]; ++head)
                map.heads.push_back(of_head(head));
            maps.push_back(std::move(map));
        }
    return maps;
}

std::vector<Look> Looker::look(const std::vector<std::string>& names) const {
    std::vector<std::string> taps;
    for (const std::int64_t layer : wanted_) taps.push_back(tap_of(layer));
    // What a head says that has learned nothing is not shown.
    const bool classifies =
        model_.spec().architecture->common().classes > 0 && !model_.has_fresh_head();
    if (classifies) taps.emplace_back("logits");
    std::map<std::string, Tensor> outputs;
    if (!taps.empty()) outputs = executor_->run(prepared(0, names.size()), taps);

    std::vector<Look> looks;
    for (std::size_t i = 0; i < names.size(); ++i) {
        Look look{.classes = {}, .seen = seen_[i], .maps = {}};
        std::vector<Answer> top;
        if (classifies) {
            const std::span<const float> logits = row(outputs.at("logits"), i);
            check_finite_logits(logits, fmt::format("{}: {}", weights_, names[i]));
            constexpr auto kMost = std::size_t(1 / kListedPatches);
            top = top_answers(logits, kMost, model_.classes(), model_.task());
            for (const Answer& one : top)
                if (look.classes.empty() || one.probability > kListedPatches)
                    look.classes.push_back(one);
        }
        if (wanted_.empty()) {
            const AttentionMap map = attention_rollout(model_, *executor_, prepared(i, 1));
            look.maps.push_back({.layer = {}, .of = {}, .mean = map, .heads = {map}});
        } else {
            look.maps = class_maps(i, outputs, top);
        }
        looks.push_back(std::move(look));
    }
    return looks;
}

}  // namespace cait
