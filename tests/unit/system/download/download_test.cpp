// Downloads from a server on loopback that cuts connections, ignores ranges and sends wrong bytes.
#include "system/download/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "support/http_server.h"
#include "system/download/download_list.h"
#include "system/download/http_request.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using data_test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class DownloadTest : public testing::Test {
protected:
    DownloadTest() {
        for (int i = 0; i < 100'000; ++i) content_ += char('a' + i * i % 23);
        Digest digest(DigestKind::sha256);
        digest.add(std::as_bytes(std::span(content_)));
        expected_ = {content_.size(), Checksum{DigestKind::sha256, digest.hex()}};
        options_.pause = std::chrono::milliseconds(1);
    }

    Downloaded fetch() {
        return download(server_.address("/file"), expected_, folder_ / "file", options_);
    }
    void serve(test::HttpServer::File file) { server_.put("/file", std::move(file)); }
    std::string fetched() const { return read_file(folder_ / "file"); }
    bool has_part() const { return std::filesystem::exists(folder_ / "file.part"); }

    TemporaryFolder folder_;
    test::HttpServer server_;
    std::string content_;
    ExpectedFile expected_;
    DownloadOptions options_;
};

TEST_F(DownloadTest, FetchesAFileOnce) {
    serve({.content = content_});
    std::uint64_t last = 0;
    options_.progress = [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_GT(done, last);
        EXPECT_EQ(total, content_.size());
        last = done;
    };
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
    EXPECT_EQ(last, content_.size());
    EXPECT_EQ(folder_.file_count(), 1);
    EXPECT_EQ(fetch(), Downloaded::present);
    EXPECT_EQ(server_.requests().size(), 1U);
}

