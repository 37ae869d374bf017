// Carries out `cait predict`: images are decoded in step with computing and forgotten when they are
// answered, so that any number of them takes the same memory.
#include <fmt/format.h>

#include <algorithm>

#include "data.h"
#include "data/file_dataset.h"
#include "data/open_dataset.h"
#include "evaluate/evaluation_loader.h"
#include "evaluate/flip_executor.h"
#include "evaluate/segment_classes.h"
#include "image_list.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "models/finite_logits.h"
#include "models/top_answers.h"
#include "output.h"
#include "predict.h"
#include "prediction_output.h"
#include "progress.h"

namespace cait::app {

namespace {

// Images in the order in which they are answered, and what they are where that is known.
struct PredictSubject {
    DatasetPtr images;
    std::vector<std::optional<std::string>> labels;
};

PredictSubject subject_of(const PredictArguments& arguments, const Model& model) {
    PredictSubject subject;
    if (!arguments.pictures.data.empty()) {
        subject.images = arguments.pictures.drawn();
        for (std::size_t i = 0; i < subject.images->size(); ++i)
            subject.labels.push_back(label_for(model, subject.images->label_text(i)));
        return subject;
    }
    FileList list;
    for (const ListedImage& image : list_files(arguments.pictures.files)) {
        list.files.push_back(image.file);
        subject.labels.push_back(image.folder ? class_of_folder(model, *image.folder)
                                              : std::nullopt);
    }
    subject.images = make_file_dataset("predict", std::move(list));
    return subject;
}

// What the labels that are known say about the answers.
struct RightAnswers {
    std::size_t labelled = 0, right = 0;

    void add(const std::optional<std::string>& label, const std::string& answer) {
        if (!label) return;
        ++labelled;
        if (*label == answer) ++right;
    }
};

std::span<const float> row_of(const Tensor& logits, std::size_t row) {
    const auto classes = std::size_t(logits.shape()[1]);
    return logits.floats().subspan(row * classes, classes);
}

}  // namespace

void run(const PredictArguments& arguments, const Invocation& invocation) {
    ModelWords words = arguments.model.words(arguments.weights, arguments.classes);
    words.imagenet_names = true;
    const FoundModel found = find_model(words);
    for (const std::string& folder : {arguments.labels, arguments.overlays})
        if (!folder.empty()) make_folder(folder);
    enter_sandbox_for({arguments.output, arguments.executor.cache, arguments.labels,
                       arguments.overlays, arguments.coco});
    const Model model = open_with_notes(found).model;
    expect_images(model.spec());
    if (detects(model)) return predict_detections(arguments, model, invocation);
    if (!arguments.coco.empty())
        throw UsageError(
            fmt::format("--coco: expected a model that detects, found {}", model.spec().name));
    if (segments(model)) return predict_segments(arguments, model, invocation);
    arguments.segment.expect_none(model.spec().name);
    if (!arguments.labels.empty() || !arguments.overlays.empty())
        throw UsageError(fmt::format("{}, found {}",
                                     arguments.labels.empty()
                                         ? "--overlays: expected a model that segments or detects"
                                         : "--labels: expected a model that segments",
                                     model.spec().name));
    const PredictSubject subject = subject_of(arguments, model);
    OutputFile(arguments.output).not_in(*subject.images);
    const auto executor = make_executor(model, arguments.executor, arguments.model.kept());
    const FlipExecutor both(*executor);
    const Executor& runs = arguments.tta == "flip" ? static_cast<const Executor&>(both) : *executor;
    std::size_t unreadable = 0;
    const auto loader = evaluation_loader(subject.images, model.preprocessing(),
                                          model.spec().architecture->common().image_size,
                                          {.batch = arguments.executor.batch,
                                           .threads = arguments.threads,
                                           .skip_bad = true,
                                           .max_bad = 1,
                                           .report =
                                               [&](const BadImage& bad) {
                                                   print_error("cait: {}\n", bad.reason);
                                                   ++unreadable;
                                               },
                                           .targets = {}});
    Task task = model.task();
    task.threshold = arguments.threshold.value_or(task.threshold);
    const std::size_t top = std::min(arguments.top.value_or(task_row(task.name).most_answers),
                                     std::size_t(model.spec().architecture->common().classes));
    PredictionOutput output({.format = arguments.format(),
                             .file = arguments.output,
                             .most = top,
                             .threshold = task.threshold});
    Progress progress("predict", "images");
    RightAnswers score;
    std::size_t done = 0;
    while (const Batch* batch = loader->next()) {
        const Tensor logits = runs.run(batch->images(), {"logits"}).at("logits");
        for (std::size_t i = 0; i < batch->size; ++i) {
            const auto index = std::size_t(batch->keys[i].sample);
            check_finite_logits(row_of(logits, i), fmt::format("{}: {}", arguments.weights,
                                                               subject.images->name(index)));
            const auto answers =
                counted_answers(top_answers(row_of(logits, i), top, model.classes(), task), task);
            output.add(subject.images->name(index), subject.labels[index], answers);
            score.add(subject.labels[index], decision_text(answers, task));
        }
        done += batch->size;
        progress.update(done + unreadable, subject.images->size());
        if (output_lost()) break;
    }
    output.finish();
    if (unreadable > 0) {
        *invocation.status = 1;
        if (subject.images->size() > 1)
            print_error("cait: {} of {} images could not be read\n", unreadable,
                        subject.images->size());
    }
    if (score.labelled > 1)
        print_error("{} of {} images with a known class are right ({:.1f} %)\n", score.right,
                    score.labelled, 100 * double(score.right) / double(score.labelled));
}

}  // namespace cait::app
