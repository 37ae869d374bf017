// What is written replaces regular files only, whole or not at all: devices, pipes and links stay
// what they are, and so does every input. The devices are nodes of our own: a program that replaces
// /dev/null takes it from the whole machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const Words kOutputWeights = Words{"--weights", data("tiny_cait_zip.pth")} + kTinyCait;

class FileOutputs : public InFolder {
protected:
    FileOutputs() {
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7)));
        fs::copy(data("tiny_cait_zip.pth"), folder_ / "w.pth");
        fs::copy(data("images.npy"), folder_ / "x.npy");
    }

    Finished predict(const std::string& output) const {
        return cait(Words{"predict", path("a.png"), "--csv", "--output", output} + kOutputWeights);
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

// Each command that writes a file, with the name that it writes last.
TEST_F(FileOutputs, EveryCommandLeavesPipesAndLinksWhatTheyAre) {
    Model model = tiny_cait();
    model.set_classes({"class0", "class1", "class2"});
    model.save(folder_ / "w.safetensors");
    data_test::put_class_folders(folder_ / "set", 3, 2);
    const std::string image = path("a.png"), set = "folder:" + path("set");
    const Words with{"--weights", path("w.safetensors")};
    const std::pair<const char*, Words> commands[] = {
        {".csv", Words{"predict", image, "--csv"} + with + Words{"--output"}},
        {".png", Words{"attend", image} + with + Words{"--output"}},
        {".npy", Words{"preprocess", image} + with + Words{"--output"}},
        {".npy", Words{"forward", "--input", path("x.npy")} + with + Words{"--output"}},
        {".safetensors", {"convert", path("w.pth")}},
        {".html", Words{"eval", "--data", set} + with + Words{"--report"}},
        {".csv", Words{"eval", "--data", set} + with + Words{"--predictions"}},
        {".png", {"data", "preview", set, "--count", "2", "--output"}},
        {".packed", Words{"predict", image} + with + Words{"--packed"}},
        {".csv", {"data", "split", set, "--fraction", "0.5", "--output", path("kept.csv")}}};
    fs::create_directory(folder_ / "elsewhere");
    for (const auto& [extension, words] : commands) {
        SCOPED_TRACE(words[0] + " " + words.back());
        const std::string pipe = path(std::string("pipe") + extension);
        ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
        const Finished refused = cait(words + Words{pipe});
        EXPECT_EQ(refused.status, 1) << refused.err;
        EXPECT_THAT(refused.err, HasSubstr("nobody reads this pipe"));
        EXPECT_TRUE(fs::is_fifo(pipe));
        fs::remove(pipe);

        // A link to a file in another folder that is not there yet.
        const std::string link = path(std::string("link") + extension);
        const fs::path target = folder_ / "elsewhere" / (std::string("new") + extension);
        fs::create_symlink(fs::path("elsewhere") / target.filename(), link);
        const Finished through = cait(words + Words{link});
        EXPECT_EQ(through.status, 0) << through.err;
        EXPECT_TRUE(fs::is_symlink(link));
        EXPECT_TRUE(fs::is_regular_file(target));
        fs::remove(link);
        fs::remove(target);
    }
}

// Nothing above the place that the link leads to is among the outputs that were named.
TEST_F(FileOutputs, ALinkMayLeadToAnotherPlace) {
    fs::create_directories(folder_ / "a/here");
    fs::create_directories(folder_ / "b/there");
    for (const fs::path& target :
         {folder_ / "b/there/new.csv", fs::path("../../b/there/new.csv")}) {
        fs::create_symlink(target, folder_ / "a/here/link.csv");
        const Finished run = predict(path("a/here/link.csv"));
        EXPECT_EQ(run.status, 0) << run.err;
        EXPECT_THAT(read(path("b/there/new.csv")), HasSubstr("a.png,"));
        EXPECT_TRUE(fs::is_symlink(path("a/here/link.csv")));
        fs::remove(path("a/here/link.csv"));
        fs::remove(path("b/there/new.csv"));
    }
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
        expect_kept(Words{"predict", image} + kOutputWeights + output, image);
        expect_kept(Words{"attend", image} + kOutputWeights + output, image);
    }
    fs::create_directories(folder_ / "set/red");
    fs::rename(path("hard.png"), path("set/red/b.png"));
    const Words over_set{"--output", path("set/red/b.png")};
    expect_kept(Words{"predict", path("set")} + kOutputWeights + over_set, image);
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

TEST_F(FileOutputs, NoInputIsWrittenOverByEvaluationsAndLists) {
    Model model = tiny_cait();
    model.set_classes({"class0", "class1", "class2"});
    model.save(folder_ / "w.safetensors");
    fs::copy(folder_ / "w.safetensors", folder_ / "other.safetensors");
    fs::create_directory(folder_ / "run");
    fs::copy(folder_ / "w.safetensors", folder_ / "run/best.safetensors");
    data_test::put_class_folders(folder_ / "set", 3, 2);
    const Words eval{"eval", "--weights", path("w.safetensors"), "--data", "folder:" + path("set")};
    const std::string image = path("set/class0/0.png");
    for (const char* option : {"--report", "--predictions"}) {
        const auto expect = [&](const Words& more, const std::string& input) {
            expect_kept(eval + more + Words{option, input}, input);
        };
        expect({}, path("w.safetensors"));
        expect({}, image);
        expect({"--compare", path("other.safetensors")}, path("other.safetensors"));
        expect({"--compare", "cait_xxs24_224=" + path("other.safetensors")},
               path("other.safetensors"));
        // A run's folder is answered by a note about its epochs first.
        const std::string best = path("run/best.safetensors"), before = read(best);
        const Finished run = cait(eval + Words{"--compare", path("run"), option, best});
        EXPECT_EQ(run.status, 2);
        EXPECT_THAT(run.err, HasSubstr("would be written over, but is read"));
        EXPECT_TRUE(read(best) == before);
    }
    write("list.csv", "path,label\nset/class0/0.png,x\nset/class1/2.png,y\n");
    expect_kept({"data", "split", "csv:" + path("list.csv"), "--output",
                 path("list.csv") + "," + path("b.csv")},
                path("list.csv"));
}

// A file for packed weights is made and renewed, but nothing else is taken for one.
TEST_F(FileOutputs, PackedWeightsReplaceNothingElse) {
    tiny_cait().save(folder_ / "w.safetensors");
    const auto packed = [&](const std::string& file) {
        return cait(
            {"predict", path("a.png"), "--weights", path("w.safetensors"), "--packed", path(file)});
    };
    for (const char* file : {"w.safetensors", "a.png", "x.npy"}) {
        const std::string before = read(path(file));
        expect_refused(packed(file), 1, {path(file), "expected packed weights"});
        EXPECT_TRUE(read(path(file)) == before) << file;
    }
    write("empty", "");
    for (const char* file : {"new", "new", "empty"}) EXPECT_EQ(packed(file).status, 0) << file;
    EXPECT_THAT(read(path("new")), testing::StartsWith("CAITPACK"));
    EXPECT_EQ(read(path("empty")), read(path("new")));
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
