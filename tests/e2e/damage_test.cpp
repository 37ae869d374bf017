// Files of ours that were damaged on the way, and numbers that mean nothing: never an answer,
// always a line that names the file.
#include <gmock/gmock.h>

#include <cstring>

#include "base/philox.h"
#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"
#include "weights/npy.h"
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

// Finite, and yet too large to be computed with: the input is named, nothing is written.
TEST_F(Damage, InputsThatOverflowGiveNoAnswer) {
    const auto forward = [&](float value, const Words& more = {}) {
        Tensor images = Tensor::empty(DType::f32, {3, 3, 16, 16});
        std::ranges::fill(images.mutable_floats(), 0.5F);
        std::ranges::copy(one_sided_image(tiny_cait(), value),
                          images.mutable_floats().begin() + 768);  // the second of them
        write_npy(folder_ / "x.npy", images);
        std::filesystem::remove(path("y.npy"));
        return cait(Words{"forward", "--weights", path("tiny.safetensors"), "--input",
                          path("x.npy"), "--output", path("y.npy")} +
                    more);
    };
    EXPECT_EQ(forward(100).status, 0);
    for (const Words& more : {Words{}, Words{"--precision", "bf16"}, Words{"--precision", "int8"},
                              Words{"--tap", "features"}}) {
        expect_refused(forward(3e38F, more), 1,
                       {path("x.npy") + ": image 1: output", "expected finite values",
                        "the input's values reach 3e+38"});
        EXPECT_FALSE(std::filesystem::exists(path("y.npy")));
    }
    save_scaled("huge.safetensors", 3e38F);
    expect_refused(cait({"embed", path("a.png"), "--weights", path("huge.safetensors"), "--output",
                         path("v.safetensors")}),
                   1, {path("a.png"), "finite"});
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

// Some megabytes of packed weights, which are mapped and not read.
class PackedDamage : public InFolder {
protected:
    PackedDamage() {
        const Model model = Model::create(
            "cait_xxs24_224", {{"image_size", "32"}, {"depth", "4"}, {"classes", "3"}}, 3);
        model.save(folder_ / "w.safetensors");
        Tensor images = Tensor::empty(DType::f32, {2, 3, 32, 32});
        RandomStream random(7, "images");
        for (float& value : images.mutable_floats()) value = float(random.uniform()) * 2 - 1;
        write_npy(folder_ / "x.npy", images);
    }

    // The logits, with `packed` as the file of packed weights.
    std::string logits(const Words& packed, std::string* notes = nullptr) const {
        const Finished run = cait(Words{"forward", "--weights", path("w.safetensors"), "--input",
                                        path("x.npy"), "--output", path("y.npy")} +
                                  packed);
        EXPECT_EQ(run.status, 0) << run.err;
        if (notes != nullptr) *notes = run.err;
        return read(path("y.npy"));
    }
};

TEST_F(PackedDamage, NeverChangesAnAnswer) {
    const std::string expected = logits({});
    const Words packed{"--packed", path("packed")};
    ASSERT_EQ(logits(packed), expected);
    const std::string whole = read(path("packed"));
    ASSERT_GT(whole.size(), std::size_t{2} << 20);
    std::string notes;
    ASSERT_EQ(logits(packed, &notes), expected);
    EXPECT_EQ(notes, "");
    RandomStream random(1, "places");
    for (int i = 0; i < 24; ++i) {  // the head, the index, and places over all matrices
        const std::size_t at = i < 2   ? std::size_t(i) * 60
                               : i < 6 ? 64 + std::size_t(random.bits()) % 2000
                                       : std::size_t(random.bits()) % whole.size();
        std::string bytes = whole;
        for (std::size_t k = at; k < std::min(at + 16, bytes.size()); ++k) bytes[k] ^= '\x55';
        write("packed", bytes);
        EXPECT_TRUE(logits(packed, &notes) == expected) << at;
        EXPECT_THAT(notes, AllOf(HasSubstr("note: " + path("packed")), HasSubstr("damaged"))) << at;
        EXPECT_EQ(std::ranges::count(notes, '\n'), 1) << notes;
        EXPECT_TRUE(read(path("packed")) == whole) << at;  // made again
    }
}

// Each instruction set has a layout of its own.
TEST_F(PackedDamage, AFileOfAnotherInstructionSetIsNotUsed) {
    const std::vector<const char*> sets{"portable", "avx2", "avx512", "amx"};
    std::vector<std::string> expected, files;
    const Words packed{"--packed", path("packed")};
    for (const char* set : sets) {
        const Variable isa("CAIT_ISA", set);
        expected.push_back(logits({}));
        std::filesystem::remove(path("packed"));
        EXPECT_TRUE(logits(packed) == expected.back()) << set;
        files.push_back(read(path("packed")));
    }
    EXPECT_NE(files[0], files[1]);
    for (std::size_t from = 0; from < sets.size(); ++from)
        for (std::size_t to = 0; to < sets.size(); ++to) {
            write("packed", files[from]);
            const Variable isa("CAIT_ISA", sets[to]);
            EXPECT_TRUE(logits(packed) == expected[to]) << sets[from] << " → " << sets[to];
            EXPECT_TRUE(read(path("packed")) == files[to]) << sets[from] << " → " << sets[to];
        }
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
