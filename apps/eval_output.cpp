// What `cait eval` prints and the page that it writes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "data.h"
#include "eval.h"
#include "output.h"
#include "progress.h"
#include "report/report.h"

namespace cait::app {

namespace {

double rate_of(const Evaluated& one) {
    return double(one.evaluation.metrics.images()) / std::max(one.seconds, 1e-9);
}

nlohmann::json reliability_json(const Metrics& metrics) {
    nlohmann::json list = nlohmann::json::array();
    for (const ReliabilityBin& bin : metrics.reliability())
        list.push_back({{"images", bin.images},
                        {"accuracy", bin.accuracy()},
                        {"confidence", bin.confidence()}});
    return list;
}

nlohmann::json per_class_json(const Evaluated& one) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < one.evaluation.metrics.classes(); ++i) {
        const ClassCount& count = one.evaluation.metrics.per_class()[i];
        list.push_back({{"name", one.dataset->classes()[i]},
                        {"images", count.images},
                        {"correct", count.correct}});
    }
    return list;
}

nlohmann::json worst_json(const Evaluated& one) {
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::string>& classes = one.dataset->classes();
    for (const Mistake& mistake : one.evaluation.metrics.worst())
        list.push_back({{"image", one.dataset->name(mistake.index)},
                        {"label", classes[std::size_t(mistake.label)]},
                        {"predicted", classes[std::size_t(mistake.predicted)]},
                        {"confidence", mistake.confidence}});
    return list;
}

nlohmann::json heads_json(const Evaluation& evaluation) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, metrics] : head_scores(evaluation))
        json[name] = {
            {"top1", metrics->top1()}, {"top5", metrics->top5()}, {"loss", metrics->loss()}};
    return json;
}

nlohmann::json model_json(const EvalArguments& arguments, const Evaluated& one) {
    const Metrics& metrics = one.evaluation.metrics;
    nlohmann::json json{{"model", one.info.name},
                        {"weights", one.weights},
                        {"data", arguments.data},
                        {"precision", arguments.executor.precision},
                        {"tta", arguments.tta},
                        {"fusion", arguments.fusion},
                        {"crop_ratio", one.preprocessing.crop_ratio},
                        {"crop_mode", one.preprocessing.crop_mode},
                        {"images", metrics.images()},
                        {"skipped", one.skipped},
                        {"classes", metrics.classes()},
                        {"several_labels", metrics.several_labels()},
                        {"top1", metrics.top1()},
                        {"top5", metrics.top5()},
                        {"mean_class_accuracy", metrics.mean_class_accuracy()},
                        {"loss", metrics.loss()},
                        {"ece", metrics.ece()},
                        {"reliability", reliability_json(metrics)},
                        {"worst", worst_json(one)},
                        {"seconds", one.seconds},
                        {"images_per_second", rate_of(one)}};
    if (!one.epoch.empty()) json["epoch"] = one.epoch;
    if (!one.evaluation.heads.empty()) json["heads"] = heads_json(one.evaluation);
    if (arguments.per_class) json["per_class"] = per_class_json(one);
    return json;
}

nlohmann::json to_json(const DisagreementTable& table) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t row = 0; row < table.names.size(); ++row) {
        nlohmann::json values = nlohmann::json::array();
        for (std::size_t column = 0; column < table.names.size(); ++column)
            values.push_back(table.at(row, column));
        rows.push_back(values);
    }
    return {{"names", table.names}, {"images", table.images}, {"fractions", rows}};
}

void print_model(const EvalArguments& arguments, const Evaluated& one) {
    const Metrics& metrics = one.evaluation.metrics;
    const bool several = metrics.several_labels();
    print_out("{} ({}) on {}\n", one.weights, one.info.name, arguments.data);
    if (!one.epoch.empty()) print_out("{}\n", one.epoch);
    print_out("top-1   {:>7.2f} %{}\n", 100 * metrics.top1(),
              several ? "  (any of an image's labels counts)" : "");
    print_out("top-5   {:>7.2f} %\n", 100 * metrics.top5());
    print_out("classes {:>7.2f} %  (mean of their accuracies)\n",
              100 * metrics.mean_class_accuracy());
    print_out("loss    {:>7.4f}\n", metrics.loss());
    print_out("ECE     {:>7.2f} %\n", 100 * metrics.ece());
    print_out("images  {:>7}    in {}, {:.1f}/s{}\n", metrics.images(), duration_text(one.seconds),
              rate_of(one),
              one.skipped == 0 ? "" : fmt::format(", {} unreadable ones left out", one.skipped));
    if (const auto heads = head_scores(one.evaluation); !heads.empty()) {
        print_out("{:<14} {:>7}    {:>7}    {:>7}\n", "head", "top-1", "top-5", "loss");
        for (const auto& [name, of_head] : heads)
            print_out("{:<14} {:>7.2f} %  {:>7.2f} %  {:>7.4f}\n", name, 100 * of_head->top1(),
                      100 * of_head->top5(), of_head->loss());
    }
}

