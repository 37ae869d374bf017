#include "report/report.h"

#include <cmath>

#include "report/html.h"
#include "report/line_chart.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t report_count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
}

TEST(Html, EscapesWhatHasAMeaning) {
    EXPECT_EQ(html_text("<b a=\"1\" c='2'>&amp;"),
              "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
    EXPECT_EQ(html_text("Käfer 虫 🐞"), "Käfer 虫 🐞");
    EXPECT_EQ(html_text(std::string_view("a\0b\x1b", 4)),
              "a\xef\xbf\xbd"
              "b\xef\xbf\xbd");
    // A stray byte, a character cut short, a too long form, a surrogate, beyond Unicode.
    EXPECT_EQ(html_text("\xff"), "\xef\xbf\xbd");
    EXPECT_EQ(html_text("\xe8\x99<"), "\xef\xbf\xbd\xef\xbf\xbd&lt;");
    EXPECT_THAT(html_text("\xc0\xbc"), Not(HasSubstr("\xc0")));
    EXPECT_THAT(html_text("\xed\xa0\x80"), Not(HasSubstr("\xed")));
    EXPECT_THAT(html_text("\xf4\x90\x80\x80"), Not(HasSubstr("\xf4")));
}

TEST(Html, CutsBetweenCharacters) {
    EXPECT_EQ(cut_text("Käfer", 5), "Käfer");
    EXPECT_EQ(cut_text("Käfer", 2), "Kä…");
    EXPECT_EQ(cut_text("", 2), "");
}

TEST(LineChart, TicksAreRoundAndCoverTheValues) {
    EXPECT_THAT(axis_ticks(0, 1), ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
    EXPECT_THAT(axis_ticks(0.3, 97), ElementsAre(0, 20, 40, 60, 80, 100));
    for (const auto& [low, high] : {std::pair{1e-6, 1e-3}, {-5.0, 3.0}, {2.0, 2.0}, {0.0, 0.0}}) {
        const std::vector<double> ticks = axis_ticks(low, high);
        EXPECT_LE(ticks.front(), low);
        EXPECT_GE(ticks.back(), high);
        EXPECT_GE(ticks.size(), 3U);
        EXPECT_LE(ticks.size(), 8U);
    }
}

TEST(LineChart, NotANumberLeavesAGap) {
    const double nan = std::nan("");
    const std::string html = line_chart_html(
        {"Loss", "epoch", ChartUnit::number, false, {{"a<b", {{0, 1}, {1, nan}, {2, 3}, {3, 4}}}}});
    EXPECT_THAT(html, HasSubstr("a&lt;b <b>4</b>"));
    EXPECT_THAT(html, Not(HasSubstr("nan")));
    const std::string path = html.substr(html.find("class=\"line"));
    EXPECT_EQ(report_count_of(path.substr(0, path.find("/>")), "M"), 2U);  // begins twice
    EXPECT_EQ(line_chart_html({"Loss", "epoch", ChartUnit::number, false, {{"a", {{0, nan}}}}}),
              "");
    EXPECT_EQ(line_chart_html({"Loss", "epoch", ChartUnit::number, false, {}}), "");
}

TEST(LineChart, ManyPointsAreThinned) {
    ChartSeries series{"loss", {}};
    for (int i = 0; i < 100'000; ++i) series.points.emplace_back(i, i % 2);
    const std::string html =
        line_chart_html({"Loss", "step", ChartUnit::number, false, {std::move(series)}});
    EXPECT_LT(html.size(), 12'000U);
    EXPECT_THAT(html, HasSubstr(">20000</text>"));
    EXPECT_EQ(chart_number(0.25, ChartUnit::percent), "25 %");
    EXPECT_EQ(chart_number(1e-6, ChartUnit::number), "1e-06");
}

Metrics answers(std::size_t classes) {
    Metrics metrics(classes);
    for (std::size_t i = 0; i < 4 * classes; ++i) {
        std::vector<float> logits(classes);
        logits[(i % 4 == 0 ? i + 1 : i) % classes] = 4;
        metrics.add(i, logits, std::int64_t(i % classes));
    }
    return metrics;
}

ReportData full_report(std::size_t classes) {
    ReportData data;
    data.title = "a <run> of \"ours\"";
    data.facts = {{"model", "cait_xxs24_224"}, {"<fact>", "</dl><script>"}};
    data.notes = {"2 images <left> out"};
    data.records = {
        {"train", 10, 0.5, {{"loss", 2}, {"lr", 1e-3}, {"images_per_second", 90}}},
        {"train", 20, 1, {{"loss", 1}, {"seconds_data", 1}, {"seconds_forward", 3}}},
        {"val", 20, 1, {{"loss", 1.5}, {"top1", 0.5}, {"top1_ema", 0.625}, {"top5", 0.75}}}};
    data.evaluation = answers(classes);
    data.classes.assign(classes, "'><img src=x onerror=alert(1)>");
    const data_test::MemoryDataset dataset(4 * classes, {0});
    data.mistakes = report_mistakes(dataset, data.evaluation->worst());
    data.disagreement = disagreement({{0}, {1}}, {{"<model>", {0, 0}}});
    data.recipe = "[model]\nname = \"<x>\"\n";
    return data;
}

TEST(Report, ShowsEveryPart) {
    const std::string html = report_html(full_report(8));
    for (const char* part : {"<h1>a &lt;run&gt; of &quot;ours&quot;</h1>",
                             "Top-1",
                             "75.00 %",
                             "2 images &lt;left&gt;",
                             ">Curves<",
                             "validation <b>1.5</b>",
                             "top-1, EMA <b>62.5 %</b>",
                             "learning rate <b>0.001</b>",
                             "Can its confidence be trusted?",
                             "Accuracy of each class",
                             "What is taken for what",
                             "Most confident mistakes",
                             "Who disagrees with whom",
                             "0.500",
                             "Where the time went",
                             "forward <b>75.0 %</b>",
                             "Facts",
                             "cait_xxs24_224",
                             "Recipe",
                             "name = &quot;&lt;x&gt;&quot;"})
        EXPECT_THAT(html, HasSubstr(part));
}

TEST(Report, HostileNamesStayText) {
    const std::string html = report_html(full_report(8));
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
    EXPECT_THAT(html, Not(HasSubstr("<model>")));
    EXPECT_THAT(html, HasSubstr("&#39;&gt;&lt;img src=x"));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Report, NeedsNothingFromOutside) {
    const std::string html = report_html(full_report(8));
    for (const char* word : {"http:", "https:", "url(", "@import", "<link", "file:"})
        EXPECT_THAT(html, Not(HasSubstr(word)));
    // The mistakes: 8 of 32, of which image 0 cannot be read any more.
    EXPECT_EQ(report_count_of(html, "<img src=\"data:image/png;base64,iVBORw0KGgo"), 7U);
    EXPECT_THAT(html, HasSubstr("<p class=\"dim\">image0</p>"));
}

TEST(Report, HundredsOfClassesStaySmall) {
    const std::string html = report_html(full_report(600));
    EXPECT_THAT(html, HasSubstr("550 classes"));
    EXPECT_THAT(html, HasSubstr("0–23"));
    EXPECT_THAT(html, HasSubstr("576–599"));
    EXPECT_EQ(report_count_of(html, "class=\"cell\""), 25U * 25U);
    EXPECT_LT(html.size(), 400'000U);
}

TEST(Report, WhatIsMissingIsLeftOut) {
    ReportData data;
    data.title = "empty";
    const std::string html = report_html(data);
    EXPECT_EQ(report_count_of(html, "<section>"), 0U);
    data.evaluation = Metrics(3);  // no image at all
    EXPECT_THAT(report_html(data), Not(HasSubstr("nan")));
    data.evaluation = answers(3);  // classes without names
    EXPECT_THAT(report_html(data), HasSubstr("#2"));
    EXPECT_THAT(report_html(data), Not(HasSubstr("Top-5")));  // of three classes
}

TEST(Report, IsReplacedWhole) {
    const TemporaryFolder folder;
    write_file(folder / "r.html", "old");
    write_report(folder / "r.html", full_report(2));
    EXPECT_THAT(read_file(folder / "r.html"), testing::EndsWith("</html>\n"));
    EXPECT_EQ(folder.file_count(), 1);
}

}  // namespace
}  // namespace cait
