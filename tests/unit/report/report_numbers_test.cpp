// The numbers of a report against those that ten answers written down by hand give: which class is
// taken for which, how often, and how sure the model was.
#include <cmath>

#include "evaluate/scores.h"
#include "report/report.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kCat = 0, kDog = 1, kOwl = 2;

// One answer of three has 9 of 11 parts (or 2 of 4), the others one each.
struct Answer {
    std::int64_t label, says;
    bool sure;
};
constexpr Answer kAnswers[] = {{kCat, kCat, true},  {kCat, kDog, true}, {kCat, kDog, true},
                               {kCat, kOwl, false}, {kDog, kDog, true}, {kDog, kDog, true},
                               {kDog, kDog, true},  {kDog, kDog, true}, {kDog, kOwl, false},
                               {kOwl, kOwl, false}};

ReportData ten_answers() {
    ReportData data;
    data.classes = {"cat", "dog", "owl"};
    data.evaluation.emplace(3);
    std::size_t index = 0;
    for (const Answer& answer : kAnswers) {
        std::vector<float> logits(3);
        logits[std::size_t(answer.says)] = std::log(answer.sure ? 9.0F : 2.0F);
        data.evaluation->add(index++, logits, answer.label);
    }
    data.mistakes = report_mistakes(data_test::MemoryDataset(10), data.evaluation->worst());
    return data;
}

// That the parts are there, one after the other.
void expect_in_order(const std::string& html, const std::vector<std::string>& parts) {
    std::size_t at = 0;
    for (const std::string& part : parts) {
        const std::size_t found = html.find(part, at);
        EXPECT_NE(found, std::string::npos) << part;
        if (found != std::string::npos) at = found + part.size();
    }
}

TEST(ReportNumbers, OfTheHeadline) {
    // -(5 ln 9/11 + 2 ln 1/11 + 2 ln 1/4 + ln 1/2) / 10; 7/10 |5/7 - 9/11| + 3/10 |1/3 - 1/2|
    expect_in_order(report_html(ten_answers()),
                    {"<span>Top-1</span><b>60.00 %</b>", "<span>Mean over classes</span><b>68.33 %",
                     "<span>Loss</span><b>0.9265</b>", "<span>Calibration error</span><b>12.27 %",
                     "<span>Images</span><b>10</b>"});
}

TEST(ReportNumbers, OfEachClassWorstFirst) {
    const auto row = [](const char* name, const char* percent, const char* width,
                        const char* counts) {
        return std::string("<th scope=\"row\">") + name +
               "</th><td class=\"bar\"><i style=\"width:" + width + "%\"></i></td><td>" + percent +
               " %</td><td class=\"dim\">" + counts + "</td>";
    };
    expect_in_order(report_html(ten_answers()),
                    {row("cat", "25.0", "25.00", "1 / 4"), row("dog", "80.0", "80.00", "4 / 5"),
                     row("owl", "100.0", "100.00", "1 / 1")});
}

// A cell's place: columns are 26 wide and begin at 130, rows are 26 high.
std::string cell(int row, int column, const char* opacity, const char* title) {
    return "x=\"" + std::to_string(131 + 26 * column) + "\" y=\"" + std::to_string(1 + 26 * row) +
           "\" width=\"24\" height=\"24\" fill-opacity=\"" + opacity + "\"><title>" + title +
           "</title>";
}

TEST(ReportNumbers, OfTheConfusionMatrixHaveLabelsInRows) {
    const std::string html = report_html(ten_answers());
    expect_in_order(
        html, {cell(0, 0, "0.525", "cat as cat: 25.0 %"), cell(0, 1, "0.722", "cat as dog: 50.0 %"),
               cell(0, 2, "0.525", "cat as owl: 25.0 %"), cell(1, 0, "0.050", "dog as cat: 0.0 %"),
               cell(1, 1, "0.900", "dog as dog: 80.0 %"), cell(1, 2, "0.475", "dog as owl: 20.0 %"),
               cell(2, 0, "0.050", "owl as cat: 0.0 %"), cell(2, 1, "0.050", "owl as dog: 0.0 %"),
               cell(2, 2, "1.000", "owl as owl: 100.0 %")});
    expect_in_order(html,
                    {"<td>cat</td><td>dog</td><td class=\"n\">2</td><td class=\"n dim\">50.0",
                     "<td>cat</td><td>owl</td><td class=\"n\">1</td><td class=\"n dim\">25.0",
                     "<td>dog</td><td>owl</td><td class=\"n\">1</td><td class=\"n dim\">20.0"});
}

