// --set of a key that nothing reads is refused by every command that takes a model, with the
// reason;
// --allow-unused is for scripts.
#include <gmock/gmock.h>

#include "cait/model.h"
#include "e2e/command.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

using Words = std::vector<std::string>;

class UnusedSettings : public InFolder {
protected:
    UnusedSettings() {
        Model model = Model::create("cait_xxs24_224",
                                    {{"image_size", "16"},
                                     {"patch", "8"},
                                     {"dim", "16"},
                                     {"depth", "2"},
                                     {"heads", "2"},
                                     {"class_layers", "1"},
                                     {"classes", "3"}},
                                    1);
        model.set_classes({"a", "b", "c"});
        model.save(path("m.safetensors"));
        for (const char* name : {"a/0.png", "b/0.png", "c/0.png"}) {
            std::filesystem::create_directories(folder_ / "images" /
                                                std::string(name).substr(0, 1));
            data_test::put(folder_ / "images" / name,
                           data_test::png(data_test::numbered_image(1, 20, 20)));
        }
    }
    std::string weights() const { return path("m.safetensors"); }
    std::string photo() const { return path("images/a/0.png"); }

    void expect_unused(Words words, const std::string& setting, const std::string& when) const {
        words.insert(words.end(), {"--set", setting});
        const std::string key = setting.substr(0, setting.find('='));
        expect_refused(cait(words), 2, {key + ": has no effect: it is read only with " + when});
        words.emplace_back("--allow-unused");
        const Finished allowed = cait(words);
        EXPECT_EQ(allowed.status, 0) << words[0] << ": " << allowed.err;
    }
};

TEST_F(UnusedSettings, AreRefusedByEveryCommandThatTakesAModel) {
    const std::string when = "model.class_stage=token";
    for (const Words& words :
         {Words{"predict", "--weights", weights(), photo()},
          Words{"eval", "--weights", weights(), "--data", "folder:" + path("images")},
          Words{"embed", "--weights", weights(), photo(), "--output", path("e.npy")},
          Words{"attend", "--weights", weights(), photo(), "--output", path("a.png")},
          Words{"preprocess", "--weights", weights(), photo(), "--output", path("p.npy")},
          Words{"convert", weights(), path("c.safetensors")}, Words{"inspect", weights()},
          Words{"inspect", "--graph", weights()},
          Words{"bench", weights(), "--batch", "1", "--seconds", "0.1"},
          Words{"models", "cait_xxs24_224"}, Words{"models", "cait_xxs24_224", "--print"}})
        expect_unused(words, "model.class_insert=1", when);
}

TEST_F(UnusedSettings, WhatOnlyTrainingReadsIsRefusedElsewhere) {
    expect_unused({"predict", "--weights", weights(), photo()}, "model.drop_path=0.1",
                  "`cait train`");
    expect_unused({"predict", "--weights", weights(), photo()}, "model.residual_init=0.5",
                  "fresh weights, without --weights");
    // A file keeps it for a training to come; a list of models compares their costs.
    EXPECT_EQ(
        cait({"convert", weights(), path("c.safetensors"), "--set", "model.drop_path=0.1"}).status,
        0);
    EXPECT_EQ(
        cait({"inspect", "--graph", "--train", weights(), "--set", "model.drop_path=0.1"}).status,
        0);
    // Of several models, one that reads it is enough.
    EXPECT_EQ(cait({"models", "cait_xxs24_224", "deit_tiny", "--set", "model.depth=3"}).status, 0);
}

}  // namespace
}  // namespace cait::e2e
