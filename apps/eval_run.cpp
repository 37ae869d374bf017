// Carries out `cait eval`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "data.h"
#include "data/imagenet_classes.h"
#include "data_open.h"
#include "detect_options.h"
#include "eval.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/segment_classes.h"
#include "evaluate/translate/evaluate_translations.h"
#include "input_files.h"
#include "model_arguments.h"
#include "models/catalogue.h"
#include "models/describe.h"
#include "models/finite_logits.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

// A model that is ready to be evaluated: whatever can be wrong with it is found before the first
// one goes through the data.
struct Candidate {
    std::string file;
    Model model;
    DatasetPtr dataset;  // with labels into the model's classes
    std::string epoch;   // of a run
};

std::string fact_of(const Model& model, const char* name) {
    const auto found = model.training().find(name);
    return found == model.training().end() ? std::string() : found->second;
}

// "8" for "8.00": epochs of a run, of which a file may hold a part.
std::string epochs_of(const Model& model) {
    std::string text = fact_of(model, "epochs");
    return text.ends_with(".00") ? text.substr(0, text.size() - 3) : text;
}

// A run's folder stands for its best epoch. Beside it the final one is measured, which nobody
// chose: the file of the same kind of weights, averaged or not. Nothing where both are one.
std::optional<FoundModel> find_final(const EvalArguments& arguments, const Candidate& best) {
    namespace fs = std::filesystem;
    const fs::path file = best.file;
    if (!fs::is_directory(arguments.weights) || file.filename() != "best.safetensors") return {};
    const bool averaged = is_of_average(fact_of(best.model, "chosen_by"));
    const fs::path last =
        file.parent_path() / (averaged ? "last_ema.safetensors" : "last.safetensors");
    if (!fs::exists(last)) return {};
    return FoundModel{arguments.model.words(last.string(), arguments.classes), last.string()};
}

Candidate candidate(const EvalArguments& arguments, const FoundModel& found,
                    const DatasetPtr& data) {
    Model model = open_with_notes(found).model;
    if (takes_text(model.spec())) {
        arguments.published.apply(model);
        expect_sentences(model, *data);
        return {found.file, std::move(model), data, {}};
    }
    if (data->has_sentences())
        throw UsageError(fmt::format("{}: expected a model that translates, found {}",
                                     data->source(), model.spec().name));
    preparer_of(model);  // throws where the model takes no such images
    const std::size_t classes = segments(model) ? SegmentNetwork::of(model).classes
                                : detects(model)
                                    ? DetectNetwork::of(model).classes
                                    : std::size_t(model.spec().architecture->common().classes);
    DatasetPtr dataset = match_data(data, model.classes(), classes, found.file);
    if (const auto list = imagenet_list(classes);
        model.classes().empty() && list && list->names == dataset->classes())
        print_notes({imagenet_note(found.file, list->title)});
    else if (model.classes().empty())
        print_notes(
            {fmt::format("{} does not name its {} classes: they are taken in the data's "
                         "order; --classes FILE names them",
                         found.file, classes)});
    return {found.file, std::move(model), std::move(dataset), {}};
}

// The final epoch of the run that `best` is of, and what each is called.
std::optional<Candidate> final_candidate(const EvalArguments& arguments, Candidate& best,
                                         const DatasetPtr& data) {
    const auto found = find_final(arguments, best);
    if (!found) return {};
    Candidate last = candidate(arguments, *found, data);
    const bool same = fact_of(last.model, "steps") == fact_of(best.model, "steps");
    const std::string val = fact_of(best.model, "val_data");
    best.epoch =
        fmt::format("best epoch ({}{}), chosen on the validation data{}", epochs_of(best.model),
                    same ? ", which is the final one" : "", val.empty() ? "" : ": " + val);
    if (same) return {};
    last.epoch = fmt::format("final epoch ({})", epochs_of(last.model));
    return last;
}

// What a model says something about.
enum class AnswersFor { images, pixels, objects, sentences };

AnswersFor answers_of(const Model& model) {
    return takes_text(model.spec()) ? AnswersFor::sentences
           : segments(model)        ? AnswersFor::pixels
           : detects(model)         ? AnswersFor::objects
                                    : AnswersFor::images;
}

void check_detector(const EvalArguments& arguments, const std::string& model) {
    detect_options(arguments.segment, model);
    for (const auto& [given, option, instead] :
         {std::tuple{!arguments.predictions.empty(), "--predictions",
                     "--detections FILE writes COCO's results"},
          {arguments.tta != "none", "--tta", "images are seen as they are"}})
        if (given)
            throw UsageError(fmt::format(
                "{}: expected a model that names classes of images, found one that detects; {}",
                option, instead));
}

// All models give an answer of the same kind, and options are for that kind.
void check_answers(const EvalArguments& arguments, const std::vector<Candidate>& candidates) {
    const Candidate& first = candidates.front();
    const std::string& name = first.model.spec().name;
    const AnswersFor kind = answers_of(first.model);
    for (const Candidate& one : candidates)
        if (answers_of(one.model) != kind)
            throw UsageError(fmt::format("--compare {}: expected a model for the same task as {}",
                                         one.file, first.file));
    if (kind == AnswersFor::sentences) {
        arguments.segment.expect_none(name);
        return check_translator(arguments);
    }
    arguments.search.expect_none(name);
    if (arguments.published.given())
        throw UsageError(
            fmt::format("--published-codes: expected a model that translates, found {}", name));
    if (kind == AnswersFor::objects) return check_detector(arguments, name);
    if (!arguments.detections.empty())
        throw UsageError(
            fmt::format("--detections: expected a model that detects, found {}", name));
    if (kind == AnswersFor::images) return arguments.segment.expect_none(name);
    for (const auto& [given, option, instead] :
         {std::tuple{!arguments.predictions.empty(), "--predictions",
                     "`cait predict --labels FOLDER` writes label images"},
          {arguments.tta != "none", "--tta", "--flip looks at the mirror image"}})
        if (given)
            throw UsageError(
                fmt::format("{}: expected a model that names classes of images, found "
                            "one that segments; {}",
                            option, instead));
}

