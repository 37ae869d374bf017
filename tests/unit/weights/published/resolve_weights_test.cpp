// Which file of a run is meant. What lies in its folder may be somebody else's: links are not
// followed.
#include "weights/published/resolve_weights.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "cait/error.h"
#include "support/temporary_folder.h"

namespace cait {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class WeightsOfRun : public testing::Test {
protected:
    WeightsOfRun() { fs::create_directories(run()); }
    fs::path run() const { return folder_ / "run"; }
    void put(const std::string& name) const { write_file(run() / name, "x"); }
    fs::path found(const std::string& epoch = "") const {
        return resolve_weights(run().string() + epoch, "", {});
    }
    TemporaryFolder folder_;
};

TEST_F(WeightsOfRun, AreTheBestOrElseTheLast) {
    EXPECT_THAT([&] { found(); }, ThrowsMessage<Error>(HasSubstr("without best.safetensors")));
    put("last.safetensors");
    EXPECT_EQ(found(), run() / "last.safetensors");
    put("best.safetensors");
    EXPECT_EQ(found(), run() / "best.safetensors");
    EXPECT_EQ(found(":last"), run() / "last.safetensors");
    EXPECT_THAT([&] { found(":last_ema"); },
                ThrowsMessage<Error>(HasSubstr("expected last_ema.safetensors")));
}

TEST_F(WeightsOfRun, AreNotBehindALink) {
    write_file(folder_ / "elsewhere", "x");
    put("last.safetensors");
    fs::create_symlink(folder_ / "elsewhere", run() / "best.safetensors");
    for (const char* epoch : {"", ":best"})
        EXPECT_THAT([&] { found(epoch); },
                    ThrowsMessage<Error>(HasSubstr("best.safetensors: expected a regular file, "
                                                   "found a symbolic link")))
            << epoch;
    EXPECT_EQ(found(":last"), run() / "last.safetensors");
    fs::remove(run() / "best.safetensors");
    fs::create_symlink("nowhere", run() / "best.safetensors");
    EXPECT_THROW(found(), Error);
}

TEST_F(WeightsOfRun, MayBeInAFolderThatALinkNames) {
    put("best.safetensors");
    fs::create_directory_symlink(run(), folder_ / "link");
    EXPECT_EQ(resolve_weights((folder_ / "link").string(), "", {}),
              folder_ / "link/best.safetensors");
}

}  // namespace
}  // namespace cait