TEST(ReportNumbers, OfACoarseConfusionMatrixHaveLabelsInRows) {
    ReportData data;
    data.evaluation.emplace(60);
    for (const std::int64_t says : {0, 0, 0, 59}) {
        std::vector<float> logits(60);
        logits[std::size_t(says)] = 5;
        data.evaluation->add(0, logits, 0);
    }
    const std::string html = report_html(data);
    for (const char* title : {"0–2 as 0–2: 75.0 %", "0–2 as 58–59: 25.0 %", "58–59 as 0–2: 0.0 %"})
        EXPECT_THAT(html, HasSubstr(title));
}

TEST(ReportNumbers, OfCalibration) {
    expect_in_order(report_html(ten_answers()),
                    {"Expected calibration error 12.27 % over 15 bins",
                     "<title>3 images, confidence 50.0 %, accuracy 33.3 %</title>",
                     "<title>7 images, confidence 81.8 %, accuracy 71.4 %</title>"});
}

TEST(ReportNumbers, OfTheMistakesMostConfidentFirst) {
    const auto caption = [](const char* says, const char* percent, const char* label) {
        return std::string("<figcaption><b>") + says + "</b> " + percent +
               " %<br><span class=\"dim\">label:</span> " + label + "</figcaption>";
    };
    expect_in_order(report_html(ten_answers()),
                    {"alt=\"image1\"", caption("dog", "81.8", "cat"), "alt=\"image2\"",
                     caption("dog", "81.8", "cat"), "alt=\"image3\"", caption("owl", "50.0", "cat"),
                     "alt=\"image8\"", caption("owl", "50.0", "dog")});
}

TEST(ReportNumbers, OfEpochsHeadsAndTimes) {
    ReportData data;
    const auto scores = [](double top1, double top5, double loss) {
        return Scores{make_score("top1", top1), make_score("top5", top5), make_score("loss", loss),
                      make_score("ece", 0.5)};  // which tables leave out
    };
    data.epochs = {{"final epoch (6 of 6)", scores(0.75, 1, 0.5)},
                   {"best epoch (3)", scores(0.8125, 0.9, 0.25)}};
    data.heads = {{"class", scores(0.5, 0.625, 1.25)}};
    data.records = {{"train", 1, 0.5, {{metric::kSecondsData, 1}, {metric::kSecondsForward, 3}}},
                    {"train", 2, 1, {{metric::kSecondsBackward, 5}, {metric::kSecondsOther, 1}}}};
    const auto row = [](const std::string& name, const char* top1, const char* top5,
                        const char* loss) {
        return "<th scope=\"row\">" + name + "</th><td class=\"n\">" + top1 +
               " %</td><td class=\"n\">" + top5 + " %</td><td class=\"n\">" + loss + "</td>";
    };
    expect_in_order(
        report_html(data),
        {row("final epoch (6 of 6)", "75.00", "100.00", "0.5000"),
         row("best epoch (3)", "81.25", "90.00", "0.2500"),
         row("class", "50.00", "62.50", "1.2500"), "10.0 s of training", "data <b>10.0 %</b> 1.0 s",
         "forward <b>30.0 %</b> 3.0 s", "backward <b>50.0 %</b> 5.0 s",
         "optimiser <b>0.0 %</b> 0.0 s", "other <b>10.0 %</b> 1.0 s"});
}

// Three images; the first model is right about one of them, the second about two.
TEST(ReportNumbers, OfDisagreement) {
    ReportData data;
    data.disagreement = disagreement({{0}, {1}, {2}}, {{"one", {0, 0, 0}}, {"two", {0, 1, 0}}});
    const auto row = [](const char* name, const std::vector<const char*>& cells) {
        std::string text = std::string("<th scope=\"row\">") + name + "</th>";
        for (const char* value : cells)
            text += std::string("<td class=\"n") + (std::string(value) == "0.000" ? " dim" : "") +
                    "\">" + value + "</td>";
        return text + "</tr>";
    };
    expect_in_order(report_html(data), {row("labels", {"0.000", "0.667", "0.333"}),
                                        row("one", {"0.667", "0.000", "0.333"}),
                                        row("two", {"0.333", "0.333", "0.000"})});
}

}  // namespace
}  // namespace cait
