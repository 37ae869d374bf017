#include "models/top_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cait {

std::vector<RankedClass> top_answers(std::span<const float> logits, std::size_t count) {
    std::vector<std::int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min(count, order.size());
    if (count == 0) return {};
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(count), order.end(),
                      [&](std::int32_t a, std::int32_t b) {
                          const float x = logits[std::size_t(a)], y = logits[std::size_t(b)];
                          return x != y ? x > y : a < b;
                      });
    const double most = logits[std::size_t(order.front())];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double(logit) - most);
    std::vector<RankedClass> answers;
    for (std::size_t i = 0; i < count; ++i)
        answers.push_back(
            {order[i], float(std::exp(double(logits[std::size_t(order[i])]) - most) / sum)});
    return answers;
}

std::vector<Answer> top_answers(std::span<const float> logits, std::size_t count,
                                const std::vector<std::string>& names) {
    std::vector<Answer> answers;
    for (const RankedClass& ranked : top_answers(logits, count)) {
        const auto index = std::size_t(ranked.index);
        answers.push_back({index,
                           index < names.size() ? names[index] : fmt::format("class {}", index),
                           ranked.probability});
    }
    return answers;
}

}  // namespace cait
