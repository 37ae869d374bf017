#include "train/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "train/recipe/recipe_file.h"
#include "train/run/run_folder.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::HasSubstr;

class RunStateFile : public testing::Test {
protected:
    RunStateFile()
        : folder_(std::filesystem::path(testing::TempDir()) /
                  (std::string("run_state_") +
                   testing::UnitTest::GetInstance()->current_test_info()->name())) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    ~RunStateFile() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
};

TEST_F(RunStateFile, ComesBackBitForBit) {
    RunState state;
    state.step = 123456789012;
    state.position = {3, 17};
    state.totals.loss = 0.1 + 0.2;  // has no short decimal form
    state.totals.images = 42;
    state.best = {0.87, 2, true};
    state.skipped = 1;
    state.preprocessing.mean = {0.1F, 0.2F, 1.0F / 3};
    state.classes = {"cat", "dog"};
    state.clusters = {3, 0, 1'000'000'000'000};
    state.text = TextFacts{"en", "de", "words", std::string("a 1\nb\0c 2\n", 10)};
    state.kept = {3, 2};
    state.tensors.emplace("weights.w", Tensor::of({2}, std::vector<float>{1.5F, -0.0F}));
    const std::filesystem::path file = folder_ / "state.safetensors";
    save_state(file, state);
    const RunState again = load_state(file);
    EXPECT_EQ(again.step, state.step);
    EXPECT_EQ(again.position, state.position);
    EXPECT_EQ(again.totals.loss, state.totals.loss);
    EXPECT_EQ(again.totals.images, state.totals.images);
    EXPECT_EQ(again.best.value, state.best.value);
    EXPECT_EQ(again.preprocessing, state.preprocessing);
    EXPECT_EQ(again.classes, state.classes);
    EXPECT_EQ(again.clusters, state.clusters);
    EXPECT_EQ(again.text, state.text);
    EXPECT_EQ(again.kept, state.kept);
    EXPECT_EQ(again.tensors.size(), 1U);
    EXPECT_TRUE(std::signbit(again.tensors.at("weights.w").floats()[1]));
}

TEST_F(RunStateFile, APositionBeyondTheRunIsRefused) {
    RunState state;
    state.position = {3, 17};
    state.best = {0.5, 3, true};
    EXPECT_NO_THROW(check_position(state, 3, 17, "state"));
    EXPECT_THROW(check_position(state, 2, 17, "state"), Error);
    EXPECT_THROW(check_position(state, 3, 16, "state"), Error);
    state.best.epoch = 4;
    EXPECT_THROW(check_position(state, 3, 17, "state"), Error);
}

TEST_F(RunStateFile, AnotherFileIsRefused) {
    const std::filesystem::path file = folder_ / "model.safetensors";
    write_safetensors(file, {}, {{"format", "pt"}});
    try {
        load_state(file);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("model.safetensors"));
        EXPECT_THAT(error.what(), HasSubstr("not the state of a run"));
    }
}

TEST_F(RunStateFile, AFolderHasOneRunAndOneTrainer) {
    const Recipe recipe;
    {
        const RunFolder first = RunFolder::create(folder_ / "run", recipe);
        EXPECT_THROW(RunFolder::open(folder_ / "run"), Error);  // somebody is training there
        save_state(first.state(), {});
    }
    EXPECT_THROW(RunFolder::create(folder_ / "run", recipe), UsageError);
    EXPECT_NO_THROW(RunFolder::open(folder_ / "run"));
    EXPECT_EQ(read_recipe(folder_ / "run" / "recipe.toml"), recipe);
    EXPECT_THROW(RunFolder::open(folder_ / "none"), Error);
}

TEST_F(RunStateFile, ALinkAmongTheFilesOfARunIsRefused) {
    const Recipe recipe;
    (void)RunFolder::create(folder_ / "run", recipe);
    std::filesystem::create_directory_symlink("run", folder_ / "way");
    EXPECT_EQ(read_recipe(RunFiles(Folder::open(folder_ / "way")).recipe()), recipe);
    std::filesystem::create_symlink("../precious", folder_ / "run/notes");  // not the run's
    EXPECT_NO_THROW(RunFolder::open(folder_ / "run"));
    std::filesystem::create_symlink("../precious", folder_ / "run/epoch-0001.safetensors");
    try {
        RunFolder::open(folder_ / "run");
        ADD_FAILURE();
    } catch (const LinkRefused& error) {
        EXPECT_THAT(error.what(), HasSubstr("epoch-0001.safetensors: expected a regular file"));
    }
    EXPECT_THROW(RunFolder::create(folder_ / "run", recipe), LinkRefused);
}

}  // namespace
}  // namespace cait
