#include "serve/access_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/temporary_folder.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::HasSubstr;

const Exchange kExchange{"127.0.0.1", "GET", "/a\x1b[31m\n\"b", 404, 1, 2, 0.0015};

TEST(AccessLog, ALineIsOneObjectWhateverWasAskedFor) {
    const std::string line = log_line(kExchange);
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    const nlohmann::json parsed = nlohmann::json::parse(line);
    EXPECT_EQ(parsed["status"], 404);
    EXPECT_EQ(parsed["ms"], 1.5);
    EXPECT_EQ(parsed["target"], "/a\\x1b[31m\\x0a\"b");
}

TEST(AccessLog, WritesAllBeforeItEnds) {
    std::string written;
    {
        AccessLog log([&](const std::string& lines) {
            written += lines;
            return AccessLog::Wrote::all;
        });
        for (int i = 0; i < 500; ++i) log.add(kExchange);
    }
    EXPECT_EQ(std::ranges::count(written, '\n'), 500);
}

TEST(AccessLog, AppendsToAFile) {
    const TemporaryFolder folder;
    const auto file = folder / "log";
    for (int i = 0; i < 2; ++i) AccessLog(file).add(kExchange);
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    EXPECT_EQ(std::ranges::count(text.str(), '\n'), 2);
    EXPECT_THROW(AccessLog(folder / "none/log"), Error);
}

TEST(AccessLog, LinesThatCannotBeWrittenAreCounted) {
    std::string written;
    bool full = true;
    AccessLog log([&](const std::string& lines) {
        EXPECT_LE(lines.size(), AccessLog::kPiece);
        EXPECT_TRUE(lines.ends_with('\n'));
        if (full) {
            full = false;
            return AccessLog::Wrote::lost;
        }
        written += lines;
        return AccessLog::Wrote::all;
    });
    for (int i = 0; i < 100; ++i) log.add(kExchange);
    const std::size_t lost = log.finish();
    EXPECT_GE(lost, 1U);
    EXPECT_LE(lost, 20U);  // one piece
    std::istringstream lines(written);
    std::string line;
    std::size_t there = 0, told = 0;
    while (std::getline(lines, line)) {
        const nlohmann::json parsed = nlohmann::json::parse(line);
        parsed.contains("lost") ? told += parsed["lost"].get<std::size_t>() : ++there;
    }
    EXPECT_EQ(there + lost, 100U);
    EXPECT_EQ(told, lost);
}

// Nobody waits for a reader: not to open a pipe, not while it is full, not at the end.
TEST(AccessLog, APipeIsNotWaitedFor) {
    std::signal(SIGPIPE, SIG_IGN);  // as the program does
    const TemporaryFolder folder;
    const auto pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    try {
        const AccessLog log(pipe);
        ADD_FAILURE() << "was opened";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("nobody reads from this pipe"));
    }
    int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const auto begin = std::chrono::steady_clock::now();
    {
        AccessLog log(pipe);
        for (int i = 0; i < 3000; ++i) log.add(kExchange);  // some 400 kB
        EXPECT_GT(log.finish(), 100U);
    }
    std::string text(1 << 20, '\0');
    const ssize_t count = ::read(reader, text.data(), text.size());
    ASSERT_GT(count, 1000);
    EXPECT_EQ(text[std::size_t(count) - 1], '\n');  // whole lines
    {
        AccessLog log(pipe);
        ::close(reader);
        log.add(kExchange);
        EXPECT_EQ(log.finish(), 1U);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace cait::serve
