#include "models/own_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_models.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file of this preset as Model::save() would write it.
struct Saved {
    WeightFile file;
    FileFacts facts;

    explicit Saved(const test::SmallPreset& preset) {
        const Model model = Model::create(preset.name, preset.settings);
        for (const auto& [name, tensor] : model.weights()) file.tensors.push_back({name, tensor});
        const auto settings = model.settings();
        facts.model = preset.name;
        facts.settings.assign(settings.begin(), settings.end());
    }

    void set(const std::string& key, const std::string& value) {
        facts.settings.emplace_back(key, value);
    }
};

std::vector<test::SmallPreset> one_of_each_family() {
    std::vector<test::SmallPreset> result;
    for (test::SmallPreset& preset : test::small_presets())
        if (result.empty() || result.back().family != preset.family)
            result.push_back(std::move(preset));
    result.push_back(test::small_translators().front());
    return result;
}

TEST(OwnSettings, OfEveryFamilyFitItsTensors) {
    std::vector<test::SmallPreset> all = test::small_presets();
    for (test::SmallPreset& preset : test::small_translators()) all.push_back(std::move(preset));
    for (const test::SmallPreset& preset : all) {
        const Saved saved(preset);
        EXPECT_EQ(own_model(saved.file, saved.facts, "x").settings(),
                  configure(preset.name, preset.settings).settings())
            << preset.name;
    }
}

// Whatever a file claims, what is recorded for it stays in proportion to its tensors.
TEST(OwnSettings, NoNumberOfAnyFamilyBuildsALargeGraph) {
    for (const test::SmallPreset& preset : one_of_each_family()) {
        const ModelSpec small = configure(preset.name, preset.settings);
        const std::size_t nodes = record(small).nodes.size();
        for (const auto& [key, value] : small.settings()) {
            if (value.find_first_not_of("0123456789,") != std::string::npos) continue;
            const bool list = value.find(',') != std::string::npos;
            for (const char* number : {"1000000", "20000"}) {
                Saved saved(preset);
                const std::string many = number;
                saved.set(key, list ? many + ",1,1,1" : many);
                try {
                    const ModelSpec spec = own_model(saved.file, saved.facts, "x.safetensors");
                    EXPECT_LT(record(spec).nodes.size(), 2 * nodes) << preset.name << " " << key;
                } catch (const Error& error) {
                    EXPECT_EQ(error.kind(), ErrorKind::data);
                    EXPECT_THAT(error.what(), HasSubstr("x.safetensors: metadata"));
                }
            }
        }
    }
}

TEST(OwnSettings, NamesTheSettingThatCannotBeTrue) {
    const auto complaint = [](const std::string& key, const std::string& value) {
        Saved saved(one_of_each_family().front());
        saved.set(key, value);
        try {
            own_model(saved.file, saved.facts, "x.safetensors");
            return std::string();
        } catch (const Error& error) {
            return std::string(error.what());
        }
    };
    EXPECT_THAT(complaint("depth", "1000000"),
                AllOf(HasSubstr("x.safetensors"), HasSubstr("depth: expected at most")));
    EXPECT_THAT(complaint("classes", "6"), HasSubstr("classes: head.weight does not fit"));
    EXPECT_THAT(complaint("image_size", "32"), HasSubstr("image_size: pos_embed does not fit"));
    EXPECT_THAT(complaint("image_size", "16384"), HasSubstr("image_size: expected at most"));
    EXPECT_THAT(complaint("nonsense", "1"), HasSubstr("unknown key model.nonsense"));
}

}  // namespace
}  // namespace cait
