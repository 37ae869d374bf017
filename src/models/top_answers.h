// The classes that a model thinks likeliest, from the logits of one image.
#pragma once

#include <string>
#include <vector>

#include "cait/classifier.h"
#include "models/task.h"

namespace cait {

// At most `count` of them, likeliest first, of equals the first class. `logits` are finite.
std::vector<RankedClass> top_answers(std::span<const float> logits, std::size_t count,
                                     const Task& task = {});
// With the names of their classes; "class INDEX" for classes without a name.
std::vector<Answer> top_answers(std::span<const float> logits, std::size_t count,
                                const std::vector<std::string>& names, const Task& task = {});

// Of such answers those that the task counts, which may be none.
template <class List>
List counted_answers(List answers, const Task& task) {
    std::erase_if(answers,
                  [&](const auto& one) { return !is_answer(float(one.probability), task); });
    return answers;
}

// What the model says the image is: the name of the likeliest class, or of all counted ones in
// order, with '|' between them.
std::string decision_text(const std::vector<Answer>& counted, const Task& task);

}  // namespace cait
