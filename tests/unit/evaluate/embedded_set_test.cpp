// Vectors with names and labels in a file, and files that are not of this kind.
#include "evaluate/embedded_set.h"

#include <gmock/gmock.h>

#include "evaluate/fingerprint.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EmbeddedSet three_images() {
    EmbeddedSet set;
    set.vectors = {3, 2, {1, 2, 3, 4, 5, 6}};
    set.names = {"a.jpg", "b, \"c\".png", "d"};
    set.indices = {0, 2, 5};
    set.data = "folder:photos";
    set.part = "train";
    set.levels = {{"coarse", {{"plant"}, false}, {0, 0, 0}},
                  {"fine", {{"rose", "tulip"}, false}, {1, 0, 1}}};
    set.maker = {"cait_s24_224", "0123", "features", true};
    return set;
}

TEST(EmbeddedSet, ComesBackFromItsFile) {
    const TemporaryFolder folder;
    const EmbeddedSet set = three_images();
    write_embedded_set(folder / "x.safetensors", set);
    const EmbeddedSet back = read_embedded_set(folder / "x.safetensors", true);
    EXPECT_EQ(back.vectors.rows, 3U);
    EXPECT_EQ(back.vectors.columns, 2U);
    EXPECT_EQ(back.vectors.values, set.vectors.values);
    EXPECT_EQ(back.names, set.names);
    EXPECT_EQ(back.indices, set.indices);
    EXPECT_EQ(back.data, "folder:photos");
    EXPECT_EQ(back.part, "train");
    EXPECT_EQ(back.maker, set.maker);
    ASSERT_EQ(back.levels.size(), 2U);
    EXPECT_EQ(back.levels[1].name, "fine");
    EXPECT_THAT(back.levels[1].labels, ElementsAre(1, 0, 1));
    EXPECT_THAT(back.levels[1].classes.names, ElementsAre("rose", "tulip"));
}

TEST(EmbeddedSet, TheFileBesideAnIndexHasNoVectors) {
    const TemporaryFolder folder;
    EmbeddedSet set = three_images();
    set.vectors.values.clear();
    write_embedded_set(folder / "x", set);
    EXPECT_EQ(read_embedded_set(folder / "x", false).vectors.columns, 2U);
    EXPECT_THAT(data_test::error_of([&] { read_embedded_set(folder / "x", true); }),
                HasSubstr("features is missing"));
}

TEST(EmbeddedSet, SaysWhatIsWrongWithAFile) {
    const TemporaryFolder folder;
    const auto message = [&](const std::function<void(EmbeddedSet&)>& change) {
        EmbeddedSet set = three_images();
        change(set);
        write_embedded_set(folder / "x", set);
        return data_test::error_of([&] { read_embedded_set(folder / "x", true); });
    };
    EXPECT_THAT(message([](EmbeddedSet& set) { set.names.pop_back(); }),
                HasSubstr("names: expected 3 lines, found 2"));
    EXPECT_THAT(message([](EmbeddedSet& set) { set.levels[1].labels[0] = 2; }),
                HasSubstr("labels.fine: expected 0 to 1, found 2"));
    EXPECT_THAT(message([](EmbeddedSet& set) { set.levels[0].labels.pop_back(); }),
                HasSubstr("labels.coarse: expected int64 [3], found int64 [2]"));
    EXPECT_THAT(message([](EmbeddedSet& set) {
                    set.vectors.columns = 3;
                    set.vectors.rows = 2;
                }),
                HasSubstr("names: expected 2 lines"));
    write_safetensors(folder / "x", {}, {});
    EXPECT_THAT(data_test::error_of([&] { read_embedded_set(folder / "x", true); }),
                HasSubstr("expected vectors of images as `cait embed` writes them"));
    write_safetensors(folder / "x", {}, {{"cait.embedding", "{\"model\": 3}"}});
    EXPECT_THAT(data_test::error_of([&] { read_embedded_set(folder / "x", true); }),
                HasSubstr("is not what `cait embed` writes"));
    EmbeddedSet set = three_images();
    set.names[0] = "two\nlines";
    EXPECT_THAT(data_test::error_of([&] { write_embedded_set(folder / "x", set); }),
                HasSubstr("holds a line end"));
}

TEST(EmbeddedSet, VectorsOfAnotherModelOrLayerAreRefused) {
    const EmbeddingMaker made{"cait_s24_224", "0123", "features", false};
    const auto message = [&](EmbeddingMaker now) {
        return data_test::error_of([&] { check_same_maker(made, now, "x.faiss"); });
    };
    EXPECT_NO_THROW(check_same_maker(made, made, "x.faiss"));
    EXPECT_THAT(message({"cait_s24_224", "4567", "features", false}),
                HasSubstr("x.faiss: was made by cait_s24_224 with other weights"));
    EXPECT_THAT(message({"cait_s24_224", "0123", "tokens", false}),
                HasSubstr("was made from features, not from tokens"));
    EXPECT_THAT(message({"cait_s24_224", "0123", "features", true}),
                HasSubstr("not from features with flips"));
}

TEST(Fingerprint, TellsWeightsAndPreparationApart) {
    const SettingList tiny{{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                           {"depth", "1"},       {"heads", "2"}, {"classes", "3"}};
    const Model model = Model::create("deit_tiny_patch16_224", tiny, 1);
    EXPECT_EQ(model_fingerprint(model),
              model_fingerprint(Model::create("deit_tiny_patch16_224", tiny, 1)));
    EXPECT_NE(model_fingerprint(model),
              model_fingerprint(Model::create("deit_tiny_patch16_224", tiny, 2)));
    Model other = model;
    Preprocessing preprocessing = model.preprocessing();
    preprocessing.crop_ratio = 0.5;
    other.set_preprocessing(preprocessing);
    EXPECT_NE(model_fingerprint(model), model_fingerprint(other));
}

}  // namespace
}  // namespace cait
