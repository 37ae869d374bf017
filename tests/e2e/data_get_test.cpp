// `cait data get` from a mirror on loopback that has the real files of Fashion-MNIST, so that the
// sizes and checksums in the program are those that decide. The files come from Debian's package,
// which differs from the authors' files only in the gzip header, and are made whole again here.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "e2e/command.h"
#include "support/http_server.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPackage = "/usr/share/datasets/fashion-mnist";
const std::string kTrainImages = "train-images-idx3-ubyte.gz";
const std::string kTrainLabels = "train-labels-idx1-ubyte.gz";
const std::string kTestImages = "t10k-images-idx3-ubyte.gz";
const std::string kTestLabels = "t10k-labels-idx1-ubyte.gz";

// Debian drops name and time from gzip headers; these are the authors' (31 August 2017).
std::string authors_file(const std::string& name) {
    const std::string stripped = read(std::string(kPackage) + "/" + name);
    const std::uint32_t time = name.starts_with("train") ? 1504176606 : 1504176627;
    std::string header = "\x1f\x8b\x08\x08";  // deflate, with a name
    for (int i = 0; i < 4; ++i) header += char(time >> (8 * i));
    header += stripped.substr(8, 2);
    header += name.substr(0, name.size() - 3);
    header += '\0';
    return header + stripped.substr(10);
}

class DataGet : public InFolder {
protected:
    void SetUp() override {
        if (!fs::exists(kPackage))
            GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
        for (const std::string& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels})
            serve(name);
    }

    void serve(const std::string& name, test::HttpServer::File file = {}) {
        if (file.content.empty()) file.content = authors_file(name);
        server_.put("/" + name, std::move(file));
    }

    std::vector<std::string> words() const {
        return {"data", "get", "fashion-mnist", "--to", path("set"), "--base", server_.address()};
    }
    Finished get() const { return cait(words()); }

    void expect_whole() const {
        const Finished stats = cait({"data", "stats", "fashion-mnist:" + path("set"), "--json"});
        ASSERT_EQ(stats.status, 0) << stats.err;
        EXPECT_EQ(nlohmann::json::parse(stats.out)["images"], 60'000);
    }

    test::HttpServer server_;
};

TEST_F(DataGet, FetchesOnceAndGivesADataSet) {
    const Finished first = get();
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_THAT(first.out, AllOf(HasSubstr(kTrainImages + ": 26.4 MB, fetched"),
                                 HasSubstr("the data set is fashion-mnist:" + path("set"))));
    for (const std::string& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels})
        EXPECT_TRUE(read(path("set/" + name)) == authors_file(name)) << name;
    expect_whole();

    const Finished second = get();
    EXPECT_EQ(second.status, 0) << second.err;
    EXPECT_THAT(second.out, HasSubstr(kTestLabels + ": 5.1 kB, already there"));
    EXPECT_EQ(server_.requests().size(), 4U);
}

TEST_F(DataGet, GoesOnWhenTheConnectionBreaks) {
    serve(kTestImages, {.cut_after = 1'500'000, .cuts = 2});
    const Finished got = get();
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_THAT(server_.requests(),
                ElementsAre("/" + kTrainImages, "/" + kTrainLabels, "/" + kTestImages,
                            "/" + kTestImages + " from 1500000",
                            "/" + kTestImages + " from 3000000", "/" + kTestLabels));
    EXPECT_TRUE(read(path("set/" + kTestImages)) == authors_file(kTestImages));
}

// The program is killed in the middle; the next run asks for the rest only.
TEST_F(DataGet, GoesOnAfterItWasKilled) {
    constexpr std::size_t kSent = 12'345'678;
    serve(kTrainImages, {.hold_after = kSent});
    std::vector<std::string> all = words();
    all.insert(all.begin(), program());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    const fs::path part = path("set/" + kTrainImages + ".part");
    std::error_code missing;
    for (int i = 0; i < 2000 && fs::file_size(part, missing) != kSent; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(fs::file_size(part), kSent);
    EXPECT_FALSE(fs::exists(path("set/" + kTrainImages)));

    const Finished got = get();
    ASSERT_EQ(got.status, 0) << got.err;
    EXPECT_THAT(got.out, HasSubstr(kTrainImages + ": 26.4 MB, resumed"));
    EXPECT_EQ(server_.requests().at(1), "/" + kTrainImages + " from " + std::to_string(kSent));
    EXPECT_TRUE(read(path("set/" + kTrainImages)) == authors_file(kTrainImages));
    EXPECT_FALSE(fs::exists(part));
}

TEST_F(DataGet, AnUnfinishedFileThatIsALinkIsRefused) {
    fs::create_directories(path("set"));
    write("precious", "precious");
    fs::create_symlink("../precious", path("set/" + kTrainImages + ".part"));
    const Finished got = get();
    EXPECT_EQ(got.status, 1);
    EXPECT_THAT(got.err, HasSubstr(".part: expected a regular file, found a symbolic link"));
    EXPECT_EQ(read(path("precious")), "precious");
}

TEST_F(DataGet, NoPasswordIsShown) {
    serve(kTrainImages, {.status = 404});
    const std::string base = "http://me:secret@" + server_.address().substr(7);
    const Finished got =
        cait({"data", "get", "fashion-mnist", "--to", path("set"), "--base", base});
    EXPECT_EQ(got.status, 1);
    EXPECT_THAT(got.out + got.err,
                AllOf(HasSubstr(server_.address() + "/" + kTrainImages), Not(HasSubstr("secret"))));
}

// Some bytes a second, without end. Each of five attempts is given up after a minute.
class DataGetSlow : public DataGet {};

TEST_F(DataGetSlow, AServerThatDripsIsGivenUp) {
    serve(kTrainImages, {.slow_bytes = 3});
    const Finished got = get();
    EXPECT_EQ(got.status, 1);
    EXPECT_THAT(got.err,
                HasSubstr(kTrainImages + ": Operation too slow. Less than 1024 bytes/sec"));
    EXPECT_LT(got.seconds, 420);
}

TEST_F(DataGet, OneWrongBitIsFound) {
    std::string wrong = authors_file(kTestImages);
    wrong[2'000'000] ^= 1;
    serve(kTestImages, {.content = wrong});
    const Finished got = get();
    EXPECT_EQ(got.status, 1);
    EXPECT_THAT(got.err, AllOf(HasSubstr(kTestImages + ": MD5: expected bef4ecab320f06d8"),
                               HasSubstr("found ")));
    EXPECT_TRUE(fs::exists(path("set/" + kTrainImages)));  // what was right stays
    EXPECT_FALSE(fs::exists(path("set/" + kTestImages)));
    EXPECT_FALSE(fs::exists(path("set/" + kTestImages + ".part")));
    serve(kTestImages);
    EXPECT_EQ(get().status, 0);
}

TEST_F(DataGet, AnotherSizeIsRefusedBeforeItIsFetched) {
    serve(kTrainLabels, {.content = authors_file(kTrainLabels) + "more"});
    const Finished got = get();
    EXPECT_EQ(got.status, 1);
    EXPECT_THAT(got.err, HasSubstr("expected 29515 bytes, found at least 29519"));
    EXPECT_FALSE(fs::exists(path("set/" + kTrainLabels)));
    EXPECT_EQ(server_.requests().size(), 2U);
}

}  // namespace
}  // namespace cait::e2e
