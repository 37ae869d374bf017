// `cait forward` with the files that people have: official and timm checkpoints, half precision.
// Built only with LibTorch.
#include <gmock/gmock.h>

#include <bit>
#include <cstdlib>

#include "e2e/tiny_models.h"
#include "support/near.h"
#include "weights/npy.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Forward : public InFolder {
protected:
    // The bytes of the .npy that `cait forward` writes.
    std::string forward(const Words& more, const std::string& output = "y.npy") {
        const Finished run =
            cait(Words{"forward", "--input", data("images.npy"), "--output", path(output)} + more);
        EXPECT_EQ(run.status, 0) << run.err;
        return read(path(output));
    }
};

TEST_F(Forward, BothPytorchContainersAndSafetensorsGiveIdenticalLogits) {
    const std::string from_zip = forward(kTinyCait + Words{"--weights", data("tiny_cait_zip.pth")});
    const std::string from_legacy =
        forward(kTinyCait + Words{"--weights", data("tiny_cait_legacy.pth")});
    const Finished converted =
        cait(Words{"convert", data("tiny_cait_zip.pth"), path("c.safetensors")} + kTinyCait);
    ASSERT_EQ(converted.status, 0) << converted.err;
    // The converted file carries its configuration.
    const std::string from_safetensors = forward({"--weights", path("c.safetensors")});
    EXPECT_EQ(from_zip, from_legacy);
    EXPECT_EQ(from_zip, from_safetensors);
    test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_cait_logits.npy")), 1e-5,
                       "logits");
}

TEST_F(Forward, TimmNamesLoadAndCanBeWritten) {
    forward(kTinyDeit3 + Words{"--weights", data("tiny_deit3_timm.safetensors")});
    test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_deit3_logits.npy")), 1e-5,
                       "logits");
    const Words in = {"convert", data("tiny_deit3_timm.safetensors")};
    EXPECT_EQ(cait(in + Words{path("fb.safetensors")} + kTinyDeit3).status, 0);
    EXPECT_THAT(cait({"inspect", "--tensors", path("fb.safetensors")}).out,
                HasSubstr("blocks.0.gamma_1 "));
    EXPECT_EQ(cait(in + Words{path("timm.safetensors"), "--names", "timm"} + kTinyDeit3).status, 0);
    EXPECT_THAT(cait({"inspect", "--tensors", path("timm.safetensors")}).out,
                HasSubstr("blocks.0.ls1.gamma "));
}

TEST_F(Forward, HalfPrecisionFilesLoad) {
    for (const char* dtype : {"float16", "bfloat16"}) {
        const Finished run = cait(Words{"convert", data("tiny_cait_zip.pth"),
                                        path("half.safetensors"), "--dtype", dtype} +
                                  kTinyCait);
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_THAT(cait({"inspect", path("half.safetensors")}).out, HasSubstr(dtype));
        forward({"--weights", path("half.safetensors")});
        test::expect_close(read_npy(path("y.npy")), read_npy(data("tiny_cait_logits.npy")), 0.05,
                           dtype);
    }
}

// What the commands with LibTorch take for weights beside a file.
TEST_F(Forward, OfficialWeightsAndRunsAreFiles) {
    const std::string expected = forward(kTinyCait + Words{"--weights", data("tiny_cait_zip.pth")});
    fs::create_directories(path("usb"));
    write("usb/XXS24_224.pth", read(data("tiny_cait_zip.pth")));
    ::setenv("CAIT_CACHE", path("cache").c_str(), 1);
    ::setenv("CAIT_MIRROR", path("usb").c_str(), 1);
    EXPECT_EQ(forward(kTinyCait + Words{"--weights", "official"}), expected);
    ::unsetenv("CAIT_CACHE");
    ::unsetenv("CAIT_MIRROR");
    fs::create_directories(path("run"));
    EXPECT_EQ(
        cait(Words{"convert", data("tiny_cait_zip.pth"), path("run/best.safetensors")} + kTinyCait)
            .status,
        0);
    EXPECT_EQ(forward({"--weights", path("run")}), expected);
}

TEST_F(Forward, TapsAndPrecision) {
    const Words model = kTinyCait + Words{"--weights", data("tiny_cait_zip.pth")};
    forward(model + Words{"--tap", "class_attention.0"}, "map.npy");
    const Tensor map = read_npy(path("map.npy"));
    EXPECT_EQ(map.shape(), (Shape{2, 2, 1, 5}));
    float sum = 0;
    for (const float v : map.floats().subspan(0, 5)) sum += v;
    EXPECT_NEAR(sum, 1, 1e-5);

    forward(model + Words{"--precision", "bf16"}, "bf16.npy");
    test::expect_close(read_npy(path("bf16.npy")), read_npy(data("tiny_cait_logits.npy")), 0.05,
                       "bf16");
    forward(model + Words{"--tap", "logits", "--tap", "features"}, "both.safetensors");
    EXPECT_THAT(cait({"inspect", "--tensors", path("both.safetensors")}).out,
                HasSubstr("features"));

    const Words start = {"forward", "--input", data("images.npy"), "--output", path("y.npy")};
    expect_refused(cait(start + model + Words{"--tap", "class_attention.9"}), 2,
                   {"unknown tap 'class_attention.9'", "class_attention.0"});
    expect_refused(cait(start + Words{"--model", "cait_xxs24_224"}), 1,
                   {"expected float32 images [B, 3, 224, 224], found float32 [2, 3, 16, 16]"});
    expect_refused(cait({"forward", "--model", "cait_xxs24_224", "--input", path("none.npy"),
                         "--output", path("y.npy")}),
                   1, {"none.npy: cannot open"});
}

TEST_F(Forward, Case14NonFiniteWeightsAreRefused) {
    ASSERT_EQ(
        cait(Words{"convert", data("tiny_cait_zip.pth"), path("n.safetensors")} + kTinyCait).status,
        0);
    std::string bytes = read(path("n.safetensors"));
    // A foreign file has no checksums; with them the change itself would be noticed first.
    bytes.replace(bytes.find("cait.crc32"), 10, "else.crc32");
    bytes.replace(bytes.find("\"cait.sha256"), 12, "\"else.sha256");
    const float nan = std::bit_cast<float>(0x7fc00000U);
    bytes.replace(bytes.size() - 4, 4, reinterpret_cast<const char*>(&nan), 4);
    write("n.safetensors", bytes);
    const Words forward_words = {"forward",          "--weights", path("n.safetensors"), "--input",
                                 data("images.npy"), "--output",  path("y.npy")};
    expect_refused(cait(forward_words), 1, {"n.safetensors", "nan"});
    EXPECT_EQ(cait(forward_words + Words{"--allow-non-finite"}).status, 0);
}

}  // namespace
}  // namespace cait::e2e
