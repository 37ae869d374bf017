#include "evaluate/disagreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

namespace {

void check(std::size_t images, const std::vector<Decisions>& classifiers) {
    if (images == 0) throw Error("disagreement: expected at least one image, found none");
    for (const Decisions& one : classifiers)
        if (one.classes.size() != images)
            throw Error(fmt::format("disagreement: expected {} decisions of '{}', found {}", images,
                                    one.name, one.classes.size()));
}

}  // namespace

DisagreementTable disagreement(const std::vector<std::vector<std::int64_t>>& labels,
                               const std::vector<Decisions>& classifiers) {
    check(labels.size(), classifiers);
    DisagreementTable table;
    table.images = labels.size();
    table.names.emplace_back("labels");
    for (const Decisions& one : classifiers) table.names.push_back(one.name);
    const std::size_t size = table.names.size();
    table.fractions.assign(size * size, 0);

    const auto differs = [&](std::size_t a, std::size_t b, std::size_t image) {
        const std::int64_t answer = classifiers[b - 1].classes[image];
        if (a == 0) return std::ranges::find(labels[image], answer) == labels[image].end();
        return classifiers[a - 1].classes[image] != answer;
    };
    for (std::size_t a = 0; a < size; ++a)
        for (std::size_t b = a + 1; b < size; ++b) {
            std::size_t count = 0;
            for (std::size_t i = 0; i < labels.size(); ++i) count += differs(a, b, i) ? 1 : 0;
            const double fraction = double(count) / double(labels.size());
            table.fractions[a * size + b] = table.fractions[b * size + a] = fraction;
        }
    return table;
}

}  // namespace cait
