// Files that change under a run: a shard that is shortened costs no training, and what a killed run
// has left goes away.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "data/formats/tar_archive.h"
#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TrainChanged : public TrainRun {
protected:
    // Noise that does not compress, of two megabytes: mapped, not read.
    static std::string shard() {
        RandomStream random(3, "shard");
        std::string archive;
        const auto add = [&](const std::string& name, std::string_view content) {
            archive += tar_header(name, content.size());
            archive += content;
            archive += tar_padding(content.size());
        };
        for (int i = 0; i < 96; ++i) {
            Image image = Image::blank(80, 80, 3);
            for (std::size_t p = 0; p < image.pixels.size(); ++p)
                image.pixels[p] =
                    std::uint8_t((int(p % 3) == i % 3 ? 110 : 60) + int(random.bits() % 80));
            const std::vector<std::byte> png = encode_png(image);
            add(fmt::format("{:03}.png", i),
                {reinterpret_cast<const char*>(png.data()), png.size()});
            add(fmt::format("{:03}.cls", i),
                std::array{"red", "green", "blue"}[std::size_t(i % 3)]);
        }
        return archive + tar_end();
    }

    static void expect_pipe_named(const Words& words, const std::string& name) {
        Running run(words);
        EXPECT_TRUE(eventually([&] { return run.over(); }, 60)) << name;
        if (!run.over()) run.signal(SIGKILL);
        const Finished finished = run.wait();
        EXPECT_EQ(finished.status, 1) << name;
        EXPECT_THAT(finished.err, HasSubstr(name + ": expected a regular file, found a pipe"));
    }

    Words on_shard(const std::string& run) const {
        return recipe(run, {"--data", "tar:" + path("s.tar"), "--epochs", "8"});
    }
};

TEST_F(TrainChanged, AShardThatIsShortenedCostsNoTraining) {
    const std::string whole = shard();
    ASSERT_GT(whole.size(), 1U << 20);
    write("s.tar", whole);
    ASSERT_EQ(cait(on_shard("straight")).status, 0);

    Running run(on_shard("run"));
    ASSERT_TRUE(
        eventually([&] { return fs::exists(path("run/state.safetensors")) || run.over(); }));
    fs::resize_file(path("s.tar"), 3000);
    const Finished broken = run.wait();
    EXPECT_EQ(broken.status, 1) << broken.err;
    EXPECT_THAT(broken.err, HasSubstr("s.tar: changed while in use"));
    EXPECT_THAT(broken.err, HasSubstr("the run is saved: go on with cait train --resume"));

    write("s.tar", whole);
    const Finished rest = cait({"train", "--resume", path("run")});
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(state("run"), state("straight"));
}

TEST_F(TrainChanged, WhatAKilledRunHasLeftGoesAway) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    write("run/state.safetensors.tmp.0", "half of it");
    write("run/best.safetensors.tmp.3", "half of it");
    write("run/notes.tmp", "somebody's own");
    write("run/packed.tmp.1", "somebody is writing it");
    const int living = ::open(path("run/packed.tmp.1").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(living, LOCK_EX), 0);
    EXPECT_EQ(cait({"train", "--resume", path("run")}).status, 0);
    ::close(living);
    EXPECT_FALSE(fs::exists(path("run/state.safetensors.tmp.0")));
    EXPECT_FALSE(fs::exists(path("run/best.safetensors.tmp.3")));
    EXPECT_TRUE(fs::exists(path("run/notes.tmp")));
    EXPECT_TRUE(fs::exists(path("run/packed.tmp.1")));
}

TEST_F(TrainChanged, APipeInTheFolderOfARunIsNamed) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    for (const char* file : {"metrics.jsonl", "state.safetensors", "recipe.toml"}) {
        const std::string name = path(std::string("run/") + file);
        fs::rename(name, path("kept"));
        ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
        expect_pipe_named({"train", "--resume", path("run"), "--epochs", "2"}, name);
        fs::rename(path("kept"), name);
    }
}

TEST_F(TrainChanged, APipeInPlaceOfWhatARunStartsFromIsNamed) {
    const std::string pipe = path("w.safetensors");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    expect_pipe_named(recipe("run", {"--weights", pipe}), pipe);
    expect_pipe_named(
        recipe("run", {"--set", "distill.kind=hard", "--set", "distill.teacher=cait_xxs24_224",
                       "--set", "distill.weights=" + pipe}),
        pipe);
    expect_pipe_named(recipe("run", {"--data", "tar:" + pipe}), pipe);
    EXPECT_FALSE(fs::exists(path("run")));
}

}  // namespace
}  // namespace cait::e2e
