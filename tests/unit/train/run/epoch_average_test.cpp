#include "train/run/epoch_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "train/recipe/recipe.h"

namespace cait {
namespace {

using testing::HasSubstr;

TorchTensors weights_of(std::uint64_t epoch) {
    torch::manual_seed(epoch);
    return {{"a.weight", at::randn({3, 5})},
            {"b.running_mean", at::randn({4})},
            {"b.steps", at::full({}, std::int64_t(epoch), at::kLong)}};
}

TEST(KeptEpochs, TheMeanIsOfTheLastOnesThatWereKept) {
    KeptEpochs kept;
    EXPECT_EQ(kept.add(1, 3).text(), "epoch 1");
    EXPECT_EQ(kept.add(2, 3).text(), "epochs 1 to 2");
    EXPECT_EQ(kept.add(3, 3).text(), "epochs 1 to 3");
    EXPECT_EQ(kept.add(4, 3).text(), "epochs 2 to 4");
    // Another window begins anew: its files have other places.
    EXPECT_EQ(kept.add(5, 2).text(), "epoch 5");
    EXPECT_EQ(kept.add(6, 2).text(), "epochs 5 to 6");
    EXPECT_EQ(kept.add(7, 2).text(), "epochs 6 to 7");
    EXPECT_EQ(kept, (KeptEpochs{2, 5}));
    // A state that somebody has made up.
    KeptEpochs later{3, 100};
    EXPECT_EQ(later.add(4, 3).text(), "epoch 4");
    // Switched on in the middle of a run.
    KeptEpochs late;
    EXPECT_EQ(late.add(9, 4).text(), "epoch 9");
    EXPECT_EQ(late.add(10, 4).text(), "epochs 9 to 10");
}

class EpochFiles : public testing::Test {
protected:
    EpochFiles() : run_(RunFolder::create(folder_ / "run", Recipe())), average_(run_, 3) {
        for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) average_.keep(epoch, weights_of(epoch));
    }

    std::string refusal(const EpochRange& epochs) const {
        try {
            average_.mean(epochs);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    TemporaryFolder folder_;
    RunFolder run_;
    EpochAverage average_;
};

TEST_F(EpochFiles, TheMeanIsThatOfTheEpochs) {
    const TorchTensors mean = average_.mean({2, 4});
    ASSERT_EQ(mean.size(), 3U);
    for (const char* name : {"a.weight", "b.running_mean"}) {
        at::Tensor sum = at::zeros_like(mean.at(name), at::kDouble);
        for (const std::uint64_t epoch : {2, 3, 4}) sum = sum + weights_of(epoch).at(name);
        EXPECT_TRUE(at::equal(mean.at(name), (sum / 3).to(at::kFloat))) << name;
    }
    EXPECT_EQ(mean.at("b.steps").item<std::int64_t>(), 4);
    EXPECT_TRUE(at::equal(average_.mean({4, 4}).at("a.weight"), weights_of(4).at("a.weight")));
}

// An epoch that is trained again after a kill writes over the oldest alone, which no mean needs.
TEST_F(EpochFiles, AnEpochThatComesAgainChangesNothing) {
    const at::Tensor before = average_.mean({2, 4}).at("a.weight");
    average_.keep(4, weights_of(4));
    EXPECT_TRUE(at::equal(average_.mean({2, 4}).at("a.weight"), before));
}

TEST_F(EpochFiles, WhatIsNotThereOrOfAnotherEpochIsNamed) {
    EXPECT_THAT(refusal({1, 3}),
                HasSubstr("averaged-1.safetensors: expected the weights of epoch 1, "
                          "found those of 4"));
    const std::filesystem::path file = folder_ / "run" / "averaged-2.safetensors";
    const auto size = std::filesystem::file_size(file);
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekp(std::streamoff(size - 1));
        bytes.put('\x55');
    }
    EXPECT_THAT(refusal({2, 4}), HasSubstr("averaged-2.safetensors"));
    std::filesystem::remove(file);
    EXPECT_THAT(refusal({2, 4}),
                HasSubstr("averaged-2.safetensors: expected the weights of epoch 2, which "
                          "save.average needs, found none"));
}

}  // namespace
}  // namespace cait
