// What is read has to be a regular file: a pipe under any of its names is said, never waited for.
// And folders that lead to each other without end are walked in time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/formats/tar_archive.h"
#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const Words kWeights = Words{"--weights", data("tiny_cait_zip.pth")} + kTinyCait;

class FileInputs : public InFolder {
protected:
    // A pipe without a writer: opening it as a file would wait for ever.
    std::string pipe(const std::string& name) const {
        fs::create_directories((folder_ / name).parent_path());
        EXPECT_EQ(::mkfifo(path(name).c_str(), 0600), 0);
        return path(name);
    }

    static Finished in_time(const Words& words) {
        Running run(words);
        EXPECT_TRUE(eventually([&] { return run.over(); }, kSanitized ? 120 : 20))
            << "still waiting: " << testing::PrintToString(words);
        if (!run.over()) run.signal(SIGKILL);
        return run.wait();
    }

    static void expect_pipe_refused(const Words& words) {
        const Finished run = in_time(words);
        EXPECT_EQ(run.status, 1) << run.err;
        EXPECT_THAT(run.err, HasSubstr("expected a regular file, found a pipe")) << words.front();
    }
};

TEST_F(FileInputs, APipeInPlaceOfWeightsOrImagesIsNamed) {
    data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7)));
    const std::string weights = pipe("w.safetensors"), image = pipe("b.png");
    expect_pipe_refused({"inspect", weights});
    expect_pipe_refused({"convert", weights, path("o.safetensors")});
    expect_pipe_refused({"predict", "--weights", weights, path("a.png")});
    expect_pipe_refused(Words{"predict", image} + kWeights);
    expect_pipe_refused(Words{"attend", image, "--output", path("o.png")} + kWeights);
    expect_pipe_refused(
        {"preprocess", "--model", "cait_xxs24_224", image, "--output", path("o.npy")});
    expect_pipe_refused(Words{"forward", "--input", pipe("x.npy"), "--output", path("o.npy")} +
                        kWeights);
    expect_pipe_refused(Words{"predict", pipe("list.txt")} + kWeights);
    expect_pipe_refused(Words{"predict", "--classes", pipe("names"), path("a.png")} + kWeights);
    for (const char* output : {"o.safetensors", "o.png", "o.npy"})
        EXPECT_FALSE(fs::exists(path(output)));
}

TEST_F(FileInputs, APipeIsNamedByWhateverElseReadsWeights) {
    data_test::put_class_folders(folder_ / "set", 3, 1);
    const std::string weights = pipe("w.safetensors"), set = "folder:" + path("set");
    expect_pipe_refused({"inspect", "--graph", weights});
    expect_pipe_refused({"inspect", "--verify", weights});
    expect_pipe_refused({"bench", weights});
    expect_pipe_refused({"eval", "--weights", weights, "--data", set});
    expect_pipe_refused(Words{"eval", "--compare", weights, "--data", set} + kWeights);
    expect_pipe_refused(
        {"preprocess", "--weights", weights, path("set/class0/0.png"), "--output", path("o.npy")});
    expect_pipe_refused(Words{"convert", data("tiny_cait_zip.pth"), path("o.safetensors"),
                              "--classes", pipe("names")} +
                        kTinyCait);
    expect_pipe_refused(
        {"data", "preview", set, "--augment", pipe("r.toml"), "--output", path("o.png")});
    // An image among others costs only its own place.
    pipe("set/class0/pipe.png");
    const Finished verify = in_time({"data", "verify", set});
    EXPECT_EQ(verify.status, 1);
    EXPECT_THAT(verify.out, HasSubstr("pipe.png: expected a regular file, found a pipe"));
}

// /dev/zero has no end: whoever reads it as a file never stops.
TEST_F(FileInputs, ADeviceOrAFolderInPlaceOfAFileIsNamed) {
    fs::create_directories(folder_ / "folder.d");
    write("own.toml", "base = \"/dev/zero\"\n");
    const std::string zero = "/dev/zero", folder = path("folder.d");
    const auto expect_named = [](const Words& words, const std::string& kind) {
        const Finished run = in_time(words);
        EXPECT_EQ(run.status, 1) << run.err;
        EXPECT_THAT(run.err, HasSubstr("expected a regular file, found " + kind));
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 200'000) << words.front();
        }
    };
    const Words npy{"--output", path("o.npy")}, model{"--model", "cait_xxs24_224"};
    for (const auto& [place, kind] :
         {std::pair(zero, std::string("a device")), std::pair(folder, std::string("a folder"))}) {
        expect_named(Words{"forward", "--input", place} + npy + kWeights, kind);
        expect_named(Words{"preprocess", place} + npy + model, kind);
        expect_named({"data", "stats", "csv:" + place}, kind);
    }
    expect_named({"data", "stats", "tar:" + zero}, "a device");
    expect_named({"data", "stats", "idx:" + zero + "?labels=" + zero}, "a device");
    expect_named({"inspect", zero}, "a device");
    expect_named({"predict", "--weights", zero, path("a.png")}, "a device");
    expect_named(Words{"predict", zero} + kWeights, "a device");
    expect_named({"train", path("own.toml"), "--print"}, "a device");
}

