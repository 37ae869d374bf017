// The table that `cait eval --predictions` writes: what the model answered to every image.
#include <fmt/format.h>

#include "data/formats/csv_reader.h"
#include "eval.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

std::string labels_of(const Dataset& dataset, std::size_t index) {
    std::string text;
    for (const std::int64_t label : dataset.labels(index))
        text += (text.empty() ? "" : "; ") + dataset.classes()[std::size_t(label)];
    return text;
}

}  // namespace

void write_predictions(const std::string& file, const Evaluated& one) {
    const Measure& measure = *one.evaluation.measure;
    AtomicFile table(file);
    std::string line = "path,label";
    for (std::size_t i = 1; i <= std::min(kAnswers, measure.classes()); ++i)
        line += fmt::format(",answer{0},score{0}", i);
    table.write(line + "\n");
    for (std::size_t position = 0; position < one.evaluation.indices.size(); ++position) {
        const std::size_t index = one.evaluation.indices[position];
        const auto path = one.dataset->file(index);
        line = csv_field(path ? path->string() : one.dataset->name(index)) + "," +
               csv_field(labels_of(*one.dataset, index));
        for (const RankedClass& answer : measure.answers(position))
            line += fmt::format(",{},{:.6f}",
                                csv_field(one.dataset->classes().at(std::size_t(answer.index))),
                                answer.probability);
        table.write(line + "\n");
    }
    table.commit();
}

}  // namespace cait::app
