#include "serve/access_log.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unit/core/temporary_folder.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

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
        AccessLog log([&](const std::string& lines) { written += lines; });
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

}  // namespace
}  // namespace cait::serve
