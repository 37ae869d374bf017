// `cait machine`, and what CAIT_ISA does to every command.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/tiny_models.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

Finished cait_with(const char* name, const char* value, const Words& words) {
    ::setenv(name, value, 1);
    const Finished run = cait(words);
    ::unsetenv(name);
    return run;
}

const Words kIsaNames = {"portable",    "avx2",        "avx_vnni", "avx512",
                         "avx512_vnni", "avx512_bf16", "amx"};

TEST(Machine, ShowsTheProcessorItsSetsItsLimitsAndTheParts) {
    const Finished run = cait({"machine"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err, "");
    for (const char* part :
         {"processor ", "cores ", "threads ", "memory ", "caches ", "portable       used",
          "oneDNN ", "LibTorch ", "libjpeg-turbo ", "libcurl ", "compiler "})
        EXPECT_THAT(run.out, HasSubstr(part));
    EXPECT_THAT(run.out, testing::Not(HasSubstr("measured")));
}

TEST(Machine, JsonHasTheFieldsThatScriptsRelyOn) {
    const Finished run = cait({"machine", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto machine = nlohmann::json::parse(run.out);
    EXPECT_FALSE(machine["processor"].get<std::string>().empty());
    ASSERT_EQ(machine["isa"]["sets"].size(), kIsaNames.size());
    for (std::size_t i = 0; i < kIsaNames.size(); ++i) {
        const auto& set = machine["isa"]["sets"][i];
        EXPECT_EQ(set["name"], kIsaNames[i]);
        EXPECT_EQ(set["state"] == "used", set["why_not"] == "");  // and nothing else needs a reason
    }
    EXPECT_EQ(machine["isa"]["cap"], nullptr);
    EXPECT_EQ(machine["isa"]["found"], machine["isa"]["used"]);
    for (const char* field : {"online", "affinity", "usable"})
        EXPECT_GE(machine["cores"][field].get<int>(), 1) << field;
    EXPECT_TRUE(machine["cores"].contains("container"));
    EXPECT_GE(machine["threads"].get<int>(), 1);
    for (const char* field : {"total", "available", "usable"})
        EXPECT_GT(machine["memory"][field].get<double>(), 1e6) << field;
    EXPECT_TRUE(machine["caches"].is_array());
    for (const char* part :
         {"cait", "compiler", "OpenMP", "LibTorch", "oneDNN", "fmt", "nlohmann-json",
          "libjpeg-turbo", "libpng", "libwebp", "zlib", "libcurl"})
        EXPECT_TRUE(machine["parts"].contains(part)) << part;
    EXPECT_TRUE(machine["parts"]["libpng"].is_string());
    EXPECT_EQ(machine["measured"], nullptr);
}

TEST(Machine, MeasuresInAFewSeconds) {
    // The thread sanitizer does not know OpenMP's barriers.
    const Words words = {"machine", "--measure", "--json"};
    const Finished run = kSanitized ? cait_with("OMP_NUM_THREADS", "1", words) : cait(words);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err, "");  // a progress line is for terminals
    const auto measured = nlohmann::json::parse(run.out)["measured"];
    ASSERT_GE(measured["arithmetic"].size(), 1U);
    EXPECT_EQ(measured["arithmetic"][0]["format"], "float32");
    std::set<std::string> formats;
    for (const auto& peak : measured["arithmetic"]) {
        formats.insert(peak["format"]);
        EXPECT_GT(peak["gflop_per_second"].get<double>(), 0.1) << peak.dump();
    }
    EXPECT_TRUE(formats.contains("int8"));  // which every processor multiplies, if by other means
    EXPECT_GT(measured["memory_read_gb_per_second"].get<double>(), 0.05);
    EXPECT_GT(measured["memory_copy_gb_per_second"].get<double>(), 0.05);
    EXPECT_LT(run.seconds, kSanitized ? 300 : 30);
}

TEST(Machine, OmpNumThreadsIsTheDefaultNumberOfThreads) {
    const Finished run = cait_with("OMP_NUM_THREADS", "1", {"machine", "--json"});
    EXPECT_EQ(nlohmann::json::parse(run.out)["threads"], 1);
    EXPECT_EQ(run.err, "");
}

TEST(Machine, CaitIsaCapsWhatIsUsed) {
    const Finished run = cait_with("CAIT_ISA", "portable", {"machine", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto machine = nlohmann::json::parse(run.out);
    EXPECT_EQ(machine["isa"]["used"], "portable");
    EXPECT_EQ(machine["isa"]["cap"], "portable");
#if defined(__x86_64__)
    EXPECT_EQ(machine["onednn_max_cpu_isa"], "SSE41");
#endif
    for (const auto& set : machine["isa"]["sets"])
        EXPECT_EQ(set["state"] == "capped", set["why_not"] == "CAIT_ISA=portable") << set.dump();
}

TEST(Machine, NonsenseInCaitIsaIsRefusedByEveryCommand) {
    const Words words = {"CAIT_ISA", "'sse9'",
                         "portable, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx"};
    expect_refused(cait_with("CAIT_ISA", "sse9", {"machine"}), 2, words);
    expect_refused(cait_with("CAIT_ISA", "sse9", {"models"}), 2, words);
    EXPECT_EQ(cait_with("CAIT_ISA", "sse9", {"models", "--help"}).status, 0);
}

TEST(Machine, AskingForMoreThanThereIsIsSaidOnceAndGoesOn) {
    const auto machine = nlohmann::json::parse(cait({"machine", "--json"}).out);
    const std::string found = machine["isa"]["found"];
    const Finished run = cait_with("CAIT_ISA", "amx", {"machine", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["isa"]["used"], found);
    EXPECT_EQ(run.err, found == "amx" ? ""
                                      : "cait: CAIT_ISA=amx: this processor has " + found +
                                            " at most; using " + found + "\n");
}

}  // namespace
}  // namespace cait::e2e
