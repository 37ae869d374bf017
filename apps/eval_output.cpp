// What `cait eval` prints and the page that it writes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data.h"
#include "eval.h"
#include "evaluate/accuracy_interval.h"
#include "evaluate/scores.h"
#include "evaluate/translate/bleu.h"
#include "evaluate/translate/chrf.h"
#include "output.h"
#include "progress.h"
#include "report/report.h"

namespace cait::app {

namespace {

double rate_of(const Evaluated& one) {
    return double(one.evaluation.measure->images()) / std::max(one.seconds, 1e-9);
}

void put(nlohmann::json& json, const Score& score) {
    if (score.format == ScoreFormat::count)
        json[score.name] = std::uint64_t(score.value);
    else
        json[score.name] = score.value;
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
    for (const ClassRow& row : one.evaluation.measure->class_rows()) {
        nlohmann::json json{{"name", one.dataset->classes()[list.size()]}};
        for (const Score& score : row.scores) put(json, score);
        list.push_back(std::move(json));
    }
    return list;
}

nlohmann::json worst_json(const Evaluated& one, const Metrics& metrics) {
    nlohmann::json list = nlohmann::json::array();
    const std::vector<std::string>& classes = one.dataset->classes();
    for (const Mistake& mistake : metrics.worst())
        list.push_back({{"image", one.dataset->name(mistake.index)},
                        {"label", classes[std::size_t(mistake.label)]},
                        {"predicted", classes[std::size_t(mistake.predicted)]},
                        {"confidence", mistake.confidence}});
    return list;
}

// What scripts get of one kind of measure alone.
class JsonOfKind : public MeasureDetails {
public:
    JsonOfKind(const Evaluated& one, nlohmann::json& json) : one_(one), json_(json) {}

    void one_class(const Metrics& metrics) override {
        json_["several_labels"] = metrics.several_labels();
        json_["reliability"] = reliability_json(metrics);
        json_["worst"] = worst_json(one_, metrics);
    }

private:
    const Evaluated& one_;
    nlohmann::json& json_;
};

nlohmann::json worst_images_json(const Evaluated& one) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, value] : one.worst_images)
        list.push_back({{"image", name}, {one.worst_by, value}});
    return list;
}

nlohmann::json sentences_json(const std::vector<ReportSentence>& sentences) {
    nlohmann::json list = nlohmann::json::array();
    for (const ReportSentence& one : sentences)
        list.push_back({{"sentence", one.name},
                        {"source", one.source},
                        {"reference", one.reference},
                        {"translation", one.translation},
                        {"chrf", one.chrf}});
    return list;
}

// In place of what only images have.
void put_translations(const EvalArguments& arguments, const Evaluated& one, nlohmann::json& json) {
    for (const char* none : {"tta", "fusion", "crop_ratio", "crop_mode", "images", "skipped",
                             "classes", "images_per_second"})
        json.erase(none);
    json["sentences"] = one.evaluation.measure->images();
    json["sentences_per_second"] = rate_of(one);
    json["signature"] = kBleuSignature;
    json["chrf_signature"] = kChrfSignature;
    json["beam"] = arguments.search.options.beam;
    json["length_penalty"] = arguments.search.options.length_penalty;
    json["worst"] = sentences_json(one.sentences);
    json["examples"] = sentences_json(one.examples);
    for (const ReportLength& length : one.lengths)
        json["by_length"].push_back({{"least_words", length.least},
                                     {"most_words", length.most},
                                     {"sentences", length.sentences},
                                     {"bleu", length.bleu}});
}

nlohmann::json heads_json(const Evaluation& evaluation) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [name, measure] : head_scores(evaluation))
        for (const Score& score : main_scores(measure->scores())) put(json[name], score);
    return json;
}

