// A file that is shortened while the program has it mapped: said by name, exit code 1, nothing
// written from what was no longer there.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

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
        int input[2];
        EXPECT_EQ(::pipe2(input, O_CLOEXEC), 0);
        const int own = ::dup(STDIN_FILENO);
        ::dup2(input[0], STDIN_FILENO);
        Running run(Words{"predict", "--weights", path("w.safetensors"), "-"} + more);
        ::dup2(own, STDIN_FILENO);
        ::close(own);
        ::close(input[0]);
        const std::string maps = "/proc/" + std::to_string(run.pid()) + "/maps";
        EXPECT_TRUE(
            eventually([&] { return read(maps).find("w.safetensors") != std::string::npos; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(kSanitized ? 2000 : 300));
        harm();
        const std::string names = path("a.png") + "\n";
        EXPECT_EQ(::write(input[1], names.data(), names.size()), ssize_t(names.size()));
        ::close(input[1]);
        return run.wait();
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
