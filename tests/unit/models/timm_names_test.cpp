// Files under timm's names of families whose names differ most from the official ones: they load,
// give timm's logits, and are written again with the same names, shapes and numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cait/model.h"
#include "cait/session.h"
#include "models/alias_weights.h"
#include "support/near.h"
#include "support/source_path.h"
#include "weights/npy.h"
#include "weights/weight_file.h"

namespace cait {
namespace {

struct TimmFile {
    std::string name;  // e2e/data/tiny_NAME_timm.safetensors
    std::string model;
    std::size_t tensors;
    std::string one;  // of its names that only timm has
    SettingList more{};
};

class TimmNames : public testing::TestWithParam<TimmFile> {
protected:
    static std::filesystem::path data(const std::string& name) {
        return test::source_path(__FILE__).parent_path() / "../../e2e/data" / name;
    }

    const std::filesystem::path file_ = data("tiny_" + GetParam().name + "_timm.safetensors");

    Model load() const {
        SettingList settings = GetParam().more;
        for (const auto& [key, value] : {std::pair{"image_size", "16"},
                                         {"patch", "8"},
                                         {"dim", "16"},
                                         {"depth", "2"},
                                         {"classes", "3"}})
            settings.emplace_back(key, value);
        return Model::load(file_, GetParam().model, settings);
    }
};

TEST_P(TimmNames, LoadAndGiveTimmsLogits) {
    const Model model = load();
    EXPECT_THAT(model.notes(), testing::IsEmpty());
    test::expect_close(Session(model).run(read_npy(data("images.npy"))).at("logits"),
                       read_npy(data("tiny_" + GetParam().name + "_logits.npy")), 1e-5, "logits");
}

TEST_P(TimmNames, AreWrittenAsTimmReadsThem) {
    const Model model = load();
    std::map<std::string, Tensor> written;
    for (const NamedTensor& entry : alias_weights(model)) written[entry.name] = entry.tensor;
    const WeightFile theirs = open_weights(file_);
    EXPECT_EQ(theirs.tensors.size(), GetParam().tensors);
    EXPECT_EQ(written.size(), theirs.tensors.size());
    EXPECT_TRUE(written.contains(GetParam().one));
    EXPECT_FALSE(model.weights().contains(GetParam().one));
    for (const NamedTensor& entry : theirs.tensors) {
        ASSERT_TRUE(written.contains(entry.name)) << entry.name;
        EXPECT_EQ(written.at(entry.name).shape(), entry.tensor.shape()) << entry.name;
        EXPECT_TRUE(std::ranges::equal(written.at(entry.name).floats(), entry.tensor.floats()))
            << entry.name;
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, TimmNames,
    testing::Values(
        TimmFile{"deit3", "deit3_small_patch16_224", 36, "blocks.0.ls1.gamma", {{"heads", "2"}}},
        TimmFile{"deit3_parallel",
                 "deit3_small_patch16_18x2",
                 64,
                 "blocks.0.attns.1.attn.qkv.weight",
                 {{"heads", "2"}}},
        TimmFile{"resmlp", "resmlp_12_224", 30, "blocks.1.linear_tokens.weight"}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace cait
