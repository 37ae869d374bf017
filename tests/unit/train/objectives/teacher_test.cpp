#include "train/objectives/teacher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "train/torch/convert.h"
#include "train/torch/executor.h"

namespace cait {
namespace {

using testing::HasSubstr;

const SettingList kSmall{{"image_size", "32"}, {"patch", "8"}, {"dim", "32"},
                         {"depth", "1"},       {"heads", "2"}, {"classes", "5"}};

class Teachers : public testing::Test {
protected:
    Teachers() : model_(Model::create("deit_tiny_patch16_224", kSmall, 3)) {
        file_ = (folder_.path() / "teacher.safetensors").string();
        model_.save(file_);
        part_.kind = Distillation::soft;
        part_.teacher = file_;
    }

    static ModelSpec student(const std::string& classes = "5", const std::string& channels = "3",
                             const std::string& size = "32") {
        return configure("cait_xxs24_224",
                         {{"classes", classes}, {"channels", channels}, {"image_size", size}});
    }

    // What the model says without any teacher.
    at::Tensor direct(const at::Tensor& images) const {
        return to_torch(forward(model_, from_torch(images)).at("logits")).clone();
    }

    TorchTensors torch_weights() const {
        TorchTensors weights;
        for (const auto& [name, tensor] : model_.weights()) weights[name] = to_torch(tensor);
        return weights;
    }