nlohmann::json model_json(const EvalArguments& arguments, const Evaluated& one) {
    const Measure& measure = *one.evaluation.measure;
    nlohmann::json json{{"model", one.info.name},
                        {"weights", one.weights},
                        {"data", arguments.data},
                        {"precision", arguments.executor.precision},
                        {"tta", arguments.tta},
                        {"fusion", arguments.fusion},
                        {"crop_ratio", one.preprocessing.crop_ratio},
                        {"crop_mode", one.preprocessing.crop_mode},
                        {"images", measure.images()},
                        {"skipped", one.skipped},
                        {"classes", measure.classes()},
                        {"seconds", one.seconds},
                        {"images_per_second", rate_of(one)}};
    for (const ShownScore& shown : measure.shown()) put(json, shown.score);
    JsonOfKind of_kind(one, json);
    measure.tell(of_kind);
    if (!one.mode.empty()) json["mode"] = one.mode;
    if (!one.lengths.empty()) {
        put_translations(arguments, one, json);
    } else if (!one.looked.empty()) {
        json["preparation"] = one.looked;
        json["worst"] = worst_images_json(one);
        for (const char* none : {"tta", "fusion", "crop_ratio", "crop_mode"}) json.erase(none);
    }
    if (!one.epoch.empty()) json["epoch"] = one.epoch;
    if (!one.evaluation.heads.empty()) json["heads"] = heads_json(one.evaluation);
    if (arguments.per_class || (!one.looked.empty() && one.lengths.empty()))
        json["per_class"] = per_class_json(one);
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

// "  75.31 %" and " 1.0421": the numbers of a column stand below each other.
std::string column_text(const Score& score) {
    if (score.format == ScoreFormat::percent && score.value >= 0)
        return fmt::format("{:>7.2f} %", 100 * score.value);
    return fmt::format("{:>7}", score_text(score));
}

void print_heads(const std::vector<HeadScore>& heads) {
    if (heads.empty()) return;
    const auto print_row = [](const std::string& name, const Scores& scores, auto text_of) {
        std::string line = fmt::format("{:<14}", name);
        for (const Score& score : scores)
            line += " " + text_of(score) + (&score == &scores.back() ? "" : " ");
        print_out("{}\n", line);
    };
    const Scores titles = main_scores(heads.front().measure->scores());
    print_row("head", titles, [&](const Score& score) {
        const bool unit = score.format == ScoreFormat::percent && &score != &titles.back();
        return fmt::format("{:>7}{}", score.title, unit ? "  " : "");
    });
    for (const auto& [name, measure] : heads)
        print_row(name, main_scores(measure->scores()), column_text);
}

void print_model(const EvalArguments& arguments, const Evaluated& one) {
    const Measure& measure = *one.evaluation.measure;
    print_out("{} ({}) on {}\n", one.weights, one.info.name, arguments.data);
    if (!one.epoch.empty()) print_out("{}\n", one.epoch);
    if (!one.looked.empty()) print_out("{}\n", one.looked);
    std::vector<ShownScore> shown = measure.shown();
    std::erase_if(shown, [](const ShownScore& score) { return !score.score.main; });
    std::size_t width = 7;
    for (const ShownScore& score : shown) width = std::max(width, score.score.title.size());
    for (const auto& [score, remark] : shown) {
        std::string line = fmt::format("{:<{}} {}", score.title, width, column_text(score));
        for (const std::string& text : {interval_text(score, measure.images()), remark})
            if (!text.empty()) line += "  " + text;
        print_out("{}\n", line);
    }
    print_out("{:<{}} {:>7}    in {}, {:.1f}/s{}\n", measure.counted(), width, measure.images(),
              duration_text(one.seconds), rate_of(one),
              one.skipped == 0 ? "" : fmt::format(", {} unreadable ones left out", one.skipped));
    print_heads(head_scores(one.evaluation));
}

void print_classes(const Evaluated& one) {
    const Measure& measure = *one.evaluation.measure;
    const std::vector<ClassRow> rows = measure.class_rows();
    print_out("\n{}\n", measure.class_header());
    for (const std::size_t i : worst_first(rows))
        print_out("{}  {}\n", rows[i].text, one.dataset->classes()[i]);
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

ReportScore score_of(std::string name, const Measure& measure) {
    return {std::move(name), measure.scores()};
}

std::vector<ReportFact> report_facts(const EvalArguments& arguments, const Evaluated& one) {
    const bool translates = !one.lengths.empty();
    std::vector<ReportFact> facts = {{"model", one.info.name},
                                     {"parameters", count_text(one.info.params)}};
    if (!translates) {
        facts.push_back({"multiply-adds per image", count_text(one.info.macs)});
        facts.push_back(
            {"image size", fmt::format("{} x {}", one.info.image_height, one.info.image_width)});
    }
    facts.push_back({"weights", one.weights});
    facts.push_back({"data", arguments.data});
    facts.push_back({"precision", arguments.executor.precision});
    if (translates) {
        facts.push_back({"search", one.looked});
        facts.push_back({"BLEU", std::string(kBleuSignature)});
        facts.push_back({"chrF", std::string(kChrfSignature)});
    } else {
        facts.push_back(
            {"preparation", one.looked.empty()
                                ? fmt::format("crop ratio {}, {}", one.preprocessing.crop_ratio,
                                              one.preprocessing.crop_mode)
                                : one.looked});
        facts.push_back({"test-time augmentation", one.looked.empty() ? arguments.tta : "none"});
    }
    facts.push_back({"time", fmt::format("{}, {:.1f} {}/s", duration_text(one.seconds),
                                         rate_of(one), one.evaluation.measure->counted())});
    return facts;
}

}  // namespace

std::vector<HeadScore> head_scores(const Evaluation& evaluation) {
    std::vector<HeadScore> scores;
    for (const auto& [output, name] :
         {std::pair{"logits_class", "class"}, {"logits_dist", "distillation"}})
        if (const auto found = evaluation.heads.find(output); found != evaluation.heads.end())
            scores.push_back({name, found->second.get()});
    if (!scores.empty()) scores.push_back({"both", evaluation.measure.get()});
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
    ReportData data;
    data.title = fmt::format("{} on {}", one.name, arguments.data);
    data.facts = report_facts(arguments, one);
    for (std::size_t i = 1; i < result.models.size(); ++i) {
        const Score first = result.models[i].evaluation.measure->scores().front();
        data.facts.push_back(
            {"compared with " + result.models[i].name,
             fmt::format("{}, {} {}", result.models[i].info.name, first.title, score_text(first))});
    }
    if (one.skipped > 0)
        data.notes.push_back(fmt::format("{} of {} images could not be read and were left out",
                                         one.skipped, one.dataset->size()));
    data.classes = one.dataset->classes();
    show_measure(one.evaluation.measure, one.dataset.get(), data);
    data.segments = one.segments;
    data.colours = one.colours;
    data.sentences = one.sentences;
    data.examples = one.examples;
    data.lengths = one.lengths;
    data.disagreement = result.disagreement;
    data.shown = one.epoch;
    for (const auto& [name, of_head] : head_scores(one.evaluation))
        data.heads.push_back(score_of(name, *of_head));
    if (result.final_epoch)
        data.epochs = {score_of(result.final_epoch->epoch, *result.final_epoch->evaluation.measure),
                       score_of(one.epoch, *one.evaluation.measure)};
    write_report(arguments.report, data);
    if (!arguments.json) print_out("\nreport: {}\n", arguments.report);
}

}  // namespace cait::app
