// What `cait eval` does with a model that translates: sentences instead of images.
#include <fmt/format.h>

#include <chrono>

#include "eval.h"
#include "evaluate/translate/evaluate_translations.h"
#include "kernels/precision_names.h"
#include "output.h"
#include "progress.h"

namespace cait::app {

namespace {

std::vector<ReportSentence> shown_sentences(std::vector<TranslatedSentence>& sentences) {
    std::vector<ReportSentence> list;
    for (TranslatedSentence& one : sentences)
        list.push_back({std::move(one.name), std::move(one.source), std::move(one.reference),
                        std::move(one.translation), one.chrf});
    return list;
}

}  // namespace

void check_translator(const EvalArguments& arguments) {
    for (const auto& [given, option] : {std::pair{!arguments.predictions.empty(), "--predictions"},
                                        {!arguments.detections.empty(), "--detections"},
                                        {arguments.tta != "none", "--tta"},
                                        {arguments.per_class, "--per-class"},
                                        {arguments.fusion != "logits", "--fusion"},
                                        {arguments.skip_bad, "--skip-bad"}})
        if (given)
            throw UsageError(
                fmt::format("{}: expected a model for images, found one that translates", option));
    if (arguments.executor.executor != "engine")
        throw UsageError("--executor: expected engine of a model that translates, found torch");
    if (arguments.executor.precision == "int8")
        throw UsageError(
            "--precision: expected fp32 or bf16 of a model that translates, found int8");
}

Evaluated evaluate_translations_of(const EvalArguments& arguments, const std::string& file,
                                   const Model& model, const DatasetPtr& dataset) {
    std::vector<std::string> notes;
    const auto start = std::chrono::steady_clock::now();
    TranslationsEvaluation found = [&] {
        Progress progress("eval", "sentences");
        const Translator translator(model,
                                    {.precision = precision_of(arguments.executor.precision),
                                     .threads = arguments.executor.threads,
                                     .cache = arguments.executor.cache},
                                    arguments.search.options);
        EvaluateTranslationsOptions options{.search = arguments.search.options,
                                            .threads = arguments.threads};
        options.progress = [&](std::size_t done) { progress.update(done, dataset->size()); };
        return evaluate_translations(translator, model, dataset, options);
    }();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    {
        ExecutorOptions running = arguments.executor;
        running.batch = 8;
        running.cache.clear();
        const auto executor = make_executor(model, running);
        found.scores->set_pieces(
            evaluate_references(*executor, model, dataset, arguments.threads, notes));
    }
    for (const std::string& note : notes) print_error("note: {}\n", note);
    Evaluated result{.name = {},
                     .weights = file,
                     .epoch = {},
                     .info = model.info(),
                     .preprocessing = model.preprocessing(),
                     .evaluation = {found.scores, found.indices, {}, {}},
                     .skipped = 0,
                     .seconds = taken.count(),
                     .dataset = dataset};
    result.looked = arguments.search.text();
    result.sentences = shown_sentences(found.worst);
    result.examples = shown_sentences(found.examples);
    for (const LengthScore& one : found.by_length)
        result.lengths.push_back({one.least, one.most, one.sentences, one.bleu});
    return result;
}

}  // namespace cait::app
