// Commands that read what strangers made have given up network, programs and writing elsewhere.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "e2e/tiny_models.h"

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

// A line of /proc/PID/status.
std::string status_of(pid_t pid, const std::string& field) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field + ":")) return line.substr(line.find_last_of(" \t") + 1);
    return "";
}

class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    ~Environment() { ::unsetenv(name_); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    const char* name_;
};

TEST(Sandbox, IsEnteredBeforeTheWorkBegins) {
    Running run(kLong);
    EXPECT_TRUE(eventually([&] { return status_of(run.pid(), "Seccomp") == "2"; }, 20));
    EXPECT_EQ(status_of(run.pid(), "NoNewPrivs"), "1");
}

TEST(Sandbox, CanBeSwitchedOff) {
    const Environment off("CAIT_SANDBOX", "off");
    Running run(kLong);
    EXPECT_TRUE(eventually([&] { return status_of(run.pid(), "Threads") != "1"; }, 20));
    EXPECT_EQ(status_of(run.pid(), "Seccomp"), "0");
    const Finished machine = cait({"machine"});
    EXPECT_THAT(machine.out, HasSubstr("off (CAIT_SANDBOX=off)"));
}

TEST(Sandbox, RefusesOtherWords) {
    const Environment nonsense("CAIT_SANDBOX", "perhaps");
    expect_refused(cait(kLong), 2, {"CAIT_SANDBOX", "on or off", "perhaps"});
}

}  // namespace
}  // namespace cait::e2e
