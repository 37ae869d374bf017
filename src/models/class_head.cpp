// Another list of classes for a model: rows of its heads are moved by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "cait/model.h"
#include "graph/expected.h"
#include "graph/initialize.h"
#include "models/catalogue.h"

namespace cait {

namespace {

constexpr std::int64_t kNew = -1;

// For each of `names` its place in `known`, or kNew.
std::vector<std::int64_t> places(const std::vector<std::string>& names,
                                 const std::vector<std::string>& known) {
    std::unordered_map<std::string_view, std::int64_t> place;
    for (std::size_t i = 0; i < known.size(); ++i) place.emplace(known[i], std::int64_t(i));
    std::vector<std::int64_t> result;
    for (const std::string& name : names) {
        const auto found = place.find(name);
        result.push_back(found == place.end() ? kNew : found->second);
    }
    return result;
}

std::string note_about(const std::vector<std::int64_t>& from, const std::vector<std::string>& names,
                       std::size_t known) {
    constexpr std::size_t kShown = 3;
    std::vector<std::string> fresh;
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] == kNew) fresh.push_back(names[i]);
    if (known == 0)
        return fmt::format("head rebuilt for {} classes: the weights do not name theirs",
                           names.size());
    if (fresh.size() == names.size())
        return fmt::format(
            "head rebuilt for {} classes: none of them is among the {} of the weights",
            names.size(), known);
    if (fresh.empty())
        return fmt::format("head: {} of {} classes taken over by name", names.size(), known);
    const std::size_t shown = std::min(fresh.size(), kShown);
    return fmt::format("head: {} classes taken over by name, {} new: {}{}",
                       names.size() - fresh.size(), fresh.size(),
                       fmt::join(fresh.begin(), fresh.begin() + std::ptrdiff_t(shown), ", "),
                       fresh.size() > shown ? " …" : "");
}

// A head or the tokens of classes: one stretch of numbers for each of them. What a head knows of
// the background stays.
Tensor moved_rows(Tensor fresh, const Tensor& old, const ExpectedTensor& head,
                  const std::vector<std::int64_t>& from) {
    const auto per_class = std::size_t(head.rows_per_class);
    const auto background = std::size_t(head.background_rows);
    const std::size_t rows = from.size() * per_class + background;
    const std::size_t row = fresh.floats().size() / rows;
    const std::size_t old_rows = old.floats().size() / row;
    const std::size_t first = head.background_first ? background : 0;  // row of a class
    const std::span<const float> source = old.floats();
    const std::span<float> target = fresh.mutable_floats();
    const auto move = [&](std::size_t to, std::size_t at, std::size_t count) {
        std::ranges::copy(source.subspan(at * row, count * row),
                          target.begin() + std::ptrdiff_t(to * row));
    };
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] != kNew)
            move(first + i * per_class, first + std::size_t(from[i]) * per_class, per_class);
    if (background > 0)
        move(first > 0 ? 0 : rows - background, first > 0 ? 0 : old_rows - background, background);
    return fresh;
}

// None where a new class has no colour.
std::vector<std::array<std::uint8_t, 3>> moved_colours(
    const std::vector<std::array<std::uint8_t, 3>>& old, const std::vector<std::int64_t>& from) {
    std::vector<std::array<std::uint8_t, 3>> moved;
    if (old.empty() || std::ranges::count(from, kNew) > 0) return moved;
    for (const std::int64_t place : from) moved.push_back(old[std::size_t(place)]);
    return moved;
}

// "head.weight" and 7 to the tensor of that class, for models that keep each class apart.
std::string row_key(const std::string& stacked, std::int64_t row) {
    return fmt::format("{}#{}", stacked, row);
}

}  // namespace

Model Model::with_classes(std::vector<std::string> names, std::uint64_t seed) const {
    expect_images(*spec_);
    Model model = *this;
    if (names.empty())
        throw UsageError(
            fmt::format("{}: expected the names of its classes, found none", spec_->name));
    if (names == classes_) return model;
    const std::vector<std::int64_t> from = places(names, classes_);
    const std::map<std::string, std::string> own = settings();
    SettingList changed(own.begin(), own.end());
    const bool dense = spec_->head.has_own_classes();
    changed.emplace_back(dense ? "head.classes" : "classes", std::to_string(names.size()));
    model.spec_ = std::make_shared<ModelSpec>(configure(spec_->name, changed));

    std::unordered_map<std::string, std::string> rows;
    for (const ExpectedTensor& tensor : expected_tensors(record(*spec_)))
        if (tensor.kind == ExpectedTensor::Kind::class_row)
            rows.emplace(row_key(tensor.stacked, tensor.row), tensor.name);

    const Graph graph = record(*model.spec_);
    const std::vector<ExpectedTensor> expected = expected_tensors(graph);
    model.weights_.clear();
    model.floats_.reset();  // int8 becomes floats
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
        const ParamSpec& spec = graph.params[i];
        const ExpectedTensor& tensor = expected[i];
        // A class head beside that of pixels or regions keeps its classes.
        if (dense && spec.role.kind != ParamRole::Kind::dense_head) {
            model.weights_[spec.name] = weights().at(spec.name);
            continue;
        }
        switch (tensor.kind) {
            case ExpectedTensor::Kind::class_axis0:
            case ExpectedTensor::Kind::class_tokens:
                model.weights_[spec.name] = initialize(spec, seed);
                if (const auto old = weights().find(spec.name); old != weights().end())
                    model.weights_[spec.name] =
                        moved_rows(std::move(model.weights_[spec.name]), old->second, tensor, from);
                break;
            case ExpectedTensor::Kind::class_row: {
                const std::int64_t row = from[std::size_t(tensor.row)];
                model.weights_[spec.name] =
                    row == kNew ? initialize(spec, seed)
                                : weights().at(rows.at(row_key(tensor.stacked, row)));
                break;
            }
            default: model.weights_[spec.name] = weights().at(spec.name);
        }
    }
    model.notes_.push_back(note_about(from, names, classes_.size()));
    model.fresh_head_ = fresh_head_ || std::ranges::count(from, kNew) > 0;
    model.task_.colours = moved_colours(task_.colours, from);
    model.classes_ = std::move(names);
    return model;
}

}  // namespace cait
