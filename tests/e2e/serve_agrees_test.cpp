// `cait serve` beside the commands on the same file: images prepared as the command line says, and
// attention of the same layer.
#include <cmath>
#include <tuple>

#include "e2e/served.h"
#include "support/colour_model.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using nlohmann::json;

class ServeAgrees : public Served {
protected:
    ServeAgrees() {
        photo_ = data_test::png(test::solid(140, 120, 110));
        data_test::put(folder_ / "a.png", photo_);
    }

    json said(const Words& words) const {
        const Finished run = cait(words + Words{"--json"});
        EXPECT_EQ(run.status, 0) << run.err;
        return json::parse(run.out, nullptr, false)[0];
    }
};

// A file that says nothing about preparation, as other programs write it.
TEST_F(ServeAgrees, ImagesArePreparedAsTheCommandLineSays) {
    std::vector<NamedTensor> tensors;
    const Model model = test::colour_model(9);
    for (const auto& [name, tensor] : model.weights()) tensors.push_back({name, tensor});
    write_safetensors(folder_ / "foreign.safetensors", tensors, {});
    const std::string file = path("foreign.safetensors");
    const Words preset = {"--model", "resmlp_24_224", "--set", "model.image_size=16",
                          "--set",   "model.patch=8", "--set", "model.dim=3",
                          "--set",   "model.depth=1"};
    std::vector<double> first;
    for (const Words& preparation :
         {Words{}, Words{"--preparation", "none"}, Words{"--preparation", "inception"},
          Words{"--mean", "0.2", "--std", "0.1", "--crop-ratio", "0.5"}}) {
        start(Words{file} + preset + preparation);
        const Answer answer = classify();
        ASSERT_EQ(answer.status, 200) << answer.body;
        const json predicted = said(Words{"predict", path("a.png"), "--weights", file} + preset +
                                    preparation)["predictions"];
        first.push_back(answer.json()[0]["score"]);
        EXPECT_EQ(answer.json()[0]["label"], predicted[0]["label"]);
        EXPECT_NEAR(first.back(), double(predicted[0]["score"]), 1e-5);
        const std::string written = read(path("stderr"));
        const char* const assumes = "does not say how images are prepared";
        EXPECT_EQ(written.find(assumes) != std::string::npos, preparation.empty()) << written;
        stop();
    }
    ASSERT_EQ(first.size(), 4U);
    for (std::size_t i = 0; i < first.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_GT(std::abs(first[i] - first[j]), 1e-4) << i << " and " << j;
}

// The rule of Classifier::attention(), whose test is ClassifierTest.LooksWithTheLayerThatTellsMost:
// the last block of a ViT, the first layer of CaiT's class stage.
TEST_F(ServeAgrees, ThePageShowsTheLayerThatAttendDraws) {
    SettingList small = {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                         {"depth", "3"},       {"heads", "2"}, {"classes", "3"}};
    Model::create("deit_tiny_patch16_224", small, 3).save(path("vit.safetensors"));
    small.emplace_back("class_layers", "2");
    Model::create("cait_xxs24_224", small, 3).save(path("cait.safetensors"));
    for (const auto& [name, usual, layers] :
         std::vector<std::tuple<std::string, int, std::size_t>>{{"vit", 2, 3}, {"cait", 0, 2}}) {
        const std::string file = path(name + ".safetensors");
        start({file});
        const json attention = classify("?attention=1").json()["attention"];
        EXPECT_EQ(attention["layers"].size(), layers) << name;
        EXPECT_EQ(attention["usual"], usual) << name;
        const json maps = said({"attend", "--weights", file, path("a.png")})["models"][0]["maps"];
        ASSERT_FALSE(maps.empty());
        EXPECT_EQ(maps[0]["layer"], usual) << name;
        stop();
    }
}

}  // namespace
}  // namespace cait::e2e
