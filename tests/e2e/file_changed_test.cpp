// A file that is shortened while the program has it mapped: said by name, exit code 1, nothing
// written from what was no longer there.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/philox.h"
#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileChangedTest : public InFolder {
protected:
    FileChangedTest() {
        Model::create("cait_xxs24_224", {{"image_size", "32"}, {"depth", "4"}, {"classes", "3"}})
            .save(folder_ / "w.safetensors");  // some megabytes: mapped, not read
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7)));
    }

    // `cait predict` has loaded the weights and waits for the names of images while `harm` is done.
    Finished predict_while(const std::function<void()>& harm, const Words& more = {}) const {
        Listening run(Words{"predict", "--weights", path("w.safetensors"), "-"} + more);
        const std::string maps = "/proc/" + std::to_string(run.pid()) + "/maps";
        EXPECT_TRUE(
            eventually([&] { return read(maps).find("w.safetensors") != std::string::npos; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(kSanitized ? 2000 : 300));
        harm();
        return run.tell(path("a.png") + "\n");
    }
};

TEST_F(FileChangedTest, WeightsThatAreShortenedAreNamed) {
    ASSERT_GT(fs::file_size(path("w.safetensors")), 2U << 20);
    EXPECT_EQ(predict_while([] {}).status, 0);
    const Finished run = predict_while([&] { fs::resize_file(path("w.safetensors"), 5000); });
    expect_refused(run, 1, {"w.safetensors: changed while in use"});
}

TEST_F(FileChangedTest, NothingIsWrittenFromThem) {
    const Finished run = predict_while([&] { fs::resize_file(path("w.safetensors"), 5000); },
                                       {"--output", path("o.csv"), "--csv"});
    expect_refused(run, 1, {"w.safetensors: changed while in use"});
    EXPECT_FALSE(fs::exists(path("o.csv")));
}

// Less than a page: no signal tells, the size does.
TEST_F(FileChangedTest, AFewBytesLessAreNoticed) {
    const auto size = fs::file_size(path("w.safetensors"));
    ASSERT_GT(size % 4096, 16U);
    const Finished run = predict_while([&] { fs::resize_file(path("w.safetensors"), size - 16); },
                                       {"--output", path("o.csv"), "--csv"});
    expect_refused(run, 1, {"w.safetensors: changed while in use"});
    EXPECT_FALSE(fs::exists(path("o.csv")));
}

TEST_F(FileChangedTest, AFileThatIsReplacedIsStillWhole) {
    const Finished run = predict_while([&] {
        write("other", "something else");
        fs::rename(path("other"), path("w.safetensors"));
    });
    EXPECT_EQ(run.status, 0) << run.err;
}

// An image is read, never mapped: at worst it is cut off.
TEST_F(FileChangedTest, AnImageThatIsShortenedIsAnErrorAndNoSignal) {
    Image noise = Image::blank(900, 700, 3);
    RandomStream random(5, "noise");
    for (std::uint8_t& value : noise.pixels) value = std::uint8_t(random.bits());
    const std::string whole = data_test::png(noise);  // does not compress
    ASSERT_GT(whole.size(), 1U << 20);
    data_test::put(folder_ / "large.png", whole);
    Words words{"preprocess", "--weights", path("w.safetensors"), "--output", path("o.npy")};
    for (int i = 0; i < 40; ++i) words.push_back(path("large.png"));
    EXPECT_EQ(cait(words).status, 0);
    fs::remove(path("o.npy"));
    int cut = 0;
    for (int round = 0; round < (kSanitized ? 3 : 12); ++round) {
        Running run(words);
        const std::string maps = "/proc/" + std::to_string(run.pid()) + "/maps";
        for (int i = 0; !run.over(); ++i) {
            EXPECT_EQ(read(maps).find("large.png"), std::string::npos);
            // In place: the file that the program has opened is the one that shrinks.
            fs::resize_file(path("large.png"), i % 2 == 0 ? 5000 + std::uintmax_t(round) * 997 : 0);
            std::ofstream(path("large.png"), std::ios::binary | std::ios::in) << whole;
        }
        const Finished finished = run.wait();
        EXPECT_THAT(finished.status, testing::AnyOf(0, 1)) << finished.err;
        if (finished.status == 0) continue;
        ++cut;
        expect_refused(finished, 1, {path("large.png")});
        EXPECT_FALSE(fs::exists(path("o.npy")));
    }
    EXPECT_GE(cut, 1);
}

// An array of 60 MB, of which the disk holds the head only.
TEST_F(FileChangedTest, AnArrayThatIsShortenedIsNamed) {
    std::string head = read(data("images.npy")).substr(0, 128);
    const std::size_t shape = head.find("(2, 3, 16, 16)");
    ASSERT_NE(shape, std::string::npos);
    head.replace(shape, 14, "(20000,3,16,16)");
    head.erase(head.size() - 2, 1);  // one of the spaces before the line's end
    write("x.npy", head);
    fs::resize_file(path("x.npy"), 128 + std::uintmax_t{20000} * 3 * 16 * 16 * 4);
    tiny_cait().save(folder_ / "tiny.safetensors");
    Running run({"forward", "--weights", path("tiny.safetensors"), "--input", path("x.npy"),
                 "--output", path("o.npy")});
    const std::string maps = "/proc/" + std::to_string(run.pid()) + "/maps";
    EXPECT_TRUE(
        eventually([&] { return run.over() || read(maps).find("x.npy") != std::string::npos; }));
    fs::resize_file(path("x.npy"), 5000);
    expect_refused(run.wait(), 1, {path("x.npy"), "changed while in use"});
    EXPECT_FALSE(fs::exists(path("o.npy")));
}

// Labels of a mapped file that somebody writes over while they are used: what was checked counts.
TEST_F(FileChangedTest, LabelsThatAreOverwrittenAreNeverAnIndex) {
    std::string names, records, other;
    for (int i = 0; i < 10; ++i) names += "name" + std::to_string(i) + "\n";
    for (int i = 0; i < 2000; ++i) {
        records += char(i % 10) + std::string(3072, char(i));
        other += '\xff' + std::string(3072, char(i));
    }
    write("batches.meta.txt", names);
    Model model =
        Model::create("cait_xxs24_224", {{"image_size", "32"}, {"depth", "2"}, {"classes", "10"}});
    model.set_classes(
        {"name9", "name8", "name7", "name6", "name5", "name4", "name3", "name2", "name1", "name0"});
    model.save(folder_ / "ten.safetensors");
    const Words words{"eval",      "--json",
                      "--weights", path("ten.safetensors"),
                      "--data",    "cifar10:" + folder_.string()};
    const auto scores = [](const Finished& run) {
        const nlohmann::json found = nlohmann::json::parse(run.out);
        return std::pair(found["top1"].get<double>(), found["loss"].get<double>());
    };
    write("test_batch.bin", records);
    const Finished undisturbed = cait(words);
    ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
    int answered = 0;
    for (int round = 0; round < 6; ++round) {
        write("test_batch.bin", records);
        Running run(words);
        const std::string maps = "/proc/" + std::to_string(run.pid()) + "/maps";
        EXPECT_TRUE(eventually(
            [&] { return run.over() || read(maps).find("test_batch.bin") != std::string::npos; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(10 * round));
        std::ofstream(path("test_batch.bin"), std::ios::binary | std::ios::in) << other;
        const Finished finished = run.wait();
        if (finished.status == 0) {
            ++answered;
            EXPECT_EQ(scores(finished), scores(undisturbed));
        } else {  // they were read for the first time after that
            expect_refused(finished, 1, {path("test_batch.bin"), "label 255: expected less"});
        }
    }
    EXPECT_GE(answered, 1);
}

// One flipped bit in a storage of a .pth archive.
TEST_F(FileChangedTest, DamageInAnArchiveIsFoundByItsChecksums) {
    std::string bytes = read(data("tiny_cait_zip.pth"));
    write("whole.pth", bytes);
    const Finished good = cait({"inspect", "--verify", path("whole.pth")});
    EXPECT_EQ(good.status, 0) << good.err;
    EXPECT_THAT(good.err, HasSubstr("checksums are right"));
    const std::size_t name =
        bytes.find("/data/0") + 7;  // an extra field pads the content that follows
    const std::size_t header = bytes.rfind("PK\x03\x04", name);
    ASSERT_NE(header, std::string::npos);
    const auto extra = std::size_t(static_cast<unsigned char>(bytes[header + 28]));
    bytes[name + extra + 3] ^= 1;
    write("bad.pth", bytes);
    expect_refused(cait({"inspect", "--verify", path("bad.pth")}), 1,
                   {"bad.pth: zip: '", "data/0': damaged: expected checksum"});
    expect_refused(cait({"convert", path("bad.pth"), path("o.safetensors")}), 1, {"damaged"});
    EXPECT_FALSE(fs::exists(path("o.safetensors")));
}

}  // namespace
}  // namespace cait::e2e
