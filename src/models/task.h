// What the logits of a model mean: one row for each task that a model file may name
// (Task::name of cait/model.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cait/model.h"

namespace cait {

// An answer without its name: small, for those who keep many.
struct RankedClass {
    std::int32_t index = 0;  // of the class
    float probability = 0;   // as the task has it
    bool operator==(const RankedClass&) const = default;
};

struct TaskRow {
    std::string_view name;
    std::size_t most_decided;  // of the answers: how many of them, from the first, are its decision
    std::size_t most_answers;  // that are shown of an image where nobody asks for a number
    // Fills in the probabilities of classes that are ranked by their logits, the first of which is
    // the likeliest of all.
    void (*set_probabilities)(std::span<const float> logits, std::span<RankedClass> ranked);
};

inline constexpr std::string_view kMultiLabel = "multi_label";
inline constexpr std::string_view kSegment = "segment";  // the logits are those of a pixel
inline constexpr std::string_view kDetect = "detect";    // those of a region, and of the background
inline constexpr std::string_view kTranslate = "translate";  // those of a piece of text
// The least score of an object, unless a model file has another: what published figures count.
inline constexpr double kLeastScore = 0.05;

// Throws Error that lists the names there are.
const TaskRow& task_row(std::string_view name);

// The same task where the model's head is one for it, or that of the head: pixels and regions make
// the task, whatever a file says.
Task fitting_task(const ModelSpec& spec, Task task);

// A class is among the answers when it is at least as likely as the task asks for.
inline bool is_answer(float probability, const Task& task) {
    return probability >= float(task.threshold);
}

}  // namespace cait