    TemporaryFolder folder_;
    Model model_;
    std::string file_;
    DistillPart part_;
};

template <class Function>
std::string teacher_refusal(const Function& function) {
    try {
        function();
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST_F(Teachers, SayWhatTheModelFileSays) {
    torch::manual_seed(1);
    const at::Tensor images = at::randn({3, 3, 32, 32}).requires_grad_();
    Teacher teacher(part_, student());
    const at::Tensor logits = teacher.logits(images);
    EXPECT_FALSE(logits.requires_grad());
    EXPECT_TRUE(at::allclose(logits, direct(images.detach()), 1e-6, 1e-6));
    EXPECT_EQ(teacher.name(), "deit_tiny_patch16_224");
    EXPECT_TRUE(teacher.notes().empty());
}

// "We use a teacher with the same target resolution" (thesis, section 3.3).
TEST_F(Teachers, AreRunAtTheStudentsResolution) {
    torch::manual_seed(2);
    const at::Tensor images = at::randn({2, 3, 48, 48});
    Teacher teacher(part_, student("5", "3", "48"));
    const Model larger = Model::load(file_, {}, {{"image_size", "48"}});
    EXPECT_TRUE(at::allclose(teacher.logits(images),
                             to_torch(forward(larger, from_torch(images)).at("logits")), 1e-5,
                             1e-6));
    ASSERT_EQ(teacher.notes().size(), 1U);
    EXPECT_THAT(teacher.notes()[0],
                HasSubstr("the teacher deit_tiny_patch16_224 is run at the student's 48 pixels, "
                          "not at 32; "));
    EXPECT_THAT(teacher.notes()[0], HasSubstr("pos_embed"));

    part_.size = "teacher";
    Teacher own(part_, student("5", "3", "48"));
    EXPECT_TRUE(at::allclose(own.logits(images),
                             direct(at::_upsample_bicubic2d_aa(images, {32, 32}, false)), 1e-5,
                             1e-6));
    EXPECT_THAT(own.notes().at(0), HasSubstr("sees images of 32 pixels, resized from 48"));
}

// It knows its classes at its own size; enlarging loses nothing.
TEST_F(Teachers, OfLargerImagesSeeThemEnlargedUnlessToldOtherwise) {
    torch::manual_seed(2);
    const at::Tensor images = at::randn({2, 3, 16, 16});
    Teacher teacher(part_, student("5", "3", "16"));
    EXPECT_TRUE(at::allclose(teacher.logits(images),
                             direct(at::upsample_bicubic2d(images, {32, 32}, false)), 1e-5, 1e-6));
    EXPECT_THAT(teacher.notes().at(0),
                HasSubstr("sees images of 32 pixels, resized from 16: distill.size larger"));
    part_.size = "student";
    const Model smaller = Model::load(file_, {}, {{"image_size", "16"}});
    EXPECT_TRUE(at::allclose(Teacher(part_, student("5", "3", "16")).logits(images),
                             to_torch(forward(smaller, from_torch(images)).at("logits")), 1e-5,
                             1e-6));
}

TEST_F(Teachers, ThatDoNotFitTheStudentsResolutionKeepTheirs) {
    torch::manual_seed(2);
    const at::Tensor images = at::randn({2, 3, 36, 36});
    const ModelSpec pupil = configure("resnet18", {{"classes", "5"}, {"image_size", "36"}});
    Teacher teacher(part_, pupil);
    EXPECT_TRUE(at::allclose(teacher.logits(images),
                             direct(at::_upsample_bicubic2d_aa(images, {32, 32}, false)), 1e-5,
                             1e-6));
    EXPECT_THAT(teacher.notes().at(0), HasSubstr("resized from 36: the image size must be a "
                                                 "multiple of the patch size"));
}

TEST_F(Teachers, ResizeAndNormaliseWhatWasMadeForTheStudent) {
    torch::manual_seed(2);
    const at::Tensor larger = at::randn({2, 3, 48, 48}), smaller = at::randn({2, 3, 24, 24});
    Teacher teacher(part_, student());
    EXPECT_TRUE(at::allclose(teacher.logits(smaller),
                             direct(at::upsample_bicubic2d(smaller, {32, 32}, false)), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(teacher.logits(larger),
                             direct(at::_upsample_bicubic2d_aa(larger, {32, 32}, false)), 1e-5,
                             1e-6));

    Preprocessing half;
    half.mean.fill(0.5F);
    half.std.fill(0.5F);
    Teacher other(part_, student(), Precision::fp32, at::kCPU, half);
    const at::Tensor pixels = at::rand({2, 3, 32, 32});
    const Preprocessing wanted;
    at::Tensor expected = pixels.clone();
    for (std::int64_t c = 0; c < 3; ++c)
        expected.select(1, c)
            .sub_(double(wanted.mean[std::size_t(c)]))
            .div_(double(wanted.std[std::size_t(c)]));
    EXPECT_TRUE(at::allclose(other.logits((pixels - 0.5) / 0.5), direct(expected), 1e-4, 1e-5));
}

TEST_F(Teachers, RememberSamplesWhenTold) {
    part_.cache = true;
    Teacher teacher(part_, student());
    torch::manual_seed(3);
    const at::Tensor images = at::randn({3, 3, 32, 32});
    std::vector<SampleKey> keys(3);
    keys[0].sample = 7;
    keys[1].sample = 2;
    keys[2].sample = 9;
    const at::Tensor first = teacher.logits(images, keys);
    EXPECT_TRUE(at::allclose(first, direct(images), 1e-6, 1e-6));
    EXPECT_EQ(teacher.cached(), 3U);
    // Other pixels under known names: the answer is the old one. Under a new name it is not.
    keys[1].sample = 4;
    const at::Tensor second = teacher.logits(at::randn({3, 3, 32, 32}), keys);
    EXPECT_TRUE(at::equal(first[0], second[0]));
    EXPECT_FALSE(at::equal(first[1], second[1]));
    EXPECT_TRUE(at::equal(first[2], second[2]));
    EXPECT_EQ(teacher.cached(), 4U);
    EXPECT_THAT(teacher_refusal([&] { teacher.logits(images, std::span(keys).first(2)); }),
                HasSubstr("a sample for each of 3 images, found 2"));
}

class TokenTeachers : public Teachers {
protected:
    Teacher token_teacher(const std::string& preset, const SettingList& settings) {
        part_.kind = Distillation::tokens;
        model_ = Model::create(preset, settings, 3);
        model_.save(file_);
        return Teacher(part_, student("5", "3", "64"));
    }
};

TEST_F(TokenTeachers, LabelEveryPlaceByTheHeadOfAConvnet) {
    torch::manual_seed(4);
    for (const auto& [preset, head] : {std::pair("resnet18", "fc"), {"regnety_040", "head.fc"}}) {
        SettingList settings{{"image_size", "64"}, {"classes", "5"}};
        if (preset == std::string("resnet18"))
            settings.emplace_back("width", "8");
        else
            settings.insert(settings.end(),
                            {{"widths", "8,8,16,16"}, {"depths", "1,1,1,1"}, {"group", "8"}});
        Teacher teacher = token_teacher(preset, settings);
        const at::Tensor images = at::randn({2, 3, 64, 64});
        const auto [found, whole] = teacher.token_labels(images, {2, 2});
        const TorchTensors outputs =
            TorchExecutor(record(model_.spec(), {.taps = {"tokens"}})).run(images, torch_weights());
        const TorchTensors weights = torch_weights();
        const at::Tensor logits =
            at::linear(outputs.at("tokens"), weights.at(fmt::format("{}.weight", head)),
                       weights.at(fmt::format("{}.bias", head)));
        const at::Tensor expected = at::softmax(logits, -1);
        // What a convnet says of the whole image is what its places say on average.
        EXPECT_TRUE(at::allclose(whole, at::softmax(direct(images), -1), 1e-5, 1e-6)) << preset;
        ASSERT_EQ(expected.size(1), 4) << preset;
        EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6)) << preset;
        // A finer grid lies between the same values, and stays a distribution.
        const at::Tensor finer = teacher.token_labels(images, {4, 4}).tokens;
        EXPECT_EQ(finer.size(1), 16);
        EXPECT_TRUE(at::allclose(finer.select(1, 0), expected.select(1, 0), 1e-5, 1e-6));
        EXPECT_TRUE(at::allclose(finer.sum(-1), at::ones({2, 16}), 1e-5, 1e-5));
    }
}

TEST_F(TokenTeachers, LabelEveryPlaceByTheTokenHeadOfVolo) {
    Teacher teacher = token_teacher("volo_d1_224", {{"image_size", "64"},
                                                    {"classes", "5"},
                                                    {"dims", "24,48,48,48"},
                                                    {"heads", "2,4,4,4"},
                                                    {"layers", "1,1,1,1"}});
    const at::Tensor images = at::randn({2, 3, 64, 64});
    const at::Tensor found = teacher.token_labels(images, {4, 4}).tokens;
    const at::Tensor expected =
        at::softmax(TorchExecutor(record(model_.spec(), {.taps = {"logits_aux"}}))
                        .run(images, torch_weights())
                        .at("logits_aux"),
                    -1);
    EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6));
}

TEST_F(TokenTeachers, MustBeAbleTo) {
    EXPECT_THAT(teacher_refusal([&] { token_teacher("deit_tiny_patch16_224", kSmall); }),
                HasSubstr("deit_tiny_patch16_224: expected a model that labels every token: "
                          "unknown tap 'token_logits'"));
    EXPECT_THAT(teacher_refusal([&] {
                    token_teacher("resnet18", {{"classes", "5"}, {"pool", "attention"}});
                }),
                HasSubstr("resnet18: expected a model that labels every token"));
}

TEST_F(Teachers, MustHaveTheStudentsClassesAndChannels) {
    EXPECT_THAT(teacher_refusal([&] { Teacher(part_, student("7")); }),
                HasSubstr("distill.teacher deit_tiny_patch16_224: expected 7 classes as in the "
                          "student cait_xxs24_224, found 5"));
    EXPECT_THAT(teacher_refusal([&] { Teacher(part_, student("5", "1")); }),
                HasSubstr("expected 1 channels as in the student cait_xxs24_224, found 3"));
    // By name and weights: a head that loading would have rebuilt is no teacher.
    part_.teacher = "deit_tiny_patch16_224";
    part_.weights = file_;
    EXPECT_NO_THROW(Teacher(part_, student()));
    EXPECT_THAT(teacher_refusal([&] { Teacher(part_, student("7")); }),
                HasSubstr("expected a head for 7 classes"));
}

TEST_F(Teachers, ThatCannotBeFoundAreNamed) {
    part_.teacher = "regnety_160";
    EXPECT_THAT(teacher_refusal([&] { Teacher(part_, student()); }),
                HasSubstr("distill.teacher 'regnety_160': expected a model file, or a name"));
    part_.teacher = "";
    EXPECT_THAT(teacher_refusal([&] { Teacher(part_, student()); }),
                HasSubstr("distill.teacher: expected"));
}

TEST_F(Teachers, AnswerInTheStudentsOrderOfClasses) {
    model_.set_classes({"a", "b", "c", "d", "e"});
    model_.save(file_);
    torch::manual_seed(4);
    const at::Tensor images = at::randn({2, 3, 32, 32});
    Teacher teacher(part_, student("3"), Precision::fp32, at::kCPU, {}, {"e", "a", "c"});
    EXPECT_TRUE(at::allclose(teacher.logits(images),
                             direct(images).index_select(1, at::tensor({4, 0, 2}, at::kLong)), 1e-6,
                             1e-6));
    EXPECT_THAT(teacher.notes().at(0), HasSubstr("matched by name"));
    EXPECT_THAT(teacher_refusal([&] {
                    Teacher(part_, student("3"), Precision::fp32, at::kCPU, {}, {"a", "x", "y"});
                }),
                HasSubstr("2 of 3 are not among the teacher's 5: x, y"));
}

}  // namespace
}  // namespace cait
