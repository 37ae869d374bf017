// cait/evaluate.h and cait/embed.h as a program that links the library uses them.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "cait/embed.h"
#include "cait/evaluate.h"
#include "unit/data/support.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class EvaluateModel : public testing::Test {
protected:
    EvaluateModel() {
        data_test::put_class_folders(folder_ / "set", 3, 4);
        model_.set_classes({"class2", "class0", "class1"});
    }
    ~EvaluateModel() override { fs::remove_all(folder_); }

    std::string data() const { return "folder:" + (folder_ / "set").string(); }

    const fs::path folder_ = fs::path(testing::TempDir()) / "evaluate_model_test";
    Model model_ = Model::create("cait_xxs24_224", {{"image_size", "16"},
                                                    {"patch", "8"},
                                                    {"dim", "16"},
                                                    {"depth", "1"},
                                                    {"heads", "2"},
                                                    {"classes", "3"}});
};

TEST_F(EvaluateModel, GivesNamedNumbersOfAllImages) {
    std::size_t last = 0;
    EvaluationOptions options;
    options.progress = [&](std::size_t done, std::size_t images) {
        EXPECT_EQ(images, 12U);
        last = done;
    };
    const ModelEvaluation found = evaluate(model_, data(), options);
    EXPECT_EQ(found.images, 12U);
    EXPECT_EQ(last, 12U);
    EXPECT_EQ(found["top5"], 1);  // three classes
    EXPECT_GT(found["loss"], 0);
    EXPECT_NEAR(found["top1"] * 12, std::round(found["top1"] * 12), 1e-9);
    EXPECT_THROW(found["bleu"], UsageError);
}

TEST_F(EvaluateModel, OfTwoHeadsEachIsToldAlone) {
    Model model = Model::create("deit_tiny_distilled_patch16_224", {{"image_size", "16"},
                                                                    {"patch", "8"},
                                                                    {"dim", "16"},
                                                                    {"depth", "1"},
                                                                    {"heads", "2"},
                                                                    {"classes", "3"}});
    model.set_classes({"class2", "class0", "class1"});
    const ModelEvaluation found = evaluate(model, data());
    EXPECT_GE(found["top1.class"], 0);
    EXPECT_GE(found["top1.distillation"], 0);
}

TEST_F(EvaluateModel, UnreadableImagesAreRefusedOrListed) {
    data_test::put_class_folders(folder_ / "set", 3, 20);
    data_test::put(folder_ / "set/class0/broken.png", "no image");
    EXPECT_THROW(evaluate(model_, data()), Error);
    const ModelEvaluation found = evaluate(model_, data(), {.skip_bad = true});
    EXPECT_EQ(found.images, 60U);
    EXPECT_THAT(found.left_out, ElementsAre(HasSubstr("broken.png")));
}

TEST_F(EvaluateModel, VectorsOfFilesAreThoseOfTheDataSet) {
    const ImageVectors all = embed_data(model_, data());
    ASSERT_EQ(all.rows(), 12U);
    EXPECT_EQ(all.columns, 16U);
    const ImageVectors two = embed_files(model_, {all.names[7], all.names[2]});
    EXPECT_THAT(two.names, ElementsAre(all.names[7], all.names[2]));
    EXPECT_THAT(two.row(0), testing::Pointwise(testing::FloatEq(), all.row(7)));
    EXPECT_THAT(two.row(1), testing::Pointwise(testing::FloatEq(), all.row(2)));
    const ImageVectors unit = embed_files(model_, {all.names[7]}, {.normalise = true});
    double length = 0;
    for (const float value : unit.row(0)) length += double(value) * double(value);
    EXPECT_NEAR(length, 1, 1e-6);
    EXPECT_THROW(embed_data(model_, data(), {.tap = "middle"}), UsageError);
}

}  // namespace
}  // namespace cait