TEST_F(FileInputs, APipeInPlaceOfARecipeIsNamed) {
    expect_pipe_refused({"train", pipe("r.toml"), "--print"});
    write("own.toml", "base = \"" + path("r.toml") + "\"\n");
    expect_pipe_refused({"train", path("own.toml"), "--print"});
}

TEST_F(FileInputs, APipeInPlaceOfADataSetIsNamed) {
    expect_pipe_refused({"data", "stats", "tar:" + pipe("a.tar")});
    expect_pipe_refused({"data", "stats", "csv:" + pipe("a.csv")});
    expect_pipe_refused({"data", "stats", "idx:" + pipe("images") + "?labels=" + pipe("labels")});
    fs::create_directories(folder_ / "cifar");
    write("cifar/batches.meta.txt", "cat\ndog\n");
    pipe("cifar/test_batch.bin");
    expect_pipe_refused({"data", "stats", "cifar10:" + path("cifar") + "?split=test"});
}

TEST_F(FileInputs, LinksToLinksAreWalkedOnce) {
    // 2^40 ways to the one image.
    for (int i = 0; i < 40; ++i) fs::create_directories(folder_ / ("all/" + std::to_string(i)));
    for (int i = 0; i + 1 < 40; ++i)
        for (const char* name : {"x", "y"})
            fs::create_directory_symlink("../" + std::to_string(i + 1),
                                         folder_ / ("all/" + std::to_string(i)) / name);
    data_test::put(folder_ / "all/39/a.png", data_test::png(data_test::numbered_image(7)));
    fs::create_directories(folder_ / "set");
    fs::create_directory_symlink("../all/0", folder_ / "set/0");
    const Finished stats = in_time({"data", "stats", "folder:" + path("set"), "--json"});
    EXPECT_EQ(stats.status, 0) << stats.err;
    EXPECT_THAT(stats.out, HasSubstr("\"images\": 1,"));
    const Finished run = in_time(Words{"predict", path("all")} + kWeights);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("/39/a.png"));
}

TEST_F(FileInputs, FoldersWithoutEndAreRefused) {
    // Made and removed step by step: the whole name is longer than the system takes.
    const int start = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fs::create_directories(folder_ / "set/deep");
    ASSERT_EQ(::chdir(path("set/deep").c_str()), 0);
    constexpr int kDepth = 3000;
    for (int i = 0; i < kDepth; ++i) {
        ASSERT_EQ(::mkdir("d", 0700), 0);
        ASSERT_EQ(::chdir("d"), 0);
    }
    std::vector<Finished> runs;
    for (const Words& words : {Words{"data", "stats", "folder:" + path("set")},
                               Words{"data", "verify", "folder:" + path("set")},
                               Words{"predict", path("set")} + kWeights,
                               Words{"eval", "--data", "folder:" + path("set")} + kWeights})
        runs.push_back(in_time(words));
    for (int i = 0; i < kDepth; ++i) {
        ASSERT_EQ(::chdir(".."), 0);
        ASSERT_EQ(::rmdir("d"), 0);
    }
    ASSERT_EQ(::fchdir(start), 0);
    ::close(start);
    for (const Finished& run : runs)
        expect_refused(run, 1, {path("set"), ": expected folders at most 64 deep"});
}

// Cut anywhere after a member, such a shard reads as a whole one with fewer images.
TEST_F(FileInputs, AShardThatWasCutIsNotWhole) {
    std::string shard;
    for (int i = 0; i < 3; ++i) {
        const std::string image = data_test::png(data_test::numbered_image(i));
        const std::string key = std::to_string(i);
        shard += tar_header(key + ".png", image.size()) + image + tar_padding(image.size());
        shard += tar_header(key + ".cls", 1) + "0" + tar_padding(1);
    }
    const std::size_t members = shard.size();
    shard += tar_end();
    write("s.tar", shard);
    const std::string uri = "tar:" + path("s.tar");
    EXPECT_EQ(cait({"data", "verify", uri}).status, 0);
    for (std::size_t length = 512; length < shard.size(); length += 256) {
        write("s.tar", shard.substr(0, length));
        const Finished run = cait({"data", "verify", uri});
        EXPECT_EQ(run.status, 1) << length << " of " << shard.size() << " bytes: " << run.out;
        if (length >= members) {
            EXPECT_THAT(run.out, HasSubstr("s.tar: cut off")) << length;
        }
        EXPECT_THAT(run.err, HasSubstr("s.tar")) << length;
    }
}

}  // namespace
}  // namespace cait::e2e
