// What is written replaces regular files only, whole or not at all: devices, pipes and links stay
// what they are, and so does every input. The devices are nodes of our own: a program that replaces
// /dev/null takes it from the whole machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const Words kWeights = Words{"--weights", data("tiny_cait_zip.pth")} + kTinyCait;

class FileOutputs : public InFolder {
protected:
    FileOutputs() {
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7)));
        fs::copy(data("tiny_cait_zip.pth"), folder_ / "w.pth");
        fs::copy(data("images.npy"), folder_ / "x.npy");
    }

    Finished predict(const std::string& output) const {
        return cait(Words{"predict", path("a.png"), "--csv", "--output", output} + kWeights);
    }
    Finished preprocess(const std::string& output) const {
        return cait({"preprocess", "--model", "cait_xxs24_224", path("a.png"), "--output", output});
    }
    // Everything but what a failed command may leave.
    std::size_t files() const {
        return std::size_t(std::distance(fs::directory_iterator(folder_), {}));
    }
    void expect_kept(const Words& words, const std::string& input) const {
        const std::string before = read(input);
        expect_refused(cait(words), 2, {"would be written over, but is read"});
        EXPECT_TRUE(read(input) == before) << testing::PrintToString(words);
    }
};

TEST_F(FileOutputs, ADeviceIsWrittenToAndStays) {
    const std::string null = path("null"), full = path("full");
    if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ||
        ::mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
        GTEST_SKIP() << "only root makes devices";
    const int probe = ::open(null.c_str(), O_WRONLY | O_CLOEXEC);
    if (probe < 0) GTEST_SKIP() << "devices cannot be used here";
    ::close(probe);
    const std::size_t before = files();
    for (const Finished& run : {predict(null), preprocess(null)})
        EXPECT_EQ(run.status, 0) << run.err;
    expect_refused(predict(full), 1, {"full: cannot write: No space left on device"});
    EXPECT_TRUE(fs::is_character_file(null));
    EXPECT_TRUE(fs::is_character_file(full));
    EXPECT_EQ(files(), before);
}

TEST_F(FileOutputs, APipeIsWrittenToWhereSomebodyReadsIt) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    expect_refused(predict(path("pipe")), 1, {"pipe: cannot write: nobody reads this pipe"});
    const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    EXPECT_EQ(predict(path("pipe")).status, 0);
    std::string text(4096, '\0');
    text.resize(std::size_t(std::max<ssize_t>(0, ::read(reader, text.data(), text.size()))));
    ::close(reader);
    EXPECT_THAT(text, HasSubstr("a.png,"));
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(FileOutputs, StandardOutputMayBeNamed) {
    const Finished run = predict("/dev/stdout");
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("a.png,"));
}

TEST_F(FileOutputs, ALinkStaysAndTheFileBehindItIsReplaced) {
    fs::create_directory(folder_ / "place");
    write("place/old.csv", "old");
    fs::create_symlink("place/old.csv", folder_ / "link.csv");
    fs::create_symlink("link.csv", folder_ / "link2.csv");
    fs::create_symlink("place/new.csv", folder_ / "dangling.csv");
    EXPECT_EQ(predict(path("link2.csv")).status, 0);
    EXPECT_TRUE(fs::is_symlink(path("link.csv")) && fs::is_symlink(path("link2.csv")));
    EXPECT_THAT(read(path("place/old.csv")), HasSubstr("a.png,"));
    EXPECT_EQ(predict(path("dangling.csv")).status, 0);
    EXPECT_THAT(read(path("place/new.csv")), HasSubstr("a.png,"));
    fs::create_symlink("circle.csv", folder_ / "circle.csv");
    expect_refused(predict(path("circle.csv")), 1, {"circle.csv: cannot write"});
    expect_refused(predict(path("place")), 1, {"place: expected the name of a file", "a folder"});
}

TEST_F(FileOutputs, NoInputIsWrittenOver) {
    fs::create_symlink("a.png", folder_ / "soft.png");
    fs::create_hard_link(folder_ / "a.png", folder_ / "hard.png");
    fs::create_hard_link(folder_ / "w.pth", folder_ / "w.npy");
    const std::string image = path("a.png");
    for (const char* name : {"a.png", "soft.png", "hard.png"}) {
        const Words output{"--output", path(name)};
        expect_kept(Words{"preprocess", "--model", "cait_xxs24_224", image} + output, image);
        expect_kept(Words{"predict", image} + kWeights + output, image);
        expect_kept(Words{"attend", image} + kWeights + output, image);
    }
    fs::create_directories(folder_ / "set/red");
    fs::rename(path("hard.png"), path("set/red/b.png"));
    const Words over_set{"--output", path("set/red/b.png")};
    expect_kept(Words{"predict", path("set")} + kWeights + over_set, image);
    expect_kept(Words{"data", "preview", "folder:" + path("set")} + over_set, image);
    const Words tiny = kTinyCait;
    expect_kept(Words{"forward", "--weights", path("w.npy"), "--input", path("x.npy"), "--output",
                      path("w.npy")} +
                    tiny,
                path("w.npy"));
    expect_kept(Words{"forward", "--weights", path("w.pth"), "--input", path("x.npy"), "--output",
                      path("x.npy")} +
                    tiny,
                path("x.npy"));
    ASSERT_EQ(cait({"convert", path("w.pth"), path("w.safetensors")}).status, 0);
    expect_kept({"convert", path("w.safetensors"), path("w.safetensors")}, path("w.safetensors"));
}

// What a killed program has left is used by the next one that writes the same file; what a living
// one is writing is not touched.
TEST_F(FileOutputs, TemporariesOfKilledProgramsDoNotPileUp) {
    const std::size_t before = files();
    write("o.csv.tmp.0", "half of it");
    EXPECT_EQ(predict(path("o.csv")).status, 0);
    EXPECT_EQ(files(), before + 1);
    EXPECT_FALSE(fs::exists(path("o.csv.tmp.0")));

    write("o.csv.tmp.0", "somebody's");
    const int living = ::open(path("o.csv.tmp.0").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(living, LOCK_EX), 0);
    EXPECT_EQ(predict(path("o.csv")).status, 0);
    EXPECT_EQ(read(path("o.csv.tmp.0")), "somebody's");
    ::close(living);

    // Nor is what somebody else has put there followed or written to.
    fs::remove(path("o.csv.tmp.0"));
    write("precious", "precious");
    fs::create_symlink("precious", folder_ / "o.csv.tmp.0");
    fs::create_hard_link(folder_ / "precious", folder_ / "o.csv.tmp.1");
    EXPECT_EQ(predict(path("o.csv")).status, 0);
    EXPECT_EQ(read(path("precious")), "precious");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("o.csv"))));
}

}  // namespace
}  // namespace cait::e2e
