// Weight files through the real program: what people have loads, what is broken is refused.
#include <gmock/gmock.h>

#include <cstdint>

#include "e2e/tiny_models.h"
#include "support/source_path.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class Weights : public InFolder {
protected:
    static std::string header(std::uint64_t length) {
        return {reinterpret_cast<const char*>(&length), 8};
    }
    // A safetensors file with this header and this many bytes of data.
    std::string safetensors(const std::string& json, std::size_t bytes = 0) {
        return header(json.size()) + json + std::string(bytes, '\0');
    }
    void expect_bad(const std::string& name, const std::string& bytes, const Words& parts) {
        write(name, bytes);
        const Finished run = cait({"inspect", path(name)});
        expect_refused(run, 1, Words{name} + parts);
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 200'000);
        }
    }
};

TEST_F(Weights, AnotherClassCountAndImageSizeAreAdapted) {
    const Finished run = cait(
        Words{"convert", data("tiny_cait_zip.pth"), path("c.safetensors")} + kTinyCait +
        Words{"--set", "model.classes=7", "--set", "model.image_size=24x32", "--allow-fresh-head"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("3"));
    EXPECT_THAT(run.err, HasSubstr("7 classes"));
    EXPECT_THAT(run.err, HasSubstr("2x2"));
    EXPECT_THAT(run.err, HasSubstr("3x4"));
    EXPECT_THAT(cait({"inspect", path("c.safetensors"), "--tensors"}).out,
                HasSubstr("[1, 12, 16]"));
}

TEST_F(Weights, GraphIsPrinted) {
    const Finished run = cait(Words{"inspect", "--graph"} + kTinyCait);
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, HasSubstr("blocks_token_only.0.attn.attention"));
    EXPECT_THAT(run.out, HasSubstr("output logits = %"));
    expect_refused(cait({"inspect", "--graph"}), 2, {"--model"});
}

TEST_F(Weights, FusedGraphIsPrinted) {
    const Finished run = cait(Words{"inspect", "--graph", "--fused"} + kTinyCait);
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, HasSubstr("patch_embed("));
    EXPECT_THAT(run.out, HasSubstr("attention_branch("));
    EXPECT_THAT(run.out, HasSubstr("mlp_branch("));
    expect_refused(cait(Words{"inspect", "--graph", "--fused", "--primitives"} + kTinyCait), 2,
                   {"--fused", "--primitives"});
}

TEST_F(Weights, BigFileIsInspectedWithoutReadingIt) {
    // 1.4 GB of weights; the file is sparse, so the disk holds the header only.
    constexpr std::uint64_t kBytes = 1'400'000'000;
    const std::string json = R"({"w":{"dtype":"F32","shape":[350000000],"data_offsets":[0,)" +
                             std::to_string(kBytes) + "]}}";
    write("big.safetensors", header(json.size()) + json);
    std::filesystem::resize_file(path("big.safetensors"), 8 + json.size() + kBytes);
    double fastest = 1e9;
    for (int i = 0; i < 5; ++i) {  // the machine may be busy with something else
        const Finished run = cait({"inspect", path("big.safetensors"), "--tensors"});
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_THAT(run.out, HasSubstr("[350000000]"));
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 60'000);
        }
        fastest = std::min(fastest, run.seconds);
    }
    if (!kSanitized) {
        EXPECT_LT(fastest, 0.1);
    }
}

// The fourteen weight cases of a hostile world.
TEST_F(Weights, Case1Truncated) {
    expect_bad("empty.safetensors", "", {"truncated header"});
    expect_bad("seven.safetensors", "1234567", {"truncated header"});
}
TEST_F(Weights, Case2HeaderLengthOfAllOnes) {
    expect_bad("a.safetensors", header(~0ULL) + "{}", {"header"});
}
TEST_F(Weights, Case3HeaderOver100Megabytes) {
    write("b.safetensors", header(100'000'001) + "{");
    std::filesystem::resize_file(path("b.safetensors"), 200'000'000);
    expect_refused(cait({"inspect", path("b.safetensors")}), 1, {"b.safetensors", "100000001"});
}
TEST_F(Weights, Case4GitLfsPointer) {
    expect_bad("lfs.safetensors",
               "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
               {"Git-LFS pointer, not weights"});
}
TEST_F(Weights, Case5OverlappingOffsets) {
    expect_bad("o.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                           R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                           12),
               {"'b'"});
}
TEST_F(Weights, Case6HoleAndTrailingBytes) {
    expect_bad("hole.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
               {"'a'"});
    expect_bad("tail.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 9), {});
}
TEST_F(Weights, Case7ShapeOverflow) {
    expect_bad("w.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                           R"("data_offsets":[0,0]}})"),
               {"'a'", "overflow"});
}
TEST_F(Weights, Case8BadDimensions) {
    for (const char* dim : {"-1", "1.5", "1e400", "\"2\"", "null"})
        expect_bad("d.safetensors",
                   safetensors(std::string(R"({"a":{"dtype":"F32","shape":[)") + dim +
                                   R"(],"data_offsets":[0,4]}})",
                               4),
                   {});
}
TEST_F(Weights, Case9DuplicateKey) {
    expect_bad("k.safetensors",
               safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                           8),
               {"'a'", "duplicate"});
}
TEST_F(Weights, Case10DeepJson) {
    expect_bad("j.safetensors", safetensors(std::string(100'000, '[')), {});
    expect_bad("j2.safetensors", safetensors(R"({"a":)" + std::string(100'000, '[')), {});
}
TEST_F(Weights, Case11PickleThatCallsTheShell) {
    const std::string victim = path("touched");
    const std::string command = "touch " + victim;
    write("evil.pth",
          "\x80\x02"
          "cos\nsystem\nX" +
              std::string{char(command.size()), 0, 0, 0} + command + "\x85R.");
    write("old.pth", "cos\nsystem\n(S'" + command + "'\ntR.");
    for (const char* name : {"evil.pth", "old.pth"})
        expect_refused(cait({"inspect", path(name)}), 1, {name, "os.system", "not allowed"});
    EXPECT_FALSE(std::filesystem::exists(victim));
}
TEST_F(Weights, Case12StorageShorterThanItsTensor) {
    const auto file = test::source_path(__FILE__).parent_path() / "../unit/weights/data" /
                      "bad_short_storage.pth";
    expect_refused(cait({"inspect", file.string()}), 1, {"bad_short_storage.pth"});
}
TEST_F(Weights, Case13MissingExtraAndMisshapen) {
    const Words words = {"inspect", data("tiny_cait_zip.pth"),
                         "--model", "cait_xxs24_224",
                         "--set",   "model.dim=16",
                         "--set",   "model.heads=2"};
    expect_refused(cait(words), 1,
                   {"missing", "blocks.2.", "expected", "[16, 3, 16, 16]", "[16, 3, 8, 8]"});
}
TEST_F(Weights, ConvertRefusesWithoutLeavingAFile) {
    expect_refused(cait({"convert", path("none.pth"), path("o.safetensors")}), 1,
                   {"none.pth: cannot open"});
    expect_refused(cait({"convert", data("tiny_cait_zip.pth"), path("o.pth")}), 2,
                   {".safetensors"});
    expect_refused(cait({"convert", data("tiny_cait_zip.pth"), path("no/folder/o.safetensors")}), 1,
                   {"o.safetensors: cannot create"});
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace cait::e2e
