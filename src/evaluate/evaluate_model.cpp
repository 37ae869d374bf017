// cait/evaluate.h on top of the engine.
#include "cait/evaluate.h"

#include <fmt/format.h>

#include "data/open_dataset.h"
#include "engine/engine_executor.h"
#include "evaluate/evaluate_data.h"
#include "evaluate/evaluate_detections.h"
#include "evaluate/evaluate_segments.h"
#include "evaluate/match_classes.h"
#include "evaluate/segment_classes.h"
#include "evaluate/translate/evaluate_translations.h"
#include "models/catalogue.h"

namespace cait {

double ModelEvaluation::operator[](std::string_view score) const {
    std::string known;
    for (const auto& [name, value] : scores) {
        if (name == score) return value;
        known += (known.empty() ? "" : ", ") + name;
    }
    throw UsageError(fmt::format("no score '{}'; there are: {}", score, known));
}

namespace {

ModelEvaluation evaluate_segmenter(const Model& model, const std::string& data,
                                   const EvaluationOptions& options) {
    const SegmentNetwork network = SegmentNetwork::of(model);
    const DatasetPtr dataset = match_classes(open_dataset(data, Split::val), model.classes(),
                                             network.classes, model.spec().name);
    SegmentOptions looking;
    looking.mode = network.usual_mode();
    looking.flip = options.flip;
    EvaluateSegmentsOptions running{.skip_bad = options.skip_bad, .worst = 0};
    if (options.progress)
        running.progress = [&](std::size_t done) { options.progress(done, dataset->size()); };
    const SegmentsEvaluation found =
        evaluate_segments(ImageSegmenter(model, options.session, looking), *dataset, running);
    ModelEvaluation result;
    for (const Score& score : found.scores->scores())
        result.scores.push_back({score.name, score.value});
    result.images = found.indices.size();
    for (const BadImage& bad : found.bad) result.left_out.push_back(bad.reason);
    result.notes = dataset->notes();
    return result;
}

ModelEvaluation evaluate_detector(const Model& model, const std::string& data,
                                  const EvaluationOptions& options) {
    if (options.flip)
        throw UsageError(
            fmt::format("flip: expected a model that names classes, of images or of "
                        "pixels; found {}, which detects",
                        model.spec().name));
    const DetectNetwork network = DetectNetwork::of(model);
    const DatasetPtr dataset = match_classes(open_dataset(data, Split::val), model.classes(),
                                             network.classes, model.spec().name);
    EvaluateDetectionsOptions running{.skip_bad = options.skip_bad, .worst = 0};
    if (options.progress)
        running.progress = [&](std::size_t done) { options.progress(done, dataset->size()); };
    const DetectionsEvaluation found = evaluate_detections(
        ImageDetector(model, options.session, DetectOptions()), *dataset, running);
    ModelEvaluation result;
    for (const Score& score : found.scores->scores())
        result.scores.push_back({score.name, score.value});
    result.images = found.indices.size();
    for (const BadImage& bad : found.bad) result.left_out.push_back(bad.reason);
    result.notes = dataset->notes();
    return result;
}

ModelEvaluation evaluate_translator(const Model& model, const std::string& data,
                                    const EvaluationOptions& options) {
    if (options.flip)
        throw UsageError(fmt::format(
            "flip: expected a model for images, found {}, which translates", model.spec().name));
    const DatasetPtr dataset = open_dataset(data, Split::val);
    EvaluateTranslationsOptions running{.worst = 0, .examples = 0};
    if (options.loader_threads > 0) running.threads = options.loader_threads;
    if (options.progress)
        running.progress = [&](std::size_t done) { options.progress(done, dataset->size()); };
    const TranslationsEvaluation found =
        evaluate_translations(Translator(model, options.session), model, dataset, running);
    ModelEvaluation result;
    SessionOptions scoring = options.session;
    scoring.batch = 8;
    scoring.cache.clear();
    found.scores->set_pieces(evaluate_references(EngineExecutor(model, scoring), model, dataset,
                                                 running.threads, result.notes));
    for (const ShownScore& one : found.scores->shown())
        result.scores.push_back({one.score.name, one.score.value});
    result.images = found.indices.size();
    return result;
}

}  // namespace

ModelEvaluation evaluate(const Model& model, const std::string& data,
                         const EvaluationOptions& options) {
    if (takes_text(model.spec())) return evaluate_translator(model, data, options);
    if (segments(model)) return evaluate_segmenter(model, data, options);
    if (detects(model)) return evaluate_detector(model, data, options);
    const auto classes = std::size_t(model.spec().architecture->common().classes);
    if (classes == 0)
        throw UsageError(
            fmt::format("{}: expected a model with classes, found a backbone", model.spec().name));
    const DatasetPtr dataset =
        match_classes(open_dataset(data, Split::val), model.classes(), classes, model.spec().name);
    EvaluateDataOptions running;
    running.batch = options.session.batch;
    if (options.loader_threads > 0) running.threads = options.loader_threads;
    running.flip = options.flip;
    running.heads = true;
    running.skip_bad = options.skip_bad;
    if (options.progress)
        running.progress = [&](std::size_t done) { options.progress(done, dataset->size()); };
    const DataEvaluation found =
        evaluate_data(EngineExecutor(model, options.session), model, dataset, running);
    const Measure& measure = *found.evaluation.measure;
    ModelEvaluation result;
    for (const ShownScore& one : measure.shown())
        result.scores.push_back({one.score.name, one.score.value});
    for (const auto& [output, name] :
         {std::pair{"logits_class", "class"}, {"logits_dist", "distillation"}})
        if (const auto head = found.evaluation.heads.find(output);
            head != found.evaluation.heads.end()) {
            const Score main = head->second->scores().front();
            result.scores.push_back({fmt::format("{}.{}", main.name, name), main.value});
        }
    result.images = std::size_t(measure.images());
    for (const BadImage& bad : found.bad) result.left_out.push_back(bad.reason);
    result.notes = dataset->notes();
    return result;
}

}  // namespace cait
