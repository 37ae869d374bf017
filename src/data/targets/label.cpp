#include "data/targets/label.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

namespace {

class LabelTarget final : public Target {
public:
    explicit LabelTarget(std::optional<SoftLabels> soft) : soft_(soft) {
        if (soft_) soft_->check();
    }

    void prepare(std::size_t images, Targets& to) const override {
        make_room(to, kLabels, DType::i64, {std::int64_t(images)});
    }
    void write(const Sample& from, std::size_t row, Targets& to) const override {
        to.at(kLabels).mutable_integers()[row] = from.dataset.label(std::size_t(from.key.sample));
    }
    void collate(std::span<const MixDraw> mixed, Targets& targets) const override {
        if (!soft_) return;
        const std::span<const std::int64_t> labels = labels_of(targets);
        Tensor& rows = make_room(targets, kLabelRows, DType::f32,
                                 {std::int64_t(labels.size()), soft_->classes});
        mix_labels(*soft_, mixed, labels, rows.mutable_floats());
    }

private:
    std::optional<SoftLabels> soft_;
};

}  // namespace

void SoftLabels::check() const {
    if (!(smoothing >= 0 && smoothing < 1))
        throw UsageError(
            fmt::format("label smoothing: expected 0 to below 1, found {}", smoothing));
    if (classes < 1)
        throw UsageError(fmt::format("classes: expected at least 1, found {}", classes));
}

TargetPtr label_target(std::optional<SoftLabels> soft) {
    return std::make_shared<LabelTarget>(soft);
}

void mix_labels(const SoftLabels& soft, std::span<const MixDraw> draws,
                std::span<const std::int64_t> labels, std::span<float> rows) {
    const std::size_t size = labels.size();
    const auto classes = std::size_t(soft.classes);
    if (rows.size() != size * classes || (!draws.empty() && draws.size() != size))
        throw Error(
            fmt::format("mixup: expected {} targets, found {}", size * classes, rows.size()));
    for (const std::int64_t label : labels)
        if (label < 0 || label >= soft.classes)
            throw Error(fmt::format("mixup: expected labels below {}, found {}", classes, label));
    const double off = soft.smoothing / double(classes);
    const double on = 1 - soft.smoothing + off;
    for (std::size_t i = 0; i < size; ++i) {
        const double share = draws.empty() ? 1 : draws[i].share;
        float* row = rows.data() + i * classes;
        std::fill_n(row, classes, float(off));
        const auto own = std::size_t(labels[i]);
        const auto partner = std::size_t(labels[size - 1 - i]);
        if (own == partner) {
            row[own] = float(on);
            continue;
        }
        row[own] = float(on * share + off * (1 - share));
        row[partner] = float(off * share + on * (1 - share));
    }
}

}  // namespace cait