TEST_F(DownloadTest, GoesOnWhereTheConnectionBroke) {
    serve({.content = content_, .cut_after = 30'000, .cuts = 3});
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
    EXPECT_THAT(server_.requests(),
                ElementsAre("/file", "/file from 30000", "/file from 60000", "/file from 90000"));
}

// More breaks than retries are fine as long as each attempt brings something.
TEST_F(DownloadTest, ProgressResetsTheRetries) {
    options_.retries = 1;
    serve({.content = content_, .cut_after = 10'000, .cuts = 100});
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
}

TEST_F(DownloadTest, GivesUpAfterTheRetries) {
    options_.retries = 2;
    serve({.content = content_, .status = 503});
    EXPECT_THAT(error_of([&] { fetch(); }),
                AllOf(HasSubstr(server_.address("/file")), HasSubstr("503")));
    EXPECT_EQ(server_.requests().size(), 3U);
    EXPECT_EQ(folder_.file_count(), 0);
    serve({.content = content_, .status = 503, .failures = 2});
    EXPECT_EQ(fetch(), Downloaded::fetched);
}

TEST_F(DownloadTest, AMissingFileIsNotTriedAgain) {
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("404"));
    EXPECT_EQ(server_.requests().size(), 1U);
    EXPECT_EQ(folder_.file_count(), 0);
}

TEST_F(DownloadTest, AnEarlierRunIsContinued) {
    serve({.content = content_});
    write_file(folder_ / "file.part", content_.substr(0, 70'000));
    EXPECT_EQ(fetch(), Downloaded::resumed);
    EXPECT_EQ(fetched(), content_);
    EXPECT_THAT(server_.requests(), ElementsAre("/file from 70000"));
}

// All bytes were there, only the name was missing: no request at all.
TEST_F(DownloadTest, ACompletePartOnlyNeedsItsName) {
    write_file(folder_ / "file.part", content_);
    EXPECT_EQ(fetch(), Downloaded::resumed);
    EXPECT_TRUE(server_.requests().empty());
}

TEST_F(DownloadTest, AServerWithoutRangesSendsTheWholeAgain) {
    serve({.content = content_, .ranges = false});
    write_file(folder_ / "file.part", content_.substr(0, 70'000));
    fetch();
    EXPECT_EQ(fetched(), content_);
}

// The beginning of some other file: only the checksum shows it, and then all is fetched anew.
TEST_F(DownloadTest, AWrongBeginningIsFetchedAnew) {
    serve({.content = content_});
    write_file(folder_ / "file.part", std::string(70'000, 'X'));
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
    EXPECT_THAT(server_.requests(), ElementsAre("/file from 70000", "/file"));
    std::filesystem::remove(folder_ / "file");
    write_file(folder_ / "file.part", std::string(200'000, 'X'));  // and longer than the file
    fetch();
    EXPECT_EQ(fetched(), content_);
}

TEST_F(DownloadTest, WrongBytesNeverGetTheName) {
    std::string wrong = content_;
    wrong[50'000] ^= 1;
    serve({.content = wrong});
    EXPECT_THAT(
        error_of([&] { fetch(); }),
        AllOf(HasSubstr("SHA-256: expected " + expected_.checksum->hex), HasSubstr("found ")));
    EXPECT_EQ(folder_.file_count(), 0);
}

TEST_F(DownloadTest, AWrongSizeIsRefusedAtOnce) {
    serve({.content = content_ + "more"});
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("expected 100000 bytes, found"));
    serve({.content = "<html>moved</html>"});
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("expected 100000 bytes, found 18"));
    EXPECT_EQ(server_.requests().size(), 2U);
    EXPECT_EQ(folder_.file_count(), 0);
}

TEST_F(DownloadTest, WithoutExpectationsTheServerDecides) {
    serve({.content = content_});
    expected_ = {};
    write_file(folder_ / "file.part", content_ + "more");  // answered with 416
    fetch();
    EXPECT_EQ(fetched(), content_);
    server_.put("/empty", {});
    download(server_.address("/empty"), {}, folder_ / "empty", options_);
    EXPECT_EQ(read_file(folder_ / "empty"), "");
}

TEST_F(DownloadTest, ADamagedFileIsReplaced) {
    serve({.content = content_});
    write_file(folder_ / "file", "damaged");
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
}

TEST_F(DownloadTest, FollowsRedirectionsToHttpOnly) {
    serve({.redirect = "/elsewhere"});
    server_.put("/elsewhere", {.content = content_, .cut_after = 60'000, .cuts = 1});
    fetch();
    EXPECT_EQ(fetched(), content_);
    serve({.redirect = "file:///etc/hostname"});
    std::filesystem::remove(folder_ / "file");
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("rotocol"));
    EXPECT_FALSE(has_part());
}

TEST_F(DownloadTest, WrongAddressesAreRefused) {
    for (const std::string address : {"file:///etc/hostname", "gopher://127.0.0.1/x", "no address"})
        EXPECT_NE(error_of([&] { download(address, {}, folder_ / "x", options_); }), "");
    EXPECT_EQ(folder_.file_count(), 0);
    EXPECT_THAT(
        error_of([&] { download(server_.address("/file"), {}, folder_ / "none" / "x", options_); }),
        HasSubstr("cannot create"));
}

TEST_F(DownloadTest, TwoAtOnceDoNotSpoilEachOther) {
    write_file(folder_ / "file.part", "abc");
    const int other = ::open((folder_ / "file.part").c_str(), O_RDWR);
    ASSERT_EQ(::flock(other, LOCK_EX), 0);
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("another download"));
    ::close(other);
    EXPECT_EQ(read_file(folder_ / "file.part"), "abc");
}

TEST_F(DownloadTest, TheSecondOfTwoMayWaitForTheFirst) {
    serve({.content = content_});
    write_file(folder_ / "file.part", "");
    const int other = ::open((folder_ / "file.part").c_str(), O_RDWR);
    ASSERT_EQ(::flock(other, LOCK_EX), 0);
    options_.wait = true;
    auto outcome = std::async(std::launch::async, [&] { return fetch(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // What a first one does: fill, rename, close.
    write_file(folder_ / "file.part", content_);
    std::filesystem::rename(folder_ / "file.part", folder_ / "file");
    ::close(other);
    EXPECT_EQ(outcome.get(), Downloaded::present);
    EXPECT_TRUE(server_.requests().empty());
    EXPECT_EQ(folder_.file_count(), 1);
}

TEST_F(DownloadTest, TheBeginningOfAChecksumDecides) {
    serve({.content = content_});
    const std::string whole = expected_.checksum->hex;
    expected_.checksum->hex = "00000000";
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("expected 00000000, found " + whole));
    expected_.checksum->hex = whole.substr(0, 8);
    EXPECT_EQ(fetch(), Downloaded::fetched);
}

TEST_F(DownloadTest, WhatIsNotTheFileByItsContentIsRefused) {
    serve({.content = content_});
    expected_.check = [](const std::filesystem::path&) { throw Error("no weights"); };
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("/file: no weights"));
    EXPECT_EQ(folder_.file_count(), 0);
}

TEST_F(DownloadTest, AFileIsCopiedInWithTheSameChecks) {
    write_file(folder_ / "source", content_);
    const auto copy = [&] { return copy_in(folder_ / "source", expected_, folder_ / "file"); };
    EXPECT_EQ(copy(), Downloaded::fetched);
    EXPECT_EQ(fetched(), content_);
    EXPECT_EQ(copy(), Downloaded::present);
    write_file(folder_ / "file", "old");
    write_file(folder_ / "source", content_ + "more");
    EXPECT_THAT(error_of(copy), HasSubstr("source: expected 100000 bytes, found 100004"));
    EXPECT_EQ(fetched(), "old");
    EXPECT_FALSE(has_part());
}

// Each attempt brings some bytes; without a limit that could go on for years.
TEST_F(DownloadTest, AServerThatDripsIsGivenUp) {
    serve({.content = content_, .slow_bytes = 100});
    options_.stall = std::chrono::seconds(1);
    options_.retries = 1;
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("Operation too slow"));
    EXPECT_EQ(server_.requests().size(), 2U);
    EXPECT_TRUE(has_part());  // a faster day will need it
}

TEST_F(DownloadTest, APartThatIsALinkIsNotWrittenThrough) {
    serve({.content = content_});
    write_file(folder_ / "precious", "precious");
    std::filesystem::create_symlink("precious", folder_ / "file.part");
    EXPECT_THAT(error_of([&] { fetch(); }),
                HasSubstr("file.part: expected a regular file, found a symbolic link"));
    std::filesystem::remove(folder_ / "file.part");
    ASSERT_EQ(::mkfifo((folder_ / "file.part").c_str(), 0600), 0);
    EXPECT_THAT(error_of([&] { fetch(); }), HasSubstr("found a pipe"));
    EXPECT_EQ(read_file(folder_ / "precious"), "precious");
    EXPECT_TRUE(server_.requests().empty());
}

TEST_F(DownloadTest, ALinkInPlaceOfTheFileStays) {
    serve({.content = content_});
    std::filesystem::create_symlink("elsewhere", folder_ / "file");
    EXPECT_EQ(fetch(), Downloaded::fetched);
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "file"));
    EXPECT_EQ(read_file(folder_ / "elsewhere"), content_);
}

TEST_F(DownloadTest, NoMessageHasThePassword) {
    const std::string host = server_.address("/file").substr(7);
    const auto message_for = [&](const std::string& credentials) {
        return error_of([&] {
            download("http://" + credentials + host, expected_, folder_ / "file", options_);
        });
    };
    EXPECT_THAT(message_for("me:sec@ret@"), Not(HasSubstr("ret@")));  // no address at all
    for (const char* credentials : {"me:secret@", "secret@"}) {
        serve({.status = 404});
        EXPECT_THAT(message_for(credentials),
                    AllOf(HasSubstr("http://" + host), Not(HasSubstr("ret@"))));
        serve({.content = "short"});
        EXPECT_THAT(message_for(credentials),
                    AllOf(HasSubstr("expected 100000"), Not(HasSubstr("ret@"))));
    }
    EXPECT_EQ(without_credentials("https://me:secret@host:8/a@b"), "https://host:8/a@b");
    EXPECT_EQ(without_credentials("https://host/a@b?c=d@e"), "https://host/a@b?c=d@e");
    EXPECT_EQ(without_credentials("me:secret@host/a"), "host/a");
}

TEST(DownloadList, IsComplete) {
    for (const ListedDataset& dataset : downloadable_datasets()) {
        EXPECT_TRUE(dataset.address.starts_with("http")) << dataset.name;
        EXPECT_FALSE(dataset.files.empty());
        for (const ListedFile& file : dataset.files) {
            ASSERT_TRUE(file.expected.checksum.has_value());
            EXPECT_EQ(file.expected.checksum->hex.size(), 32U) << file.name;
            EXPECT_GT(file.expected.size.value_or(0), 0U) << file.name;
        }
        EXPECT_EQ(&find_downloadable(dataset.name), &dataset);
    }
    EXPECT_EQ(find_downloadable("mnist").size(), 11'594'722U);
    EXPECT_THAT(error_of([] { find_downloadable("cifar-10"); }),
                AllOf(HasSubstr("'cifar-10'"), HasSubstr("did you mean 'cifar10'")));
}

TEST(DownloadList, AddressesAreJoinedWithOneSlash) {
    EXPECT_EQ(join_address("http://host/folder", "file"), "http://host/folder/file");
    EXPECT_EQ(join_address("http://host/folder/", "file"), "http://host/folder/file");
}

}  // namespace
}  // namespace cait
