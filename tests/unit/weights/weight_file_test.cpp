#include "weights/weight_file.h"

#include "unit/weights/support.h"

namespace cait::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WeightFile, EveryContainerGivesTheSameTensors) {
    const WeightFile reference = open_weights(data("plain.safetensors"));
    const WeightFile zip = open_weights(data("plain_zip.pth"));
    const WeightFile legacy = open_weights(data("plain_legacy.pth"));
    EXPECT_EQ(reference.format, "safetensors");
    EXPECT_EQ(zip.format, "pytorch zip");
    EXPECT_EQ(legacy.format, "pytorch legacy");
    EXPECT_EQ(reference.metadata.at("format"), "pt");
    expect_same(reference, zip);
    expect_same(reference, legacy);
}

TEST(WeightFile, TensorsOutliveTheFileObject) {
    Tensor tensor;
    {
        const WeightFile file = open_weights(data("plain_zip.pth"));
        tensor = find(file, "cls_token");
    }
    EXPECT_THAT(values(tensor), ElementsAre(0.5F, -1.0F, 2.0F, 0.25F));
}

TEST(WeightFile, StripsTheCommonPrefixOfWrappedModels) {
    const auto with_names = [](const std::string& a, const std::string& b) {
        const std::string info = R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
        return names(open_bytes(safetensors("{\"" + a + info + ",\"" + b + info + "}")));
    };
    EXPECT_THAT(with_names("module.a", "module.b"), ElementsAre("a", "b"));
    EXPECT_THAT(with_names("module._orig_mod.a", "module._orig_mod.b"), ElementsAre("a", "b"));
    EXPECT_THAT(with_names("module.a", "b"), ElementsAre("module.a", "b"));
}

TEST(WeightFile, TheBackboneIsTheModelAndProjectionsAreSkipped) {
    const auto with_names = [](const std::vector<std::string>& given) {
        std::string header;
        for (const std::string& name : given)
            header += (header.empty() ? "{\"" : ",\"") + name +
                      R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
        return open_bytes(safetensors(header + "}"));
    };
    const WeightFile dino =
        with_names({"module.backbone.cls_token", "module.backbone.norm.bias",
                    "module.head.mlp.0.bias", "module.head.last_layer.weight_g"});
    EXPECT_THAT(names(dino), ElementsAre("cls_token", "norm.bias"));
    EXPECT_THAT(dino.skipped, ElementsAre("head.mlp.0.bias", "head.last_layer.weight_g"));
    const WeightFile dinov2 =
        with_names({"backbone.cls_token", "dino_head.mlp.0.bias", "ibot_head.mlp.0.bias"});
    EXPECT_THAT(names(dinov2), ElementsAre("cls_token"));
    // A classifier on a backbone stays.
    EXPECT_THAT(names(with_names({"backbone.cls_token", "head.weight"})),
                ElementsAre("cls_token", "head.weight"));
    // And so does a head for every pixel, with its neck.
    EXPECT_THAT(
        names(with_names({"backbone.cls_token", "neck.weight", "decode_head.conv_seg.weight"})),
        ElementsAre("cls_token", "neck.weight", "decode_head.conv_seg.weight"));
    // What only looks like it is left as it is.
    EXPECT_THAT(names(with_names({"backbone.cls_token", "neck.weight"})),
                ElementsAre("backbone.cls_token", "neck.weight"));
    EXPECT_THAT(names(with_names({"backbone.head.weight", "head.weight"})),
                ElementsAre("backbone.head.weight", "head.weight"));
    EXPECT_THAT(names(with_names({"head.mlp.0.bias"})), ElementsAre("head.mlp.0.bias"));
}

TEST(WeightFile, TellsWhatAFileReallyIs) {
    EXPECT_THAT(open_error(""), HasSubstr("truncated header"));
    EXPECT_THAT(open_error("1234567"), HasSubstr("truncated header"));
    EXPECT_THAT(open_error("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n"),
                HasSubstr("this is a Git-LFS pointer, not weights"));
    EXPECT_THAT(open_error("<!DOCTYPE html><html></html>"), HasSubstr("HTML"));
    EXPECT_THAT(open_error("\n <?xml version='1.0'?><Error/>"), HasSubstr("HTML or XML"));
    EXPECT_THAT(open_error("\x1f\x8b\x08 compressed data"), HasSubstr("gzip"));
    EXPECT_THAT(open_error(read_text(data("array_f4.npy"))), HasSubstr(".npy"));
    EXPECT_THAT(open_error("\x89HDF\r\n\x1a\n........"), HasSubstr("HDF5"));
    EXPECT_THAT(open_error(std::string(257, 'x') + "ustar" + std::string(300, '\0')),
                HasSubstr("tar format of old PyTorch"));
    EXPECT_THAT(open_error("some text that is no weight file"), HasSubstr("header length"));
}

TEST(WeightFile, NamesTheFileInTheMessage) {
    const TemporaryFolder folder;
    write_text(folder / "broken.safetensors", "12345678{}");
    EXPECT_THAT(error_of([&] { open_weights(folder / "broken.safetensors"); }),
                StartsWith((folder / "broken.safetensors").string()));
    EXPECT_THAT(error_of([&] { open_weights(folder / "absent"); }), HasSubstr("cannot open"));
    EXPECT_THAT(error_of([&] { open_weights(std::filesystem::temp_directory_path()); }),
                HasSubstr("expected a regular file"));
}

// 640 bytes of header begin with 80 02, just as a pickle does.
TEST(WeightFile, AHeaderLengthThatLooksLikeAPickleIsNotOne) {
    std::string header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
    header.resize(0x280, ' ');
    EXPECT_EQ(open_bytes(safetensors(header)).format, "safetensors");
}

}  // namespace
}  // namespace cait::test
