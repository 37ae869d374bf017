#include "cait/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/codec/encode.h"
#include "models/describe.h"
#include "support/temporary_folder.h"
#include "system/file_bytes.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// A fine-tuned model: another size, crop and normalisation than the catalogue's.
Model fine_tuned() {
    Model model = Model::create("cait_xxs24_224", {{"image_size", "24x32"},
                                                   {"patch", "8"},
                                                   {"dim", "16"},
                                                   {"depth", "1"},
                                                   {"heads", "2"},
                                                   {"classes", "3"}});
    model.set_preprocessing({.crop_ratio = 0.7, .crop_mode = "squash", .mean = {0.1F, 0.2F, 0.3F}});
    return model;
}

TEST(PrepareImage, IsTheSameFromAFileAndFromItsBytes) {
    const TemporaryFolder folder;
    const std::vector<std::filesystem::path> files{folder / "a.png", folder / "b.png"};
    write_image(files[0], test::picture(60, 50, 3));
    write_image(files[1], test::picture(33, 44, 3));
    const Model model = fine_tuned();
    const Tensor one = prepare_image(model, files[1]);
    EXPECT_EQ(one.shape(), (Shape{1, 3, 24, 32}));
    const std::vector<std::byte> bytes = read_bytes(files[1]);
    EXPECT_THAT(prepare_image(model, std::span(bytes)).floats(), ElementsAreArray(one.floats()));
    const Tensor both = prepare_images(model, files);
    ASSERT_EQ(both.shape(), (Shape{2, 3, 24, 32}));
    EXPECT_THAT(both.floats().subspan(one.floats().size()), ElementsAreArray(one.floats()));
}

TEST(PrepareImage, NamesAFileThatItCannotRead) {
    try {
        prepare_image(fine_tuned(), "nowhere/x.png");
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("nowhere/x.png"));
    }
}

TEST(PrepareImage, RefusesAModelOfOtherChannels) {
    const TemporaryFolder folder;
    write_image(folder / "a.png", test::picture(60, 50, 3));
    const Model grey = Model::create("cait_xxs24_224", {{"channels", "1"}, {"depth", "1"}});
    EXPECT_THROW(prepare_image(grey, folder / "a.png"), UsageError);
}

TEST(Describe, SaysWhatTheFileSaysWithoutItsWeights) {
    const TemporaryFolder folder;
    const Model model = fine_tuned();
    model.save(folder / "m.safetensors");
    const WeightFile file = open_weights(folder / "m.safetensors");
    const Description found = describe(file, folder / "m.safetensors");
    EXPECT_EQ(found.preprocessing, model.preprocessing());
    EXPECT_EQ(found.spec.settings(), model.settings());
    // Settings of the caller come after the file's.
    EXPECT_EQ(describe(file, "m", "", {{"image_size", "64"}}).spec.settings().at("image_size"),
              "64");
    // Whatever preset reads it, how its images are prepared stays the file's.
    const Description other = describe(file, "m", "vit_base_patch16_224");
    EXPECT_EQ(other.preprocessing, model.preprocessing());
    EXPECT_EQ(other.spec.preset->name, "vit_base_patch16_224");
}

}  // namespace
}  // namespace cait