void print_classes(const Evaluated& one) {
    const auto& counts = one.evaluation.metrics.per_class();
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return counts[i].images == 0; });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return counts[i].accuracy(); });
    print_out("\naccuracy   correct/images  class\n");
    for (const std::size_t i : order)
        print_out("{:>6.2f} %   {:>14}  {}\n", 100 * counts[i].accuracy(),
                  fmt::format("{}/{}", counts[i].correct, counts[i].images),
                  one.dataset->classes()[i]);
}

void print_disagreement(const DisagreementTable& table) {
    print_out("\nFraction of the {} images on which two decide differently:\n", table.images);
    for (std::size_t i = 0; i < table.names.size(); ++i)
        print_out("  [{}] {}\n", i, table.names[i]);
    print_out("{:>6}", "");
    for (std::size_t i = 0; i < table.names.size(); ++i)
        print_out(" {:>6}", fmt::format("[{}]", i));
    for (std::size_t row = 0; row < table.names.size(); ++row) {
        print_out("\n{:>6}", fmt::format("[{}]", row));
        for (std::size_t column = 0; column < table.names.size(); ++column)
            print_out(" {:>6.3f}", table.at(row, column));
    }
    print_out("\n");
}

ReportScore score_of(std::string name, const Metrics& metrics) {
    return {std::move(name), metrics.scores()};
}

}  // namespace

std::vector<HeadScore> head_scores(const Evaluation& evaluation) {
    std::vector<HeadScore> scores;
    for (const auto& [output, name] :
         {std::pair{"logits_class", "class"}, {"logits_dist", "distillation"}})
        if (const auto found = evaluation.heads.find(output); found != evaluation.heads.end())
            scores.push_back({name, &found->second});
    if (!scores.empty()) scores.push_back({"both", &evaluation.metrics});
    return scores;
}

void print_evaluation(const EvalArguments& arguments, const EvalResult& result) {
    if (arguments.json) {
        nlohmann::json json = model_json(arguments, result.models.front());
        for (std::size_t i = 1; i < result.models.size(); ++i)
            json["compared"].push_back(model_json(arguments, result.models[i]));
        if (result.final_epoch) json["final_epoch"] = model_json(arguments, *result.final_epoch);
        if (result.disagreement) json["disagreement"] = to_json(*result.disagreement);
        return print_json(json);
    }
    if (result.final_epoch) {
        print_model(arguments, *result.final_epoch);
        print_out("\n");
    }
    for (const Evaluated& one : result.models) {
        if (&one != &result.models.front()) print_out("\n");
        print_model(arguments, one);
        if (arguments.per_class) print_classes(one);
    }
    if (result.disagreement) print_disagreement(*result.disagreement);
}

void write_eval_report(const EvalArguments& arguments, const EvalResult& result) {
    const Evaluated& one = result.models.front();
    const Metrics& metrics = one.evaluation.metrics;
    ReportData data;
    data.title = fmt::format("{} on {}", one.name, arguments.data);
    data.facts = {
        {"model", one.info.name},
        {"parameters", count_text(one.info.params)},
        {"multiply-adds per image", count_text(one.info.macs)},
        {"image size", fmt::format("{} x {}", one.info.image_height, one.info.image_width)},
        {"weights", one.weights},
        {"data", arguments.data},
        {"precision", arguments.executor.precision},
        {"preparation", fmt::format("crop ratio {}, {}", one.preprocessing.crop_ratio,
                                    one.preprocessing.crop_mode)},
        {"test-time augmentation", arguments.tta},
        {"time", fmt::format("{}, {:.1f} images/s", duration_text(one.seconds), rate_of(one))}};
    for (std::size_t i = 1; i < result.models.size(); ++i)
        data.facts.push_back({"compared with " + result.models[i].name,
                              fmt::format("{}, top-1 {:.2f} %", result.models[i].info.name,
                                          100 * result.models[i].evaluation.metrics.top1())});
    if (one.skipped > 0)
        data.notes.push_back(fmt::format("{} of {} images could not be read and were left out",
                                         one.skipped, one.dataset->size()));
    data.evaluation = metrics;
    data.classes = one.dataset->classes();
    data.mistakes = report_mistakes(*one.dataset, metrics.worst());
    data.disagreement = result.disagreement;
    data.shown = one.epoch;
    for (const auto& [name, of_head] : head_scores(one.evaluation))
        data.heads.push_back(score_of(name, *of_head));
    if (result.final_epoch)
        data.epochs = {score_of(result.final_epoch->epoch, result.final_epoch->evaluation.metrics),
                       score_of(one.epoch, metrics)};
    write_report(arguments.report, data);
    if (!arguments.json) print_out("\nreport: {}\n", arguments.report);
}

}  // namespace cait::app
