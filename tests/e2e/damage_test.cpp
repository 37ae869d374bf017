// Files of ours that were damaged on the way, and numbers that mean nothing: never an answer,
// always a line that names the file.
#include <gmock/gmock.h>

#include <cstring>

#include "cait/model.h"
#include "core/philox.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Damage : public InFolder {
protected:
    Damage() {
        Model model = tiny_cait();
        model.set_classes({"cat", "dog", "bird"});
        model.save(folder_ / "tiny.safetensors");
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7, 60, 40)));
    }

    // The tiny model with all its weights multiplied.
    void save_scaled(const std::string& name, float factor) const {
        const Model model = tiny_cait();
        std::map<std::string, Tensor> weights;
        for (const auto& [key, tensor] : model.weights()) {
            std::vector<float> values(tensor.floats().begin(), tensor.floats().end());
            for (float& value : values) value = factor * (value < 0 ? -1.0F : 1.0F);
            weights.emplace(key, Tensor::of(tensor.shape(), values));
        }
        model.with_weights(std::move(weights)).save(folder_ / name);
    }

    Finished predict(const std::string& weights) const {
        return cait({"predict", "--weights", path(weights), path("a.png")});
    }
};

TEST_F(Damage, AFlippedBitOfTheHeaderIsNoticed) {
    ASSERT_EQ(predict("tiny.safetensors").status, 0);
    const std::string whole = read(path("tiny.safetensors"));
    std::uint64_t header = 0;
    std::memcpy(&header, whole.data(), sizeof header);
    RandomStream random(1, "flips");
    for (int i = 0; i < 60; ++i) {
        std::string bytes = whole;
        const std::size_t at = std::size_t(random.bits()) % (header + 8);
        bytes[at] = char(bytes[at] ^ (1 << random.bits() % 8));
        write("flipped.safetensors", bytes);
        expect_refused(predict("flipped.safetensors"), 1, {path("flipped.safetensors")});
    }
}

TEST_F(Damage, ConvertDoesNotVouchForADamagedFile) {
    std::string bytes = read(path("tiny.safetensors"));
    bytes.back() = char(bytes.back() ^ 1);
    write("tiny.safetensors", bytes);
    expect_refused(cait({"convert", path("tiny.safetensors"), path("again.safetensors")}), 1,
                   {path("tiny.safetensors"), "damaged"});
}

TEST_F(Damage, WeightsThatOverflowGiveNoAnswer) {
    save_scaled("huge.safetensors", 3e38F);
    const Finished predicted = predict("huge.safetensors");
    expect_refused(predicted, 1, {path("huge.safetensors"), path("a.png"), "finite"});
    EXPECT_THAT(cait({"attend", "--weights", path("huge.safetensors"), path("a.png"), "--output",
                      path("look.png")})
                    .err,
                AllOf(HasSubstr(path("huge.safetensors")), HasSubstr("finite")));
    for (const char* name : {"cat", "dog", "bird"})
        data_test::put(folder_ / "set" / name / "a.png",
                       data_test::png(data_test::numbered_image(7, 60, 40)));
    Model model = Model::load(path("huge.safetensors"));
    model.set_classes({"bird", "cat", "dog"});
    model.save(path("named.safetensors"));
    expect_refused(
        cait({"eval", "--weights", path("named.safetensors"), "--data", "folder:" + path("set")}),
        1, {path("named.safetensors"), "finite"});
}

TEST_F(Damage, ConvertRefusesNumbersThatDoNotFit) {
    save_scaled("large.safetensors", 1e30F);
    const auto convert = [&](const char* dtype) {
        return cait(
            {"convert", path("large.safetensors"), path("small.safetensors"), "--dtype", dtype});
    };
    expect_refused(convert("float16"), 1,
                   {path("large.safetensors"), "tensor '", "1e+30", "too large for float16"});
    EXPECT_FALSE(std::filesystem::exists(path("small.safetensors")));
    EXPECT_EQ(convert("bfloat16").status, 0);
}

TEST_F(Damage, PreprocessingOutOfRangeIsTheFilesMistake) {
    const TensorFile file = TensorFile::open(path("tiny.safetensors"));
    const std::pair<const char*, const char*> entries[] = {
        {R"({"std": [0, 1, 1]})", "'std'"},
        {R"({"std": [1, 1, 1e-30]})", "'std'"},
        {R"({"crop_mode": "sideways"})", "crop mode"},
        {R"({"interpolation": "guess"})", "interpolation"},
        {R"({"crop_ratio": 1e-300})", "'crop_ratio'"},
        {R"({"crop_ratio": -1})", "'crop_ratio'"},
        {R"({"mean": [1e30, 0, 0]})", "'mean'"}};
    for (const auto& [text, field] : entries) {
        std::map<std::string, std::string> metadata = file.metadata;
        metadata.erase("cait.sha256");
        metadata.erase("cait.crc32");
        metadata["cait.preprocess"] = text;
        write_safetensors(path("odd.safetensors"), file.tensors, metadata);
        expect_refused(predict("odd.safetensors"), 1,
                       {path("odd.safetensors"), "cait.preprocess", field});
    }
}

TEST_F(Damage, AClassNameThatNoFileCouldHoldIsRefusedAtOnce) {
    for (const char* name : {"gr\xfcn", "blau"})
        data_test::put(folder_ / "set" / name / "a.png",
                       data_test::png(data_test::numbered_image(7, 60, 40)));
    expect_refused(cait({"data", "stats", "folder:" + path("set")}), 1,
                   {path("set"), "gr\\xfcn", "UTF-8"});
    write("names.txt", "one\ntw\xf6\nthree\n");
    expect_refused(cait({"predict", "--weights", path("tiny.safetensors"), "--classes",
                         path("names.txt"), path("a.png")}),
                   1, {path("names.txt"), "tw\\xf6"});
}

// One picture is decoded at a time, however many are shown.
TEST_F(Damage, AttendKeepsNoMoreThanItShows) {
    Words words = {"attend",   "--weights",      path("tiny.safetensors"),
                   "--output", path("look.png"), "--side",
                   "32",       "--batch",        "2"};
    data_test::put(folder_ / "large.png", data_test::png(data_test::numbered_image(7, 3000, 2000)));
    for (int i = 0; i < 15; ++i) words.push_back(path("large.png"));
    const Finished run = cait(words);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(std::filesystem::exists(path("look.png")));
    if (!kSanitized) {
        EXPECT_LT(run.peak_kilobytes, 100'000);
    }
}

}  // namespace
}  // namespace cait::e2e
