// `cait bench` as scripts read it.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "support/temporary_folder.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

const Words kTiny = {"cait_xxs24_224", "--set", "model.image_size=16", "--set",
                     "model.patch=8",  "--set", "model.dim=16",        "--set",
                     "model.depth=2",  "--set", "model.heads=2"};

TEST(Bench, PrintsOneObjectForEachCombination) {
    const Finished run = cait(Words{"bench"} + kTiny +
                              Words{"--batch", "1,3", "--precision", "fp32,bf16", "--threads",
                                    "1,2", "--runs", "4", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto list = nlohmann::json::parse(run.out);
    ASSERT_EQ(list.size(), 8U);
    for (const auto& one : list) {
        EXPECT_EQ(one.at("model"), "cait_xxs24_224");
        EXPECT_EQ(one.at("image_size"), 16);
        EXPECT_EQ(one.at("runs"), 4);
        for (const char* key : {"images_per_second", "p50_ms", "p99_ms", "gflops", "peak_share",
                                "peak_mib", "first_ms", "weights_mib"})
            EXPECT_GT(one.at(key).get<double>(), 0) << key;
        EXPECT_LE(one.at("p50_ms"), one.at("p99_ms"));
    }
    EXPECT_EQ(list[0].at("batch"), 1);
    EXPECT_EQ(list[7].at("precision"), "bf16");
    EXPECT_EQ(list[7].at("threads"), 2);
}

// Known answers: what a run takes, times the runs of a second, is a second.
TEST(Bench, ImagesPerSecondCountTheBatch) {
    nlohmann::json list;
    const auto share = [&](std::size_t i, const char* key) {
        return list[i].at("images_per_second").get<double>() * list[i].at(key).get<double>() /
               (1000 * list[i].at("batch").get<double>());
    };
    const Finished run = cait(Words{"bench"} + kTiny +
                              Words{"--set", "model.image_size=64", "--batch", "1,4", "--precision",
                                    "fp32", "--threads", "1", "--runs", "60", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    list = nlohmann::json::parse(run.out);
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].at("batch"), 1);
    EXPECT_EQ(list[1].at("batch"), 4);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_NEAR(share(i, "mean_ms"), 1, 1e-9) << list;
        EXPECT_LT(share(i, "p50_ms"), 2.1) << list;  // half of the runs take at least as long
    }
    // Four images take longer than one, and as many multiplications each.
    EXPECT_GT(list[1].at("p50_ms").get<double>(), 1.5 * list[0].at("p50_ms").get<double>()) << list;
    const auto work = [&](std::size_t i) {
        return list[i].at("gflops").get<double>() / list[i].at("images_per_second").get<double>();
    };
    EXPECT_NEAR(work(1), work(0), 1e-9 * work(0)) << list;
    const Model model = Model::create(
        "cait_xxs24_224",
        {{"image_size", "64"}, {"patch", "8"}, {"dim", "16"}, {"depth", "2"}, {"heads", "2"}});
    EXPECT_NEAR(work(0), 2e-9 * double(model.info().macs), 1e-9 * work(0));
}

// Weights are packed and their file's pages given back; what else there is stays small.
void expect_little_beside_weights(const std::string& weights, const std::string& precision) {
    SCOPED_TRACE(weights + " in " + precision);
    const Finished run =
        cait({"bench", weights, "--precision", precision, "--batch", "8", "--runs", "2", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto one = nlohmann::json::parse(run.out).at(0);
    EXPECT_LE(one.at("resident_mib").get<double>(), one.at("weights_mib").get<double>() + 61)
        << run.out;  // 64 MB
}

TEST(Bench, SteadyMemoryIsThePackedWeightsAndLittleMore) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    const TemporaryFolder folder;
    const std::string weights = (folder / "xxs.safetensors").string();
    Model::create("cait_xxs24_224").save(weights);
    for (const char* precision : {"fp32", "bf16", "int8"})
        expect_little_beside_weights(weights, precision);
}

// Of numbers with scales floats are made to be packed, of convolutions with their norms whole sets.
TEST(Bench, SteadyMemoryOfAnInt8FileIsItsPackedWeightsAndLittleMore) {
    if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
    const TemporaryFolder folder;
    const std::string weights = (folder / "model.safetensors").string(),
                      rounded = (folder / "int8.safetensors").string();
    for (const char* name : {"cait_xxs24_224", "resnet50"}) {
        Model::create(name).save(weights);
        ASSERT_EQ(cait({"quantize", weights, rounded}).status, 0);
        EXPECT_LT(double(std::filesystem::file_size(rounded)),
                  0.3 * double(std::filesystem::file_size(weights)));
        expect_little_beside_weights(rounded, "int8");
    }
}

TEST(Bench, TellsWhereTheTimeGoes) {
    const Finished run =
        cait(Words{"bench"} + kTiny + Words{"--batch", "2", "--seconds", "0.05", "--layers"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("attention_branch"));
    EXPECT_THAT(run.out, HasSubstr("mlp_branch"));
}

TEST(Bench, RefusesWhatMakesNoSense) {
    expect_refused(cait({"bench", "cait_xxs25_224"}), 2, {"nearest: cait_xxs24_224"});
    expect_refused(cait(Words{"bench"} + kTiny + Words{"--batch", "0"}), 2, {"--batch", "found 0"});
    expect_refused(cait(Words{"bench"} + kTiny + Words{"--precision", "fp8"}), 2, {"fp8"});
}

}  // namespace
}  // namespace cait::e2e