// `detections`: the file of --detections for the model whose answers go there.
Evaluated evaluate_one(const EvalArguments& arguments, const Candidate& candidate,
                       const std::string& detections = {}) {
    const auto& [file, model, dataset, epoch] = candidate;
    if (const AnswersFor kind = answers_of(model); kind != AnswersFor::images) {
        Evaluated result =
            kind == AnswersFor::pixels ? evaluate_segments_of(arguments, file, model, dataset)
            : kind == AnswersFor::sentences
                ? evaluate_translations_of(arguments, file, model, dataset)
                : evaluate_detections_of(arguments, file, model, dataset, detections);
        result.epoch = epoch;
        return result;
    }
    Progress progress("eval", "images");
    EvaluateDataOptions options;
    const ExecutorOptions running = arguments.executor.for_model(model);
    options.batch = running.batch;
    options.threads = arguments.threads;
    options.flip = arguments.tta == "flip";
    options.late_fusion = arguments.fusion == "softmax" && has_two_heads(model);
    options.heads = true;
    options.skip_bad = arguments.skip_bad;
    options.progress = [&, total = dataset->size()](std::size_t done) {
        progress.update(done, total);
    };
    const auto start = std::chrono::steady_clock::now();
    const auto executor = make_executor(model, running, arguments.model.kept());
    DataEvaluation found = [&] {
        try {
            return evaluate_data(*executor, model, dataset, options);
        } catch (const NonFiniteLogits& error) {
            throw Error(fmt::format("{}: {}: {}", file, dataset->source(), error.what()));
        }
    }();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    for (const BadImage& bad : found.bad) print_error("note: left out: {}\n", bad.reason);
    return {.name = {},
            .weights = file,
            .epoch = epoch,
            .info = model.info(),
            .preprocessing = model.preprocessing(),
            .evaluation = std::move(found.evaluation),
            .skipped = found.bad.size(),
            .seconds = taken.count(),
            .dataset = dataset};
}

// Decisions are compared by class name where the models name theirs differently ordered.
std::vector<std::int64_t> in_classes_of(const Evaluated& first, const Evaluated& one,
                                        const std::vector<std::int64_t>& decisions) {
    const std::vector<std::string>& known = first.dataset->classes();
    const std::vector<std::string>& names = one.dataset->classes();
    if (names == known) return decisions;
    std::vector<std::int64_t> map;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto found = std::ranges::find(known, names[i]);
        // A class that the first model lacks differs from everything that it could say.
        map.push_back(found != known.end() ? found - known.begin()
                                           : std::int64_t(known.size() + i));
    }
    std::vector<std::int64_t> result;
    for (const std::int64_t decision : decisions) result.push_back(map[std::size_t(decision)]);
    return result;
}

DisagreementTable compare(const std::vector<Evaluated>& models) {
    const Evaluated& first = models.front();
    std::vector<std::vector<std::int64_t>> labels;
    for (const std::size_t index : first.evaluation.indices)
        labels.push_back(first.dataset->labels(index));
    std::vector<Decisions> classifiers;
    for (const Evaluated& one : models) {
        const auto add = [&](const char* output, const std::string& name) {
            if (const auto found = one.evaluation.decisions.find(output);
                found != one.evaluation.decisions.end())
                classifiers.push_back({name, in_classes_of(first, one, found->second)});
        };
        add("logits_class", one.name + ", class only");
        add("logits_dist", one.name + ", distillation only");
        add("logits", one.name);
    }
    return disagreement(labels, classifiers);
}

}  // namespace

void evaluate(const EvalArguments& arguments, const EvalModels& found) {
    const DatasetPtr data = open_data(arguments.data, Split::val);
    for (const std::string& output :
         {arguments.report, arguments.predictions, arguments.detections}) {
        OutputFile(output).not_in(*data);
        for (const FoundModel& one : found) OutputFile(output).not_in(one.file);
    }
    std::vector<Candidate> candidates;
    for (const FoundModel& one : found) candidates.push_back(candidate(arguments, one, data));
    if (const Model& model = candidates.front().model;
        arguments.fusion == "softmax" && !has_two_heads(model))
        throw UsageError(
            fmt::format("--fusion softmax: expected a model with a distillation head, found {}",
                        model.spec().name));
    check_answers(arguments, candidates);
    const auto final_epoch = final_candidate(arguments, candidates.front(), data);
    EvalResult result;
    for (const Candidate& one : candidates)
        result.models.push_back(evaluate_one(
            arguments, one, &one == &candidates.front() ? arguments.detections : std::string()));
    const std::vector<std::string> names = unique_labels(found);
    for (std::size_t i = 0; i < names.size(); ++i) result.models[i].name = names[i];
    if (final_epoch) {
        result.final_epoch = evaluate_one(arguments, *final_epoch);
        result.final_epoch->name = std::filesystem::path(final_epoch->file).stem().string();
    }
    if (result.models.size() > 1 && answers_of(candidates.front().model) == AnswersFor::images)
        result.disagreement = compare(result.models);
    // First: a disk that is full now must not cost the numbers.
    print_evaluation(arguments, result);
    if (!arguments.predictions.empty())
        write_predictions(arguments.predictions, result.models.front());
    if (!arguments.report.empty()) write_eval_report(arguments, result);
}

}  // namespace cait::app
