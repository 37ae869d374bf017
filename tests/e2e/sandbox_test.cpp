// Commands that read what strangers made have given up network, programs and writing elsewhere.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "e2e/tiny_models.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

const Words kLong = {"bench",     "cait_xxs24_224",
                     "--set",     "model.image_size=16",
                     "--set",     "model.patch=8",
                     "--set",     "model.depth=2",
                     "--set",     "model.dim=16",
                     "--set",     "model.heads=2",
                     "--batch",   "1",
                     "--threads", "2",
                     "--seconds", "30"};

class SandboxedCommands : public InFolder {};

TEST(Sandbox, IsEnteredBeforeTheWorkBegins) {
    Running run(kLong);
    EXPECT_TRUE(eventually([&] { return status_of(run.pid(), "Seccomp") == "2"; }, 20));
    EXPECT_EQ(status_of(run.pid(), "NoNewPrivs"), "1");
}

TEST(Sandbox, CanBeSwitchedOff) {
    const Variable off("CAIT_SANDBOX", "off");
    Running run(kLong);
    EXPECT_TRUE(eventually([&] { return status_of(run.pid(), "Threads") != "1"; }, 20));
    EXPECT_EQ(status_of(run.pid(), "Seccomp"), "0");
    const Finished machine = cait({"machine"});
    EXPECT_THAT(machine.out, HasSubstr("off (CAIT_SANDBOX=off)"));
}

// A word that nobody understands is met by whoever is about to enter, and before any file is read.
TEST_F(SandboxedCommands, AllThatReadFilesEnter) {
    const std::string file = data("tiny_cait_zip.pth"), set = "folder:" + path("none");
    const Words with{"--weights", file};  // found before the sandbox closes
    const Variable nonsense("CAIT_SANDBOX", "perhaps");
    for (const Words& words :
         {Words{"predict", path("none.png")} + with,
          Words{"attend", path("none.png"), "--output", path("o.png")} + with,
          Words{"eval", "--data", set} + with,
          Words{"forward", "--input", path("none.npy"), "--output", path("o.npy")} + with,
          Words{"preprocess", path("none.png"), "--output", path("o.npy")} + with,
          Words{"inspect", file}, Words{"inspect", "--graph", file},
          Words{"inspect", "--verify", file}, Words{"convert", file, path("o.safetensors")},
          Words{"bench", file}, Words{"data", "stats", set}, Words{"data", "verify", set},
          Words{"data", "preview", set, "--output", path("o.png")},
          Words{"data", "split", set, "--output", path("a.csv") + "," + path("b.csv")},
          Words{"data", "pack", set, path("shards")}}) {
        SCOPED_TRACE(words[0] + " " + words[1]);
        expect_refused(cait(words), 2, {"CAIT_SANDBOX", "perhaps"});
    }
}

// The program waits for names of images while the folder of its output is exchanged for a link to
// another one: what was not named as an output cannot be written.
TEST_F(SandboxedCommands, NothingButTheOutputsCanBeWritten) {
    if (cait({"machine"}).out.find("no Landlock") != std::string::npos)
        GTEST_SKIP() << "this system has no Landlock";
    namespace fs = std::filesystem;
    data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7)));
    fs::create_directory(folder_ / "other");
    const auto predict_into_another_folder = [&] {
        fs::create_directory(folder_ / "out");
        Listening run(Words{"predict", "-", "--csv", "--output", path("out/o.csv"), "--weights",
                            data("tiny_cait_zip.pth")} +
                      kTinyCait);
        EXPECT_TRUE(eventually([&] {  // waits in read()
            return read(fmt::format("/proc/{}/syscall", run.pid())).starts_with("0 0x0 ");
        }));
        EXPECT_EQ(status_of(run.pid(), "Seccomp"),
                  std::getenv("CAIT_SANDBOX") == nullptr ? "2" : "0");
        fs::rename(folder_ / "out", folder_ / "moved");
        fs::create_directory_symlink("other", folder_ / "out");
        Finished finished = run.tell(path("a.png") + "\n");
        fs::remove(folder_ / "out");
        fs::remove_all(folder_ / "moved");
        return finished;
    };
    expect_refused(predict_into_another_folder(), 1, {path("out/o.csv"), "Permission denied"});
    EXPECT_TRUE(fs::is_empty(folder_ / "other"));
    const Variable off("CAIT_SANDBOX", "off");
    EXPECT_EQ(predict_into_another_folder().status, 0);
    EXPECT_TRUE(fs::exists(folder_ / "other/o.csv"));
}

TEST(Sandbox, RefusesOtherWords) {
    const Variable nonsense("CAIT_SANDBOX", "perhaps");
    expect_refused(cait(kLong), 2, {"CAIT_SANDBOX", "on or off", "perhaps"});
}

}  // namespace
}  // namespace cait::e2e
