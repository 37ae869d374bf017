#include "models/top_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace cait {

std::vector<RankedClass> top_answers(std::span<const float> logits, std::size_t count,
                                     const Task& task) {
    std::vector<std::int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min(count, order.size());
    if (count == 0) return {};
    std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(count), order.end(),
                      [&](std::int32_t a, std::int32_t b) {
                          const float x = logits[std::size_t(a)], y = logits[std::size_t(b)];
                          return x != y ? x > y : a < b;
                      });
    std::vector<RankedClass> answers;
    for (std::size_t i = 0; i < count; ++i) answers.push_back({order[i], 0});
    task_row(task.name).set_probabilities(logits, answers);
    return answers;
}

std::vector<Answer> top_answers(std::span<const float> logits, std::size_t count,
                                const std::vector<std::string>& names, const Task& task) {
    std::vector<Answer> answers;
    for (const RankedClass& ranked : top_answers(logits, count, task)) {
        const auto index = std::size_t(ranked.index);
        answers.push_back({index,
                           index < names.size() ? names[index] : fmt::format("class {}", index),
                           ranked.probability});
    }
    return answers;
}

std::string decision_text(const std::vector<Answer>& counted, const Task& task) {
    std::vector<std::size_t> places(std::min(counted.size(), task_row(task.name).most_decided));
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t i) { return counted[i].index; });
    std::string text;
    for (const std::size_t place : places) text += (text.empty() ? "" : "|") + counted[place].name;
    return text;
}

}  // namespace cait
