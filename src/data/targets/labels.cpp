#include "data/targets/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

namespace {

class LabelsTarget final : public Target {
public:
    explicit LabelsTarget(std::int64_t classes) : classes_(classes) {
        if (classes < 1)
            throw UsageError(fmt::format("classes: expected at least 1, found {}", classes));
    }

    void prepare(std::size_t images, Targets& to) const override {
        make_room(to, kLabelSets, DType::f32, {std::int64_t(images), classes_});
    }

    void write(const Sample& from, std::size_t row, Targets& to) const override {
        const std::span<float> own = row_of(to, row);
        std::ranges::fill(own, 0.0F);
        const auto sample = std::size_t(from.key.sample);
        for (const std::int64_t label : from.dataset.labels(sample)) {
            if (label < 0 || label >= classes_)
                throw Error(fmt::format("{}: expected labels below {}, found {}",
                                        from.dataset.name(sample), classes_, label));
            own[std::size_t(label)] = 1;
        }
    }

    // Image i with image n - 1 - i: both rows of a pair at once, as each is made of the two.
    void collate(std::span<const MixDraw> mixed, Targets& targets) const override {
        for (std::size_t i = 0; i < mixed.size() / 2; ++i) {
            const std::size_t j = mixed.size() - 1 - i;
            const std::span<float> a = row_of(targets, i), b = row_of(targets, j);
            const double own = mixed[i].share, others = mixed[j].share;
            for (std::size_t k = 0; k < a.size(); ++k) {
                const double x = a[k], y = b[k];
                a[k] = float(own * x + (1 - own) * y);
                b[k] = float(others * y + (1 - others) * x);
            }
        }
    }

private:
    std::span<float> row_of(Targets& targets, std::size_t row) const {
        return targets.at(kLabelSets)
            .mutable_floats()
            .subspan(row * std::size_t(classes_), std::size_t(classes_));
    }

    std::int64_t classes_;
};

}  // namespace

TargetPtr labels_target(std::int64_t classes) { return std::make_shared<LabelsTarget>(classes); }

}  // namespace cait
