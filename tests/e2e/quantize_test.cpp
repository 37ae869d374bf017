// `cait quantize`: a smaller file that answers the same, what it says of itself, and what it
// refuses.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class QuantizeFile : public InFolder {
protected:
    QuantizeFile() {
        data_test::put_class_folders(folder_ / "set", 3, 8);
        Model model = Model::create("cait_xxs24_224", {{"image_size", "32"},
                                                       {"patch", "8"},
                                                       {"dim", "128"},
                                                       {"depth", "16"},
                                                       {"heads", "4"},
                                                       {"class_layers", "1"},
                                                       {"residual_init", "1"},
                                                       {"classes", "3"}});
        model.save(path("model.safetensors"));
    }

    Words words(const Words& more = {}) const {
        return Words{"quantize", path("model.safetensors"), path("int8.safetensors")} + more;
    }
    std::string set() const { return "folder:" + path("set"); }
};

TEST_F(QuantizeFile, IsSmallAndSaysWhatItCosts) {
    const Finished run =
        cait(words({"--calibrate", set(), "--report", path("page.html"), "--json"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_LT(json["share"].get<double>(), 0.30);
    EXPECT_EQ(json["layers"].size(), 32U);
    EXPECT_EQ(json["images"], 24);
    EXPECT_GT(json["logits_db"].get<double>(), 15);
    EXPECT_EQ(json["compared"]["images"], 24);
    EXPECT_GE(json["compared"]["agreement"].get<double>(), 0.75);
    EXPECT_EQ(json["worst"].size(), 5U);
    EXPECT_LT(double(std::filesystem::file_size(path("int8.safetensors"))),
              0.30 * double(std::filesystem::file_size(path("model.safetensors"))));
    EXPECT_THAT(read(path("page.html")),
                AllOf(HasSubstr("<svg"), HasSubstr("blocks.0."), HasSubstr("logits against fp32")));
}

TEST_F(QuantizeFile, RunsWhereverModelsRun) {
    ASSERT_EQ(cait(words()).status, 0);
    const std::string file = path("int8.safetensors");
    EXPECT_THAT(cait({"inspect", file}).out, HasSubstr("64 tensors, a scale for each row"));
    const auto top1 = [&](const std::string& weights, const std::string& precision) {
        const Finished run = cait(
            {"eval", "--weights", weights, "--data", set(), "--precision", precision, "--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return nlohmann::json::parse(run.out)["loss"].get<double>();
    };
    const double before = top1(path("model.safetensors"), "int8");
    EXPECT_NEAR(top1(file, "int8"), before, 0.02);
    EXPECT_NEAR(top1(file, "fp32"), before, 0.05);
    ASSERT_EQ(cait({"convert", file, path("back.safetensors"), "--dtype", "float32"}).status, 0);
    EXPECT_NEAR(top1(path("back.safetensors"), "fp32"), top1(file, "fp32"), 1e-6);
    EXPECT_TRUE(Model::load(path("back.safetensors")).quantized().empty());
    EXPECT_EQ(cait({"bench", file, "--precision", "int8", "--seconds", "0.05"}).status, 0);
}

// Of 25 images one: 4 %.
TEST_F(QuantizeFile, LeavesOutAFewBrokenImagesWhereThatIsAsked) {
    write("set/class1/zz.png", "no image");
    const Finished refused = cait(words({"--calibrate", set()}));
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("zz.png"));
    EXPECT_FALSE(std::filesystem::exists(path("int8.safetensors")));
    const Finished run = cait(words({"--calibrate", set(), "--skip-bad", "--json"}));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["images"], 24);
    EXPECT_EQ(json["compared"]["images"], 24);
    for (const char* name : {"a", "b"}) write("set/class2/" + std::string(name) + ".png", "no");
    EXPECT_EQ(cait(words({"--calibrate", set(), "--skip-bad"})).status, 1);
}

TEST_F(QuantizeFile, RefusesWhatMakesNoSense) {
    const auto expect_usage = [&](const Words& more, const std::string& text) {
        const Finished run = cait(words(more));
        EXPECT_EQ(run.status, 2) << run.out;
        EXPECT_THAT(run.err, HasSubstr(text));
    };
    expect_usage({"--smooth", "0.5"}, "--smooth: expected --calibrate DATA");
    expect_usage({"--calibrate", set(), "--smooth", "2"}, "a number from 0 to 1, found '2'");
    expect_usage({"--set", "quantize.keep=none.*"}, "matches none");
    std::filesystem::create_directories(folder_ / "bad" / "a");
    write("bad/a/broken.jpg", "no image");
    const Finished broken = cait(words({"--calibrate", "folder:" + path("bad")}));
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, HasSubstr("broken.jpg"));
    ASSERT_EQ(cait(words()).status, 0);
    const Finished twice = cait({"quantize", path("int8.safetensors"), path("again.safetensors")});
    EXPECT_EQ(twice.status, 1);
    EXPECT_THAT(twice.err, HasSubstr("expected float weights"));
}

}  // namespace
}  // namespace cait::e2e
