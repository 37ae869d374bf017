#include "report/metrics_log.h"

#include <cmath>
#include <limits>

#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const MetricsRecord kFirst{"train", 10, 0.5, {{"loss", 2.25}, {"lr", 1e-6}}};
const MetricsRecord kSecond{"val", 20, 1, {{"top1", 0.125}}};
const MetricsRecord kThird{"train", 30, 1.5, {{"loss", 2}}};

TEST(MetricsLog, RecordsComeBackAndAreThereAtOnce) {
    const TemporaryFolder folder;
    MetricsLog log = MetricsLog::start(folder / "metrics.jsonl");
    log.append(kFirst);
    EXPECT_THAT(read_metrics(folder / "metrics.jsonl"), ElementsAre(kFirst));
    log.append(kSecond);
    EXPECT_THAT(read_metrics(folder / "metrics.jsonl"), ElementsAre(kFirst, kSecond));
    EXPECT_EQ(read_file(folder / "metrics.jsonl"),
              "{\"kind\":\"train\",\"step\":10,\"epoch\":0.5,\"loss\":2.25,\"lr\":1e-06}\n"
              "{\"kind\":\"val\",\"step\":20,\"epoch\":1.0,\"top1\":0.125}\n");
}

TEST(MetricsLog, ANewRunStartsWithAnEmptyFile) {
    const TemporaryFolder folder;
    MetricsLog::start(folder / "m").append(kFirst);
    MetricsLog::start(folder / "m").append(kSecond);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kSecond));
}

TEST(MetricsLog, ResumingForgetsWhatCameAfterTheCheckpoint) {
    const TemporaryFolder folder;
    {
        MetricsLog log = MetricsLog::start(folder / "m");
        for (const MetricsRecord& record : {kFirst, kSecond, kThird}) log.append(record);
    }
    MetricsLog log = MetricsLog::resume(folder / "m", 20);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst, kSecond));
    log.append(kThird);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst, kSecond, kThird));
}

TEST(MetricsLog, ResumingWithoutAFileStartsOne) {
    const TemporaryFolder folder;
    MetricsLog::resume(folder / "m", 5).append(kFirst);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst));
}

TEST(MetricsLog, ALineThatACrashCutOffIsLeftOut) {
    const TemporaryFolder folder;
    MetricsLog::start(folder / "m").append(kFirst);
    const std::string whole = read_file(folder / "m");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write_file(folder / "m", whole + whole.substr(0, size));
        ASSERT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst)) << size;
    }
    MetricsLog::resume(folder / "m", 10).append(kSecond);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst, kSecond));
}

// As a copy by hard links has them, or a folder that somebody else has prepared.
TEST(MetricsLog, AFileOfTheSameContentUnderAnotherNameStaysAsItIs) {
    const TemporaryFolder folder;
    {
        MetricsLog log = MetricsLog::start(folder / "m");
        log.append(kFirst);
        log.append(kSecond);
    }
    std::filesystem::create_hard_link(folder / "m", folder / "other");
    MetricsLog::resume(folder / "m", 10).append(kThird);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst, kThird));
    EXPECT_THAT(read_metrics(folder / "other"), ElementsAre(kFirst, kSecond));
    MetricsLog::start(folder / "other");
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(kFirst, kThird));
}

TEST(MetricsLog, ANoteKeepsItsWords) {
    const TemporaryFolder folder;
    const MetricsRecord note{"note", 7, 0.5, {}, "threads: 2 when the run was saved, 1 now"};
    MetricsLog::start(folder / "m").append(note);
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(note));
}

TEST(MetricsLog, NumbersThatJsonLacksAreNull) {
    const TemporaryFolder folder;
    MetricsLog::start(folder / "m")
        .append({"train",
                 1,
                 0,
                 {{"loss", std::nan("")}, {"lr", std::numeric_limits<double>::infinity()}}});
    EXPECT_THAT(read_file(folder / "m"), HasSubstr("\"loss\":null,\"lr\":null"));
    const auto records = read_metrics(folder / "m");
    EXPECT_TRUE(std::isnan(records.at(0).values.at("loss")));
    EXPECT_TRUE(std::isnan(records.at(0).values.at("lr")));
}

TEST(MetricsLog, FieldsOfOthersAreSkipped) {
    const TemporaryFolder folder;
    write_file(folder / "m",
               "{\"kind\":\"train\",\"step\":1,\"host\":\"a\",\"more\":[1],\"x\":3}\n");
    EXPECT_THAT(read_metrics(folder / "m"), ElementsAre(MetricsRecord{"train", 1, 0, {{"x", 3}}}));
}

TEST(MetricsLog, ADamagedLineIsLeftOutAndNamed) {
    const TemporaryFolder folder;
    const std::string good = "{\"kind\":\"a\",\"step\":1}\n";
    const auto damage = [&](const std::string& lines) {
        const std::string text = good + lines + "\n" + good;
        write_file(folder / "m", text);
        EXPECT_EQ(read_metrics(folder / "m").size(), 2U) << lines;
        const std::string found = MetricsLog::resume(folder / "m", 1).damage();
        EXPECT_EQ(read_file(folder / "m"), text);  // nothing is lost
        return found;
    };
    EXPECT_THAT(damage("{\"kind\""),
                EndsWith("m:2: expected a JSON object: this line is left out"));
    EXPECT_THAT(damage("[1]"), HasSubstr("m:2: expected a JSON object"));
    EXPECT_THAT(damage("epoch 1/3: train loss 1.0"), HasSubstr("m:2: expected a JSON object"));
    EXPECT_THAT(damage("{\"step\":1}"), HasSubstr("m:2: 'kind' is missing"));
    EXPECT_THAT(damage("{\"kind\":\"a\",\"step\":1.5}"),
                HasSubstr("step: expected a whole number"));
    EXPECT_THAT(damage("{\"kind\":1,\"step\":1}"), HasSubstr("kind: expected a string"));
    EXPECT_THAT(damage("x\n\ny"), EndsWith("this and 2 more lines are left out"));
    write_file(folder / "m", good);
    EXPECT_EQ(MetricsLog::resume(folder / "m", 1).damage(), "");
}

TEST(MetricsLog, AFileThatCannotBeOpenedIsNamed) {
    const TemporaryFolder folder;
    EXPECT_THAT(error_of([&] { read_metrics(folder / "none"); }), HasSubstr("none"));
    EXPECT_THAT(error_of([&] { MetricsLog::start(folder / "no/m"); }), HasSubstr("cannot create"));
}

}  // namespace
}  // namespace cait
